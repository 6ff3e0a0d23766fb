"""A short check: one question, four answers, and the reason for each."""

from dataclasses import dataclass

import streamlit as st

from dashboard.how_it_works.toy import CANDIDATES, FOCUS, Toy
from dashboard.session import state


@dataclass(frozen=True)
class Answer:
    """One answer, whether it is right, and why."""

    words: str
    right: bool
    why: str


def question() -> tuple[str, list[Answer]]:
    """The question about the diagram as it starts, with its answers."""
    head = Toy().head()
    top = int(head.weights[0].argmax())
    word, weight, score = CANDIDATES[top], head.weights[0, top], head.scores[0, top]
    share = f"{weight:.2f}"
    asked = f"At the start of this page, {word} has the weight {share}. What does that say?"
    return asked, [
        Answer(
            f"The model is {weight:.0%} sure that {word} is what {FOCUS} is about",
            False,
            "A weight is a share in a mixture, not a degree of belief. Nothing in the head asks "
            "whether something is true or what a word is about.",
        ),
        Answer(
            f"Query and key of {word} match to {weight:.0%}",
            False,
            f"How well they match is the score, {score:.1f}. The weight also depends on every "
            f"other score in the row: mask another token, and it rises although {word} matches "
            "as before.",
        ),
        Answer(
            f"The head's new vector for {FOCUS} holds the value of {word}, times {share}",
            True,
            "That is all it says. The values of the other tokens are in it too, each times its "
            "own weight.",
        ),
        Answer(
            f"{weight:.0%} of what the model says next comes from {word}",
            False,
            "This is one head of many. Its output also passes the output projection and joins "
            "the old vector, and a large weight on a short value brings little. What a token did "
            "to the answer has to be measured, by taking it away.",
        ),
    ]


def draw() -> None:
    """The question, and the reason for the answer that was chosen."""
    asked, answers = question()
    st.header("A short check", anchor=False)
    chosen = st.radio(
        asked,
        range(len(answers)),
        format_func=lambda place: answers[place].words,
        index=None,
        key="toy_answer",
        on_change=state.touch,
    )
    if chosen is None:
        return
    answer = answers[chosen]
    if answer.right:
        st.success(f"Yes. {answer.why}", icon=":material/check:")
    else:
        st.info(f"Not this one. {answer.why}", icon=":material/undo:")
