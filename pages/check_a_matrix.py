"""Check a matrix: is it attention scores, attention weights, or something else?"""

import streamlit as st

from attnviz import check_matrix
from dashboard import matrix_input, matrix_match, matrix_verdict, notices, sidebar, state
from dashboard.matrix_words import HOW_TO_READ, LIMITS, STATEMENT

selection = state.current()
notice = st.empty()
notices.show_ignored(notice, state.ignored())
st.title("Check a matrix", anchor=False)
st.markdown(STATEMENT)
sidebar.model_and_text(selection)

with st.container(border=True):
    given = matrix_input.given()
if given is not None:
    with notices.guard():
        matrix_verdict.draw(given, check_matrix(given.matrix, given.other))
        matrix_match.draw(given.matrix, selection)
with st.expander("How to read this"):
    st.markdown(HOW_TO_READ)
with st.expander("Limits and sources"):
    st.markdown(LIMITS)
