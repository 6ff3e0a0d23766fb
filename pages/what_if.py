"""What if: one change to the attention of a head, and what becomes of the output."""

import streamlit as st

from dashboard import (
    backend,
    before_after,
    experiment_state,
    export_panel,
    exports,
    loading,
    notices,
    outcome,
    place,
    sidebar,
    state,
    sweep,
    what_if,
    what_if_words,
)

selection = state.current()
experiment = experiment_state.current()
notice = st.empty()
notices.show_ignored(notice, [*state.ignored(), *experiment_state.ignored()])
st.title("What if", anchor=False)
st.markdown(what_if_words.STATEMENT)
sidebar.model_and_text(selection)

capture = loading.ready(selection)
if capture is not None:
    selection = state.settle(capture)
    sidebar.place(selection, capture)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(place.where(selection, capture))
        st.space("stretch")
        export = st.container(width="content")
    if taken := loading.beginning(selection, capture):
        st.text(taken)
    ask = loading.ask_of(selection)
    head = backend.head(ask, selection.stack, selection.layer, selection.head)
    with notices.guard():
        asked = what_if.controls(experiment, selection, capture, head)
        if asked is not None:
            found = outcome.outcome(ask, capture, asked.change, selection)
            if found is None:
                st.text(asked.words)
            else:
                before_after.summary(asked.words, found, capture, selection)
                before_after.draw(found, head, capture, selection, experiment)
                shown = (ask, selection, asked.change)
                with export:
                    export_panel.draw("what_if", exports.what_if, shown)
    st.header("Which head matters here", anchor=False)
    with notices.guard():
        sweep.sweep(experiment, selection, capture)
with st.expander("How to read this"):
    st.markdown(what_if_words.HOW_TO_READ)
with st.expander("Limits and sources"):
    st.markdown(what_if_words.LIMITS)
notices.show_ignored(notice, [*state.ignored(), *experiment_state.ignored()])
experiment_state.publish()
