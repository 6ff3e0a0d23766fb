"""Heads: every head of the model on one text, as small maps and by what kind of head it is."""

import streamlit as st

from dashboard import heads, heads_words, loading, notices, sidebar, state

selection = state.current()
heads.follow()
notice = st.empty()
notices.show_ignored(notice, state.ignored())
st.title("Heads", anchor=False)
st.markdown(heads_words.STATEMENT)
sidebar.model_and_text(selection)

capture = loading.ready(selection)
if capture is not None:
    selection = state.settle(capture)
    sidebar.place(selection, capture, grid=False)
    notices.show_ignored(notice, state.ignored())
    st.text(heads.where(selection, capture))
    if taken := loading.beginning(selection, capture):
        st.text(taken)
    with notices.guard():
        heads.draw(selection, capture)
with st.expander("How to read this"):
    st.markdown(heads_words.HOW_TO_READ)
with st.expander("Limits and sources"):
    st.markdown(heads_words.LIMITS)
