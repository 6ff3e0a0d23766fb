"""How it works: attention in four steps, on an invented head and then in the chosen model."""

import streamlit as st

from dashboard.how_it_works import (
    link,
    quick_check,
    real_steps,
    story,
    toy_panel,
    words,
    worked_example,
)
from dashboard.session import notices, state
from dashboard.widgets import sidebar

selection = state.current_selection()
toy = link.current()
notice = st.empty()
notices.show_ignored(notice, [*state.list_ignored(), *link.ignored()])

st.title("How it works", anchor=False)
story.lead(toy)
sidebar.draw_model_and_text(selection)
with st.container(horizontal=True, gap="large"):
    toy_panel.depth(toy)
    lit = toy_panel.follow()

with notices.guard():
    toy_panel.diagram(toy, lit)
    toy_panel.controls(toy)
    story.legend()
    toy_panel.words(toy)
    story.told(toy)
if toy.depth != "seconds":
    with notices.guard():
        worked_example.differences(toy)
        worked_example.published()
        worked_example.in_words()
in_a_model = st.container()  # drawn last: a model may take its time
if toy.depth != "seconds":
    with notices.guard():
        words.analogy()
        words.confused()
        quick_check.draw()
        words.reading()
with in_a_model, notices.guard():
    real_steps.draw(selection, toy)

notices.show_ignored(notice, [*state.list_ignored(), *link.ignored()])
link.publish()
