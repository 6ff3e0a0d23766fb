"""Explore: one head on one text, its scores beside its weights, and what each token adds."""

import streamlit as st

from dashboard.explore import heading
from dashboard.explore.panels import viewer
from dashboard.session import notices, page_capture, state
from dashboard.widgets import sidebar

selection = state.current()

notice = st.empty()
notices.show_ignored(notice, state.ignored())
title = st.container(gap="xxsmall")
shell = heading.shell(title, selection)
sidebar.model_and_text(selection)

capture = page_capture.ready(selection)
if capture is not None:
    selection = state.settle(capture)
    sidebar.place(selection, capture)
    shell.empty()
    with title:
        heading.draw(selection, capture)
    viewer()
    st.page_link("../pages/compare.py", label="Compare this head with another")
    notices.show_ignored(notice, state.ignored())
    st.session_state["drawn"] = True
