"""Heads: every head of the model on one text, as small maps and by what kind of head it is."""

import streamlit as st

from dashboard.heads import panels, words
from dashboard.session import notices, page_capture, state
from dashboard.widgets import sidebar

selection = state.current_selection()
panels.follow()
notice = st.empty()
notices.show_ignored(notice, state.list_ignored())
st.title("Heads", anchor=False)
st.markdown(words.STATEMENT)
sidebar.draw_model_and_text(selection)

capture = page_capture.show_capture(selection)
if capture is not None:
    selection = state.settle(capture)
    sidebar.draw_head_controls(selection, capture, grid=False)
    notices.show_ignored(notice, state.list_ignored())
    st.text(panels.where(selection, capture))
    if taken := page_capture.describe_beginning(selection, capture):
        st.text(taken)
    with notices.guard():
        panels.draw(selection, capture)
with st.expander("How to read this"):
    st.markdown(words.HOW_TO_READ)
with st.expander("Limits and sources"):
    st.markdown(words.LIMITS)
