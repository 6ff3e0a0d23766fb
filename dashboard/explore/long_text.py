"""A text too long to be drawn cell by cell: the whole head from afar, and ways to move in it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from attnviz.charts.overview_chart import overview_map
from attnviz.charts.row_profile import row_profile
from attnviz.charts.scene import drawn_whole, facing, window_of
from dashboard.explore import views
from dashboard.session import backend, page_capture, state
from dashboard.session.selection import SettledSelection
from dashboard.widgets import export_panel
from dashboard.widgets.text_place import name_token

if TYPE_CHECKING:
    from attnviz.heads.head import Head
    from attnviz.heads.overview import Cell, Overview

_STEP = 128  # keys that the buttons of the key field move by: half a window


def draw_long_text(selection: SettledSelection, head: "Head") -> None:
    """The overview with the window to drag, beside the same moves by keyboard; nothing of a text
    that is drawn whole."""
    if drawn_whole(head):
        return
    view = _overview(selection)
    with st.container(horizontal=True, gap="medium"):
        with st.container(width="content"):
            _map(selection, view)
        with st.container(width=330):
            st.text(
                f"{view.queries:,} x {view.keys:,} cells are too many to be drawn. Drag the frame "
                "to choose the cells below, or use these."
            )
            _keys(selection, view)
            _jump(view, head)
            shown = (page_capture.make_ask(selection), selection)
            afar = (*shown, _near(selection, view))
            export_panel.draw_export("overview", views.view_overview, afar)
    _row(selection, head)


def _overview(selection: SettledSelection) -> "Overview":
    slot = st.empty()

    def tell(share: float) -> None:
        slot.progress(share, text="Looking over all cells of this head")

    ask = page_capture.make_ask(selection)
    view = backend.get_overview(ask, selection.stack, selection.layer, selection.head, tell)
    slot.empty()
    return view


def _map(selection: SettledSelection, view: "Overview") -> None:
    query, near = selection.query, _near(selection, view)
    counts = (view.queries, view.keys)  # of the callback, which a session keeps
    # built anew where the window was moved by other means, so that the frame moves too
    key = f"overview_{query}_{near}"
    st.altair_chart(
        overview_map(view, query=query, near=near),
        key=key,
        width="content",
        on_select=lambda: _move(key, counts, query, near),
        selection_mode="window",
        alt=_alt(view),
    )


def _near(selection: SettledSelection, view: "Overview") -> int:
    """The key that the window stands around."""
    if selection.near is not None:
        return selection.near
    return facing(selection.query, view.queries, view.keys)


def _move(key: str, counts: tuple[int, int], query: int, near: int) -> None:
    """Put the row and the key that the window stands around where the frame was dragged to."""
    event: Any = st.session_state.get(key)
    frame = event["selection"].get("window") if event else None
    if not frame or not frame.get("query") or not frame.get("key"):
        state.touch()
        return
    query, near = (
        _middle(frame[side], old, count)
        for side, old, count in zip(("query", "key"), (query, near), counts, strict=True)
    )
    state.change(query=query, near=near)


def _middle(side: list[float], old: int, count: int) -> int:
    """The position in the middle of a side of the frame; the old one where that side stands where
    it stood, which near an end of the text is not around it."""
    if abs(min(side) - window_of(old, count)[0]) < 1:
        return old
    return min(max(round(sum(side) / 2), 0), count - 1)


def _keys(selection: SettledSelection, view: "Overview") -> None:
    key = state.set_widget("pick_near", _near(selection, view))
    st.number_input(
        "Keys drawn stand around position",
        min_value=0,
        max_value=view.keys - 1,
        step=_STEP,
        key=key,
        on_change=state.make_callback("near", key),
        help="The rows drawn stand around the token that is read; the keys around this position.",
    )


def _jump(view: "Overview", head: "Head") -> None:
    if not view.cells:
        return
    names = [_named(cell, head) for cell in view.cells]
    st.selectbox(
        "Jump to a large weight",
        range(len(names)),
        index=None,
        format_func=names.__getitem__,
        key="pick_cell",
        on_change=_take,
        args=(view.cells,),
        placeholder="the largest, the first token's left out",
        help="Weights on the first token are left out, because many heads rest there.",
    )


def _named(cell: "Cell", head: "Head") -> str:
    return (
        f"{cell.weight:.3f}  from {name_token(head.query_tokens, cell.query)} "
        f"to {name_token(head.key_tokens, cell.key)}"
    )


def _take(cells: "Sequence[Cell]") -> None:
    place = st.session_state["pick_cell"]
    if place is None:
        state.touch()
        return
    st.session_state["pick_cell"] = None
    state.change(query=cells[place].query, near=cells[place].key)


def _row(selection: SettledSelection, head: "Head") -> None:
    """Where the weight of the row that is read goes, over all keys."""
    row = head.rows(selection.query, selection.query + 1)
    st.text(_mass(row, name_token(head.query_tokens, selection.query)))
    st.altair_chart(
        row_profile(row),
        key="row_profile",
        alt=f"The weights of row {selection.query} on all {row.allowed.shape[1]:,} keys, the "
        "largest of each stretch. The table below has every one of them.",
    )
    shown = (page_capture.make_ask(selection), selection)
    export_panel.draw_export("row", views.view_row, shown)


def _mass(row: "Head", name: str) -> str:
    if np.isnan(row.weights).any():
        return f"The weights of {name} are undefined: one of its scores is not a number."
    shares = np.sort(row.weights[0])[::-1].cumsum()
    half, most = (int(np.searchsorted(shares, share)) + 1 for share in (0.5, 0.9))
    seen = int(row.allowed.sum())
    if shares[-1] < 0.9:
        return f"{name} puts {shares[-1]:.2f} of its weight on tokens, of {seen:,} it may look at."
    return (
        f"{name} may look at {seen:,} keys. Half of its weight is on {half:,} of them, nine tenths "
        f"on {most:,}."
    )


def _alt(view: "Overview") -> str:
    start = f"The whole head in blocks of {view.step} x {view.step} cells, each block as dark as "
    if not view.cells:
        return start + "its largest weight."
    cell = view.cells[0]
    return (
        f"{start}its largest weight. Without the first key, the largest of all, {cell.weight:.3f}, "
        f"goes from position {cell.query} to position {cell.key}."
    )
