"""What if: one change to the attention of a head, and what becomes of the output."""

import streamlit as st

from dashboard.session import backend, notices, outcome, page_capture, state
from dashboard.what_if import controls, link, panels, sweep, views, words
from dashboard.widgets import export_panel, sidebar, text_place

selection = state.current_selection()
experiment = link.current()
notice = st.empty()
notices.show_ignored(notice, [*state.list_ignored(), *link.ignored()])
st.title("What if", anchor=False)
st.markdown(words.STATEMENT)
sidebar.draw_model_and_text(selection)

capture = page_capture.show_capture(selection)
if capture is not None:
    selection = state.settle(capture)
    sidebar.draw_head_controls(selection, capture)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(text_place.describe_place(selection, capture))
        st.space("stretch")
        export = st.container(width="content")
    if taken := page_capture.describe_beginning(selection, capture):
        st.text(taken)
    ask = page_capture.make_ask(selection)
    head = backend.get_head(ask, selection.stack, selection.layer, selection.head)
    with notices.guard():
        asked = controls.controls(experiment, selection, capture, head)
        if asked is not None:
            found = outcome.find_outcome(ask, capture, asked.change, selection)
            if found is None:
                st.text(asked.words)
            else:
                panels.summary(asked.words, found, capture, selection)
                panels.draw(found, head, capture, selection, experiment)
                shown = (ask, selection, asked.change)
                with export:
                    export_panel.draw_export("what_if", views.what_if, shown)
    st.header("Which head matters here", anchor=False)
    with notices.guard():
        sweep.sweep(experiment, selection, capture)
with st.expander("How to read this"):
    st.markdown(words.HOW_TO_READ)
with st.expander("Limits and sources"):
    st.markdown(words.LIMITS)
notices.show_ignored(notice, [*state.list_ignored(), *link.ignored()])
link.publish()
