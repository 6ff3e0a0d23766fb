"""Compare: two heads, layers, texts or models side by side, and their difference."""

import streamlit as st

from dashboard.compare import contribution_bars, controls, link, panels, sides, words
from dashboard.session import notices, state
from dashboard.widgets import sidebar

selection = state.current_selection()
other = link.current()
link.follow()
notice = st.empty()
notices.show_ignored(notice, [*state.list_ignored(), *link.ignored()])
with st.container(horizontal=True, vertical_alignment="center"):
    st.title("Compare", anchor=False, width="content")
    st.space("stretch")
    panels.draw_link(other)
    export = st.container(width="content")
st.markdown(words.STATEMENT)
sidebar.draw_model_and_text(selection)

first = sides.first(selection, other)
if first is not None:
    slot = controls.model_and_text(first.selection, other)
    with notices.guard():
        second = sides.second(first, other)
        if second is not None:
            other = link.chosen()
            with export:
                panels.export(first, second, other)
            controls.places(slot, first, second, other)
            panels.draw(first, second, other)
            contribution_bars.draw(first, second)
    notices.show_ignored(notice, [*state.list_ignored(), *link.ignored()])
link.publish()
with st.expander("How to read this"):
    st.markdown(words.HOW_TO_READ)
with st.expander("Limits and sources"):
    st.markdown(words.LIMITS)
