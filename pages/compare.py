"""Compare: two heads, layers, texts or models side by side, and their difference."""

import streamlit as st

from dashboard import (
    compare,
    compare_adds,
    compare_controls,
    compare_sides,
    compare_state,
    compare_words,
    notices,
    sidebar,
    state,
)

selection = state.current()
other = compare_state.current()
compare_state.follow()
notice = st.empty()
notices.show_ignored(notice, [*state.ignored(), *compare_state.ignored()])
with st.container(horizontal=True, vertical_alignment="center"):
    st.title("Compare", anchor=False, width="content")
    st.space("stretch")
    compare.link(other)
    export = st.container(width="content")
st.markdown(compare_words.STATEMENT)
sidebar.model_and_text(selection)

first = compare_sides.first(selection, other)
if first is not None:
    slot = compare_controls.model_and_text(first.selection, other)
    with notices.guard():
        second = compare_sides.second(first, other)
        if second is not None:
            other = compare_state.chosen()
            with export:
                compare.export(first, second, other)
            compare_controls.places(slot, first, second, other)
            compare.draw(first, second, other)
            compare_adds.draw(first, second)
    notices.show_ignored(notice, [*state.ignored(), *compare_state.ignored()])
compare_state.publish()
with st.expander("How to read this"):
    st.markdown(compare_words.HOW_TO_READ)
with st.expander("Limits and sources"):
    st.markdown(compare_words.LIMITS)
