"""Whether a matrix comes from the model and text in the sidebar, and from which head."""

import streamlit as st

from attnviz.matrix_check import describe_match
from attnviz.matrix_check.verdict import Matrix
from dashboard.session import page_capture, state
from dashboard.session.selection import Selection


def draw_match(matrix: Matrix, selection: Selection) -> None:
    """A switch, and under it the head that the matrix comes from or that there is none."""
    st.header("Is it from this model", anchor=False)
    wanted = st.toggle(
        "Compare with every head of the model in the sidebar, on the text in the sidebar",
        key="matrix_match",
        on_change=state.touch,
        help="Runs the model once and compares the matrix with the weights, the scores and the "
        "layer means of all its heads.",
    )
    if not wanted:
        return
    capture = page_capture.show_capture(selection)
    if capture is not None:
        st.text(describe_match(matrix, capture))
