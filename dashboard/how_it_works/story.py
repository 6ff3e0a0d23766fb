"""The four steps told at the depth the reader chose, with the numbers of the diagram."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from dashboard.how_it_works.toy import CANDIDATES, FOCUS, SENTENCE, Toy

if TYPE_CHECKING:
    from attnviz.heads.head import Head

SECONDS = (
    "Each token compares itself with other tokens, turns the comparisons into shares that add up "
    "to 1, and takes that much of what each of them holds."
)
HERE = (
    f"**{FOCUS}** reads three other tokens of “{' '.join(SENTENCE)}”. Words and numbers are "
    "invented, the arithmetic is real: move a score and see."
)
_LEGEND = (
    "Strips are vectors, a cell a number: ochre below 0, teal above. The violet bar is 1 tall, and "
    "a band is as thick as its share. Point at a token or tap it to light its path, or choose it "
    "under Follow."
)
_WIDE = 188  # pixels of one step; they stand in pairs, and two pairs fit side by side


def lead(toy: Toy) -> None:
    """The line under the title."""
    st.markdown(SECONDS if toy.depth == "seconds" else HERE)


def legend() -> None:
    """How to read the diagram."""
    st.markdown(_LEGEND)


def told(toy: Toy) -> None:
    """The steps below the diagram; at five seconds, where to find more."""
    if toy.depth == "seconds":
        st.markdown("Plain words and Technical, above, go on from here.")
        return
    st.header("Step by step", anchor=False)
    steps = list(_plain(toy.head()).items())
    with st.container(horizontal=True, gap="medium"):
        for pair in (steps[:2], steps[2:]):
            with st.container(horizontal=True, gap="medium", width=2 * _WIDE + 28):
                for title, words in pair:
                    with st.container(width=_WIDE, gap="xsmall"):
                        st.markdown(f"**{title}**")
                        st.markdown(words)
    if toy.depth == "technical":
        technical(toy.head())


def _plain(head: "Head") -> dict[str, str]:
    return {
        "1. Query": (
            f"{FOCUS} has a vector, which holds what is known of it so far. The head makes a "
            f"shorter one from it, the query: a description of what would be of use to {FOCUS}."
        ),
        "2. Scores": (
            "Every token that may be looked at has a key, as long as the query. Where the two "
            "point the same way the score is high, where they point apart it is below 0. "
            f"{_span(head)} A score has no unit and no limit."
        ),
        "3. Weights": (
            "Softmax turns the row of scores into shares: none below 0, together 1. "
            f"{_lead(head)} Only the distance between two scores counts."
        ),
        "4. New vector": (
            "Each token also has a value: what it hands over. The weights say how much of each "
            f"is taken, and the sum is a new vector for {FOCUS}. Nothing is chosen: a small "
            "share still adds its part."
        ),
    }


def _span(head: "Head") -> str:
    scores = head.scores[0][head.allowed[0]]
    if not scores.size:
        return "Here all are masked, so there is no score."
    low, high = (f"{score:.1f}".replace("-", "\u2212") for score in (scores.min(), scores.max()))
    return f"Here they run from {low} to {high}."


def _lead(head: "Head") -> str:
    """The largest share against the next, and the score distance behind it."""
    seen = int(head.allowed[0].sum())
    if seen == 0:
        return "Here nothing is shared out: every candidate is masked."
    first, second = np.argsort(-head.weights[0], kind="stable")[:2].tolist()
    if seen == 1:
        return f"Here {CANDIDATES[first]} is the only one left and takes all of it."
    apart = float(head.scores[0, first] - head.scores[0, second])
    ratio = float(head.weights[0, first] / head.weights[0, second])
    return (
        f"Here {CANDIDATES[first]} is {apart:.1f} ahead of {CANDIDATES[second]}, and its share is "
        f"{ratio:.1f} times as large."
    )


def technical(head: "Head") -> None:
    """Formulas, and what a real layer adds to the diagram."""
    st.header("The same, technically", anchor=False)
    st.markdown(_FORMULAS)
    st.text(product(head))
    st.markdown(_TECHNICAL)


def product(head: "Head") -> str:
    """The first candidate's score, written out."""
    assert head.q is not None and head.k is not None
    query, key = head.q[0], head.k[0]
    terms = " + ".join(
        f"({a:.2f} × {b:.2f})" for a, b in zip(query.tolist(), key.tolist(), strict=True)
    )
    score = float(head.stages["scaled"][0, 0])
    told = f"In the diagram, {CANDIDATES[0]}: [ {terms} ] / √{len(query)} = {score:.2f}"
    return told.replace("-", "\u2212")


# Within lines: a formula of its own scrolls, and nothing in it takes the keyboard.
_FORMULAS = r"""
- **Score** of query $i$ for key $j$: $s_{ij} = q_i \cdot k_j \,/\, \sqrt{d_k}$
- **Weight**, at temperature $T$: $w_{ij} = e^{s_{ij}/T} \,/\, \sum_m e^{s_{im}/T}$
- **Output**: $o_i = \sum_j w_{ij} \, v_j$
"""
_TECHNICAL = r"""
- **Scale.** Dividing by $\sqrt{d_k}$, with $d_k$ the length of a query, keeps the spread of the
  scores about the same however long the vectors are. Some models use another factor, cap the
  scores, or add a bias for the distance of two tokens; all of that happens before softmax.
- **Mask.** A masked score is replaced by minus infinity, so its weight is exactly 0 and the others
  share the whole row. A decoder masks all later tokens, a batch masks padding, a window masks
  what is far away. A row with every key masked attends to nothing.
- **Many heads.** A layer runs several heads side by side, each with its own matrices $W_Q$, $W_K$,
  $W_V$ and so with its own scores and weights. The diagram is one row of one head.
- **Output projection.** The outputs of all heads are laid end to end and multiplied by $W_O$. That
  is the same as giving each head its own slice of $W_O$ and adding up what comes out, so the part
  of each token can be followed through it. Slicing after the product does not undo the mixing.
- **Residual path.** The result is added to the old vector of the token, which stays.
- **Grouped key/value heads.** In many models several query heads share one head of keys and values.
  Their queries differ, so their weights do; what they can take from a token is the same.
"""
