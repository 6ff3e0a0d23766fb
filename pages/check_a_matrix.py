"""Check a matrix: is it attention scores, attention weights, or something else?"""

import streamlit as st

from attnviz import check_matrix
from dashboard.check_matrix import controls, model_match, panels
from dashboard.check_matrix.words import HOW_TO_READ, LIMITS, STATEMENT
from dashboard.session import notices, state
from dashboard.widgets import sidebar

selection = state.current_selection()
notice = st.empty()
notices.show_ignored(notice, state.list_ignored())
st.title("Check a matrix", anchor=False)
st.markdown(STATEMENT)
sidebar.draw_model_and_text(selection)

with st.container(border=True):
    given = controls.ask_for_matrices()
if given is not None:
    with notices.guard():
        panels.draw_verdict(given, check_matrix(given.matrix, given.other))
        model_match.draw_match(given.matrix, selection)
with st.expander("How to read this"):
    st.markdown(HOW_TO_READ)
with st.expander("Limits and sources"):
    st.markdown(LIMITS)
