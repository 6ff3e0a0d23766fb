"""Demonstrations of softmax: only differences count; three shares it never made; one in words."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from attnviz.matrix_check import check_matrix
from dashboard.how_it_works.toy import CANDIDATES, PUBLISHED, Toy, of_scores

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from attnviz.heads.head import Head

SENTENCE = "The bird left the branch because it was cold"
FOCUS, WORDS = "it", ("bird", "left", "branch")
SCORES = (1.8, 0.2, 1.1)
_ADDED = 3.0  # where the reader adds nothing


def worked() -> "Head":
    """The head of the example in words: one query, three keys, no mask."""
    return of_scores(SCORES, WORDS, FOCUS)


def differences(toy: Toy) -> None:
    """The same row with a number added to every score."""
    st.header("Only differences count", anchor=False)
    by = toy.added or _ADDED
    plain, moved = replace(toy, added=0.0).head(), replace(toy, added=by).head()
    change = float(np.abs(plain.weights - moved.weights).max())
    left, right = _halves()
    with left:
        _table(
            {
                "Token": list(CANDIDATES),
                "Score": _scores(plain),
                "Weight": _weights(plain.weights[0]),
                f"Score {by:+.1f}": _scores(moved),
                "Weight then": _weights(moved.weights[0]),
            },
            f"The scores of the diagram with and without {by:+.1f}, and the weights, which "
            "are the same",
        )
    with right:
        st.markdown(
            "Softmax looks at distances within the row. Add one number to every score and no "
            "weight moves. So a score of 2 is neither high nor low, and scores of two rows or "
            "two heads cannot be compared."
        )
        st.text(f"Largest change of a weight with {by:+.1f}: {_size(change)}")


def _size(change: float) -> str:
    return f"{change:.0e}, which is rounding." if change else "0."


def published() -> None:
    """Shares from a published diagram beside the softmax of the scores it gives."""
    assert PUBLISHED.other is not None
    scores, shares = PUBLISHED.other[0], PUBLISHED.matrix[0]
    head = of_scores(tuple(scores.tolist()), CANDIDATES, FOCUS)
    st.header("Three shares that are not softmax", anchor=False)
    left, right = _halves()
    with left:
        _table(
            {
                "Score": _scores(head),
                "Softmax of them": _weights(head.weights[0]),
                "Published": [f"{share:.2f}" for share in shares.tolist()],
            },
            "Three scores, their softmax, and the shares of a published diagram",
        )
    with right:
        st.markdown(
            "A published diagram draws these shares beside the scores the page starts with. "
            f"They add up to {shares.sum():.0f} and look right. They are not what softmax "
            "makes of the scores."
        )
        st.text(check_matrix(PUBLISHED.matrix, PUBLISHED.other).verdict)
        st.page_link(
            "../pages/check_a_matrix.py",
            label="Check a matrix: this one, or your own",
            icon=":material/grid_on:",
        )


def in_words() -> None:
    """A sentence with three scores, what softmax makes of them, and what that does not say."""
    head = worked()
    first, second, third = (f"{weight:.2f}" for weight in head.weights[0].tolist())
    top = int(head.weights[0].argmax())
    st.header("One row in words", anchor=False)
    left, right = _halves()
    with left:
        st.markdown(
            f"Take “{SENTENCE}”. Suppose that for **{FOCUS}** a head scores "
            f"**{WORDS[0]}** {SCORES[0]}, **{WORDS[1]}** {SCORES[1]} and **{WORDS[2]}** "
            f"{SCORES[2]}, and nothing is masked. Softmax turns these into {first}, {second} "
            f"and {third}. The new vector of {FOCUS} is {first} of the value of {WORDS[0]}, "
            f"{second} of that of {WORDS[1]} and {third} of that of {WORDS[2]}, added up."
        )
        _table(
            {
                "Word": list(WORDS),
                "Score": _scores(head),
                "Weight": _weights(head.weights[0]),
            },
            f"The scores of three words for {FOCUS}, and their weights",
        )
    with right:
        st.markdown(
            f"- {max(first, second, third)} is a share, not a choice. The other two words "
            f"bring {1 - head.weights[0, top]:.2f} between them, and it goes into the vector "
            "too.\n"
            f"- {SCORES[top]} is not a probability. It has no meaning outside this row.\n"
            f"- Nothing here shows that a model understood what {FOCUS} stands for. A head "
            "can give a noun a large weight for its place in the text or its spelling, and "
            "what other heads do is not seen."
        )


def _halves() -> "tuple[DeltaGenerator, DeltaGenerator]":
    """Numbers left, words right."""
    return st.columns(2, gap="medium")


def _scores(head: "Head") -> list[str]:
    """The scores before temperature and mask, as text; masked ones say so."""
    scores = head.stages["scaled"][0].tolist()
    return [
        _signed(score) if seen else "masked"
        for score, seen in zip(scores, head.allowed[0].tolist(), strict=True)
    ]


def _signed(number: float) -> str:
    return f"{number:.2f}".replace("-", "\u2212")


def _weights(weights: Iterable[float]) -> list[str]:
    return [f"{weight:.3f}" for weight in weights]


def _table(columns: dict[str, list[str]], alt: str) -> None:
    st.table(columns, border="horizontal", hide_index=True, alt=alt)
