"""Misconceptions: claims about attention, each measured on the reader's own model and text."""

import streamlit as st

from dashboard.misconceptions import panels
from dashboard.session import notices, page_capture, state
from dashboard.widgets import sidebar

selection = state.current_selection()
notice = st.empty()
asked_in_vain = panels.read_link()
notices.show_ignored(notice, [*state.list_ignored(), *asked_in_vain])
st.title("Misconceptions", anchor=False)
st.markdown(
    "Eleven things that are said about attention, why they are believed, and what your own model "
    "shows on your own text. Open one to measure it."
)
sidebar.draw_model_and_text(selection)

capture = page_capture.show_capture(selection)
if capture is not None:
    selection = state.settle(capture)
    sidebar.draw_head_controls(selection, capture)
    notices.show_ignored(notice, [*state.list_ignored(), *asked_in_vain])
    panels.where(selection, capture)
    for entry in panels.order():
        panels.draw(entry, selection, capture)
panels.write_link()
with st.expander("How to read this"):
    st.markdown(
        "Every number is computed when the page is drawn, on the model, text, layer, head and "
        "token that you chose, and stands beside a baseline: what chance, even weights, or taking "
        "the whole head away would give. Grey bars are the comparison, coloured ones the "
        "measurement. Each picture has its numbers as a table, on a switch below it."
    )
with st.expander("Limits and sources"):
    st.markdown(
        "One head, one row and one text are an example, not a statistic. Change them and see what "
        "holds. What no experiment on this page can show is a reason in human terms. Sources stand "
        "with each entry."
    )
