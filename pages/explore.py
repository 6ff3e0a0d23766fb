"""Explore: one head on one text, its scores beside its weights, and what each token adds."""

import streamlit as st

from dashboard.explore import heading
from dashboard.explore.panels import draw_viewer
from dashboard.session import notices, page_capture, state
from dashboard.widgets import sidebar

selection = state.current_selection()

notice = st.empty()
notices.show_ignored(notice, state.list_ignored())
title = st.container(gap="xxsmall")
shell = heading.draw_shell(title, selection)
sidebar.draw_model_and_text(selection)

capture = page_capture.show_capture(selection)
if capture is not None:
    selection = state.settle(capture)
    sidebar.draw_head_controls(selection, capture)
    shell.empty()
    with title:
        heading.draw_heading(selection, capture)
    draw_viewer()
    st.page_link("../pages/compare.py", label="Compare this head with another")
    notices.show_ignored(notice, state.list_ignored())
    st.session_state["drawn"] = True
