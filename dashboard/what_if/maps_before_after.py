"""The whole head before and after a what-if, as maps on one scale, and their difference."""

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from attnviz.charts.compared import compared
from attnviz.charts.compared_panels import panels
from attnviz.charts.panel import Panel
from attnviz.experiments.before_after import list_changed_cells
from dashboard.session.script_body import write_call
from dashboard.session.selection import SettledSelection
from dashboard.what_if.experiment import MAPS
from dashboard.what_if.link import widget
from dashboard.widgets import text_place
from dashboard.widgets.figure import draw_figure

if TYPE_CHECKING:
    from attnviz.heads.head import Head
    from attnviz.interventions import Intervention


def draw(
    before: "Head", after: "Head", change: "Intervention", selection: SettledSelection, of: str
) -> None:
    """The whole head before, after, and the difference: its weights or its scores."""
    of = st.segmented_control(
        "Maps of",
        list(MAPS),
        format_func=MAPS.__getitem__,
        required=True,
        help="What the three maps show of the head.",
        **widget("maps", of),
    )
    where: dict[str, Any] = {
        "query": selection.query,
        "near": selection.near,
        "of": of,
        "changed": True,
    }
    *_, difference = panels(before, after, other_query=None, colour="unit", **where).each
    rows, keys = (
        (int(side[0]), int(side[-1]) + 1) for side in (difference.scene.rows, difference.scene.keys)
    )
    table = list_changed_cells(before, after, of, rows=rows, keys=keys)
    heads = f"run.baseline.head({before.layer}, {before.head}, {before.stack!r}), head"
    script = write_call(list_changed_cells, heads, of=of, rows=rows, keys=keys)
    chart = compared(before, after, bars=False, **where)
    draw_figure("if_maps", chart, _map_alt(of, difference), table, change=change, script=script)


def _map_alt(of: str, change: Panel) -> str:
    scene, values = change.scene, np.where(change.shown, np.nan_to_num(change.values), 0)
    query, key = np.unravel_index(int(np.abs(values).argmax()), values.shape)
    size = values[query, key]
    finding = (
        "no cell changed"
        if size == 0
        else f"the largest change is {size:+.3g}, from "
        f"{text_place.name_token(scene.head.query_tokens, int(scene.rows[query]))} to "
        f"{text_place.name_token(scene.head.key_tokens, int(scene.keys[key]))}"
    )
    return f"Maps of the {of} of the head before, after, and the difference: {finding}."
