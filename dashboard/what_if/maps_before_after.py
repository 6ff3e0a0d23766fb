"""The whole head before and after a what-if, as maps on one scale, and their difference."""

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from attnviz.charts.compared_panels import WINDOW
from attnviz.charts.heat import heat, heats
from attnviz.charts.scene import facing, window_of
from attnviz.experiments.before_after import MapChange, compare_maps
from dashboard.session import backend
from dashboard.session.script_body import write_call
from dashboard.session.selection import SettledSelection
from dashboard.what_if.experiment import MAPS
from dashboard.what_if.link import widget
from dashboard.widgets import text_place
from dashboard.widgets.figure import numbers

if TYPE_CHECKING:
    from attnviz.heads.head import Head
    from attnviz.interventions import Intervention


def draw(
    before: "Head", after: "Head", change: "Intervention", selection: SettledSelection, of: str
) -> None:
    """The whole head before, after, and the difference: its weights or its scores."""
    queries, keys = before.allowed.shape
    rows, columns = _part(before, selection)
    of = st.segmented_control(
        "Maps of",
        list(MAPS),
        format_func=MAPS.__getitem__,
        required=True,
        help="What the three maps show of the head.",
        **widget("maps", of),
    )
    part: dict[str, Any] = {"of": of, "rows": rows, "keys": columns}
    found = compare_maps(before, after, **part)
    low, high, ramp = _ends(found, of)
    reach = float(np.abs(found.difference).max()) or 1.0
    if found.before.size < queries * keys:
        st.text(
            f"Drawn: the rows {rows[0]:,} to {rows[1] - 1:,} of {queries:,}, and the "
            f"keys {columns[0]:,} to {columns[1] - 1:,} of {keys:,}."
        )
    scale = {"colours": ramp, "low": low, "high": high}
    signed = {"colours": "signed", "low": -reach, "high": reach}
    origin = (rows[0], columns[0])
    place: dict[str, Any] = {"row": selection.query - rows[0], "origin": origin}
    place |= {"queries": found.queries, "keys": found.keys}
    maps: dict[str, dict[str, Any]] = {
        "Before": {"values": found.before, "shown": found.seen, **scale},
        "After": {"values": found.after, "shown": found.still_seen, **scale},
        "After minus before": {"values": found.difference, "shown": found.compared, **signed},
    }
    drawn = [{"title": title, **options, **place} for title, options in maps.items()]
    with st.container(horizontal=True, gap="small"):
        for title, options in zip(maps, drawn, strict=True):
            with st.container(width=268):
                st.altair_chart(
                    heat(**options),
                    key=f"if_map_{title}",
                    width="content",
                    alt=_map_alt(title, of, found.difference, before, origin),
                )
    heads = f"run.baseline.head({before.layer}, {before.head}, {before.stack!r}), head"
    script = write_call(compare_maps, heads, **part, then=".table")
    chart, alt = heats(drawn, columns=3), "The head before and after."
    numbers("if_maps", found.table, alt, chart=chart, change=change, script=script)


def _part(head: "Head", selection: SettledSelection) -> tuple[tuple[int, int], tuple[int, int]]:
    """The rows and the keys that are drawn, each from the first position up to the one after the
    last: all, or of a long text a window of them."""
    queries, keys = head.allowed.shape
    if max(queries, keys) <= backend.MAX_TOKENS:
        return (0, queries), (0, keys)
    query = selection.query
    near = facing(query, queries, keys) if selection.near is None else selection.near
    ends = window_of(query, queries, WINDOW), window_of(near, keys, WINDOW)
    rows, columns = ((first, last + 1) for first, last in ends)
    return rows, columns


def _ends(found: MapChange, of: str) -> tuple[float, float, str]:
    """One scale for both: weights from 0 to 1, scores to the largest size of the two."""
    if of == "weights":
        return 0.0, 1.0, "weight"
    reach = max(float(np.abs(one).max()) for one in (found.before, found.after)) or 1.0
    return -reach, reach, "score"


def _map_alt(title: str, of: str, difference: Any, head: "Head", origin: tuple[int, int]) -> str:
    query, key = map(int, np.unravel_index(np.abs(difference).argmax(), difference.shape))
    size = difference[query, key]
    finding = (
        "no cell changed"
        if size == 0
        else f"the largest change is {size:+.3g}, from "
        f"{text_place.named(head.query_tokens, origin[0] + query)} to "
        f"{text_place.named(head.key_tokens, origin[1] + key)}"
    )
    return f"{title}: map of the {of} of the head, {finding}."
