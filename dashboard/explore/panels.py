"""The picture of one head, with the controls that change it and the tables under it."""

from typing import TYPE_CHECKING

import streamlit as st

from attnviz import charts
from attnviz.heads.contributions import MEASURES
from dashboard.explore import long_text, words
from dashboard.explore.row_table import row_table
from dashboard.server.turns import silent
from dashboard.session import backend, notices, page_capture, state
from dashboard.session.chart_picks import chart_key, on_pick
from dashboard.session.selection import STAGES, WEIGHTS, SettledSelection
from dashboard.widgets import figure
from dashboard.widgets.choices import pick, switch
from dashboard.widgets.stepper import stepper

if TYPE_CHECKING:
    from attnviz.heads.head import Head

_SCORES = {"zero": "From zero", "row": "From the row's largest"}
_ORDERS = {"text": "Text order", "size": "By size"}


@st.fragment(key="viewer")
def viewer() -> None:
    """One head, read row by row. A click, a picker or a step redraws this part of the page only.

    Takes no objects: what a fragment is called with stays alive as long as the reader's session,
    and a capture must not.
    """
    with notices.guard():
        selection = _settled()
        head = backend.head(
            page_capture.ask_of(selection), selection.stack, selection.layer, selection.head
        )
        if selection.stage not in ("softmax", *head.panel_names):
            selection = state.refuse(selection, "stage", "this head has no such step")
        _controls(selection, head)
        long_text.draw(selection, head)
        _picture(selection, head)
        row_table(selection, head)
        words.how_to_read(head, selection.query)
    state.publish()


def _settled() -> SettledSelection:
    selection = state.current()
    capture = backend.capture(page_capture.ask_of(selection), silent)
    return state.settle(capture)


def _controls(selection: SettledSelection, head: "Head") -> None:
    # a session keeps what its pickers are made of: words, never the head
    names = [f"{place}  {token.label}" for place, token in enumerate(head.query_tokens)]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        with st.container(width=250):
            stepper(
                "query",
                "token",
                range(len(names)),
                selection.query,
                title="Reading from",
                label=names.__getitem__,
                help="The token whose row is read. Clicking a row in a map does the same.",
            )
        pick(
            "stage",
            "Scores",
            ["softmax", *head.panel_names[:-1]],
            lambda name: STAGES.get(name, name),
            "Which step on the way to softmax the left map shows.",
            selection,
            key="pick_stage",
            width=210,
        )
        pick(
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
            switch("scores", "Score colours", _SCORES, selection, key="pick_scores")
            switch("weights", "Weight colours", WEIGHTS, selection, key="pick_weights")
            switch("order", "Bars", _ORDERS, selection, key="pick_order")


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
    figure.draw(
        chart,
        key,
        on_select=on_pick(key, "pick", "query"),
        selection_mode="pick",
        alt=charts.describe_pair(head, selection.query),
    )
