"""The picture of one head, with the controls that change it and the tables under it."""

from typing import TYPE_CHECKING

import streamlit as st

from attnviz import charts
from attnviz.heads.contributions import MEASURES
from attnviz.progress import ignore_progress
from dashboard.explore import long_text, words
from dashboard.explore.row_table import draw_row_table
from dashboard.session import backend, notices, page_capture, state
from dashboard.session.chart_picks import chart_key, on_pick
from dashboard.session.selection import STAGES, WEIGHTS, SettledSelection
from dashboard.widgets import figure
from dashboard.widgets.choices import draw_picker, draw_switch
from dashboard.widgets.stepper import draw_stepper

if TYPE_CHECKING:
    from attnviz.heads.head import Head

_SCORES = {"zero": "From zero", "row": "From the row's largest"}
_ORDERS = {"text": "Text order", "size": "By size"}


@st.fragment(key="viewer")
def draw_viewer() -> None:
    """One head, read row by row. A click, a picker or a step redraws this part of the page only.

    Takes no objects: what a fragment is called with stays alive as long as the reader's session,
    and a capture must not.
    """
    with notices.guard():
        selection = _settle()
        head = backend.get_head(
            page_capture.make_ask(selection), selection.stack, selection.layer, selection.head
        )
        if selection.stage not in ("softmax", *head.panel_names):
            selection = state.refuse(selection, "stage", "this head has no such step")
        _controls(selection, head)
        long_text.draw_long_text(selection, head)
        _picture(selection, head)
        draw_row_table(selection, head)
        words.draw_how_to_read(head, selection.query)
    state.publish()


def _settle() -> SettledSelection:
    selection = state.current_selection()
    capture = backend.get_capture(page_capture.make_ask(selection), ignore_progress)
    return state.settle(capture)


def _controls(selection: SettledSelection, head: "Head") -> None:
    # a session keeps what its pickers are made of: words, never the head
    names = [f"{place}  {token.label}" for place, token in enumerate(head.query_tokens)]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        with st.container(width=250):
            draw_stepper(
                "query",
                "token",
                range(len(names)),
                selection.query,
                title="Reading from",
                label=names.__getitem__,
                help="The token whose row is read. Clicking a row in a map does the same.",
            )
        draw_picker(
            "stage",
            "Scores",
            ["softmax", *head.panel_names[:-1]],
            lambda name: STAGES.get(name, name),
            "Which step on the way to softmax the left map shows.",
            selection,
            key="pick_stage",
            width=210,
        )
        draw_picker(
            "by",
            "Contribution by",
            list(MEASURES),
            lambda name: MEASURES[name].title,
            "What the bars measure. Each is defined under How to read this.",
            selection,
            key="pick_by",
            width=190,
        )
        with st.popover("Colours and order", icon=":material/tune:"):
            draw_switch("scores", "Score colours", _SCORES, selection, key="pick_scores")
            draw_switch("weights", "Weight colours", WEIGHTS, selection, key="pick_weights")
            draw_switch("order", "Bars", _ORDERS, selection, key="pick_order")


def _picture(selection: SettledSelection, head: "Head") -> None:
    key = chart_key("explore", "pick", query=selection.query)
    chart = charts.explore(
        head,
        query=selection.query,
        stage=selection.stage if selection.stage in head.panel_names else None,
        measure=selection.by,
        score_colour=selection.scores,
        weight_colour=selection.weights,
        order=selection.order,
        near=selection.near,
    )
    figure.draw_chart(
        chart,
        key,
        on_select=on_pick(key, "pick", "query"),
        selection_mode="pick",
        alt=charts.describe_pair(head, selection.query),
    )
