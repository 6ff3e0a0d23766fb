"""How to read the picture: words for what is drawn, and the check that the parts add up."""

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.heads.contributions import MEASURES
from dashboard.session import state

if TYPE_CHECKING:
    from attnviz.heads.head import Head

_MAPS = """
**A row is one token reading.** It compares its query with the key of every token it may look at.
Each comparison yields a **score**: any number, no unit, on the left. Softmax turns the row of
scores into **weights**: shares of the row that add up to 1, on the right. Only differences within
a row count; scores of two rows or two heads cannot be compared.

**Masked** cells are ones that the row may not look at. They have no score and no colour.

**A weight is not an effect.** What a token adds to the output is its weight times its value
vector, through the head's output projection. A token can have a large weight and a small value
vector, and then adds next to nothing; the first token of a text often does.
"""


def draw_how_to_read(head: "Head", query: int) -> None:
    """An expander with definitions, and the number that says whether the parts add up."""
    box = st.expander("How to read this", key="help_open", on_change=state.touch)
    if not box.open:
        return
    with box:
        st.markdown(_MAPS)
        st.markdown("**Contribution by**")
        for measure in MEASURES.values():
            st.text(f"{measure.title} ({measure.unit}): {measure.definition}")
        st.text(describe_sum(head.rows(query, query + 1)))


def describe_sum(head: "Head") -> str:
    """The check on the contributions of these rows of a head, in words, with its number."""
    if head.w_o is None:
        return (
            "This head's part of the output projection is out of reach, so contributions stop "
            "at the value vectors."
        )
    return (
        "Check: the contributions of all tokens, added up, differ from the head's output through "
        f"W_O by at most {head.additivity_error:.1e}."
    )
