"""The whole head before and after a what-if, as maps on one scale, and their difference."""

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from dashboard.session import backend
from dashboard.session.selection import SettledSelection
from dashboard.what_if import scripts as scripts
from dashboard.what_if.experiment import MAPS
from dashboard.what_if.link import widget
from dashboard.widgets import text_place
from dashboard.widgets.figure import numbers

if TYPE_CHECKING:
    from attnviz.heads.head import Head
    from attnviz.interventions import Intervention

_MOST = 1000  # cells that a table holds


def draw(
    before: "Head", after: "Head", change: "Intervention", selection: SettledSelection, of: str
) -> None:
    """The whole head before, after, and the difference: its weights or its scores."""
    from attnviz.charts.heat import heat, heats

    queries, keys = before.allowed.shape
    part = _part(before, selection)
    of = st.segmented_control(
        "Maps of",
        list(MAPS),
        format_func=MAPS.__getitem__,
        required=True,
        help="What the three maps show of the head.",
        **widget("maps", of),
    )
    sides = [head.rows(part[0].start, part[0].stop) for head in (before, after)]
    first, second = (_matrix(head, of)[:, part[1]] for head in sides)
    seen, still = (head.allowed[:, part[1]] for head in sides)
    # a hidden cell has a weight after as before, which is 0, but no score
    both = seen if of == "weights" else seen & still
    low, high, ramp = _ends(first, second, of)
    difference = np.where(both, np.where(both, second, 0) - np.where(both, first, 0), 0)
    reach = float(np.abs(difference).max()) or 1.0
    words = {
        "queries": text_place.labels(before.query_tokens)[part[0]],
        "keys": text_place.labels(before.key_tokens)[part[1]],
    }
    if first.size < queries * keys:
        st.text(
            f"Drawn: the rows {part[0].start:,} to {part[0].stop - 1:,} of {queries:,}, and the "
            f"keys {part[1].start:,} to {part[1].stop - 1:,} of {keys:,}."
        )
    scale = {"colours": ramp, "low": low, "high": high}
    signed = {"colours": "signed", "low": -reach, "high": reach}
    drawn: list[dict[str, Any]] = [
        {"title": "Before", "values": first, "shown": seen, **scale},
        {"title": "After", "values": second, "shown": still, **scale},
        {"title": "After minus before", "values": difference, "shown": both, **signed},
    ]
    start = (part[0].start, part[1].start)
    row = selection.query - start[0]
    drawn = [options | {"row": row, "origin": start, **words} for options in drawn]
    with st.container(horizontal=True, gap="small"):
        for options in drawn:
            title = options["title"]
            with st.container(width=268):
                st.altair_chart(
                    heat(**options),
                    key=f"if_map_{title}",
                    width="content",
                    alt=_map_alt(title, of, difference, before, part),
                )
    table = _map_table(first, second, both, words)
    chart = heats(drawn, columns=3)
    alt = "The head before and after."
    rows, columns = ((one.start, one.stop) for one in part)
    script = scripts.maps(of, _MOST, rows, columns)
    numbers("if_maps", table, alt, chart=chart, change=change, script=script)


def _part(head: "Head", selection: SettledSelection) -> tuple[slice, slice]:
    """The rows and the keys that are drawn: all, or of a long text a window of them."""
    from attnviz.charts.compared_panels import WINDOW
    from attnviz.charts.scene import facing, window_of

    queries, keys = head.allowed.shape
    if max(queries, keys) <= backend.MAX_TOKENS:
        return slice(0, queries), slice(0, keys)
    query = selection.query
    near = facing(query, queries, keys) if selection.near is None else selection.near
    ends = window_of(query, queries, WINDOW), window_of(near, keys, WINDOW)
    rows, columns = (slice(first, last + 1) for first, last in ends)
    return rows, columns


def _matrix(head: "Head", of: str) -> Any:
    if of == "weights":
        return head.weights
    return np.where(head.allowed, head.scores, 0)


def _ends(first: Any, second: Any, of: str) -> tuple[float, float, str]:
    """One scale for both: weights from 0 to 1, scores to the largest size of the two."""
    if of == "weights":
        return 0.0, 1.0, "weight"
    reach = max(float(np.abs(first).max()), float(np.abs(second).max())) or 1.0
    return -reach, reach, "score"


def _map_alt(title: str, of: str, difference: Any, head: "Head", part: tuple[slice, slice]) -> str:
    at = np.unravel_index(int(np.abs(difference).argmax()), difference.shape)
    size = difference[at]
    finding = (
        "no cell changed"
        if size == 0
        else f"the largest change is {size:+.3g}, from "
        f"{text_place.named(head.query_tokens, part[0].start + at[0])} to "
        f"{text_place.named(head.key_tokens, part[1].start + at[1])}"
    )
    return f"{title}: map of the {of} of the head, {finding}."


def _map_table(first: Any, second: Any, both: Any, words: dict[str, list[str]]) -> Any:
    """The cells that changed, the largest change first."""
    import pandas as pd

    query, key = np.nonzero(both & (first != second))
    frame = pd.DataFrame(
        {
            "From": [words["queries"][q] for q in query],
            "To": [words["keys"][k] for k in key],
            "Before": first[query, key],
            "After": second[query, key],
        }
    )
    frame["Difference"] = frame["After"] - frame["Before"]
    order = frame["Difference"].abs().sort_values(ascending=False, kind="stable").index
    return frame.loc[order[:_MOST]]
