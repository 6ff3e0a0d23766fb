"""The whole head before and after a what-if, as maps on one scale, and their difference."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.charts.compared import compared
from attnviz.charts.compared_panels import panels
from attnviz.charts.panel import Panel
from dashboard.session.selection import SettledSelection
from dashboard.what_if import scripts as scripts
from dashboard.what_if.experiment import MAPS
from dashboard.what_if.link import widget
from dashboard.widgets import text_place
from dashboard.widgets.figure import figure

if TYPE_CHECKING:
    from attnviz.heads.head import Head
    from attnviz.interventions import Intervention

_MOST = 1000  # cells that a table holds


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
    first, second, difference = panels(before, after, other_query=None, colour="unit", **where).each
    scene = difference.scene
    table = _map_table(first, second, difference)
    script = scripts.maps(
        of, _MOST, *((int(s[0]), int(s[-1]) + 1) for s in (scene.rows, scene.keys))
    )
    chart = compared(before, after, bars=False, **where)
    figure("if_maps", chart, _map_alt(of, difference), table, change=change, script=script)


def _map_alt(of: str, change: Panel) -> str:
    scene, values = change.scene, np.where(change.shown, np.nan_to_num(change.values), 0)
    query, key = np.unravel_index(int(np.abs(values).argmax()), values.shape)
    size = values[query, key]
    finding = (
        "no cell changed"
        if size == 0
        else f"the largest change is {size:+.3g}, from "
        f"{text_place.named(scene.head.query_tokens, int(scene.rows[query]))} to "
        f"{text_place.named(scene.head.key_tokens, int(scene.keys[key]))}"
    )
    return f"Maps of the {of} of the head before, after, and the difference: {finding}."


def _map_table(first: Panel, second: Panel, change: Panel) -> pd.DataFrame:
    """The cells that changed, the largest change first."""
    scene = change.scene
    query, key = np.nonzero(change.shown & (change.values != 0))
    queries, keys = (
        text_place.labels(side) for side in (scene.head.query_tokens, scene.head.key_tokens)
    )
    frame = pd.DataFrame(
        {
            "From": [queries[q] for q in scene.rows[query]],
            "To": [keys[k] for k in scene.keys[key]],
            "Before": first.values[query, key].astype(np.float32),
            "After": np.where(second.shown, second.values, 0)[query, key].astype(np.float32),
        }
    )
    frame["Difference"] = frame["After"] - frame["Before"]
    order = frame["Difference"].abs().sort_values(ascending=False, kind="stable").index
    return frame.loc[order[:_MOST]]
