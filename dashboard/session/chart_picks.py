"""Clicks on a chart, and the key under which a chart keeps them.

The browser sends a click only where it differs from the last one, so a chart that was clicked on
row 3 and then left by a step to row 4 would not hear a second click on row 3. A chart of a new
key has no last click; but it is built anew, and the page jumps meanwhile. So the key changes only
when the last click is no longer where the reader is.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from dashboard.session import state


def chart_key(name: str, parameter: str, **place: int | None) -> str:
    """The key for the chart `name`, given where the reader is now."""
    turn = st.session_state.setdefault(f"{name}_turn", 0)
    picked = read_pick(f"{name}_{turn}", parameter)
    if picked and any(picked.get(field) != value for field, value in place.items()):
        turn = st.session_state[f"{name}_turn"] = turn + 1
    return f"{name}_{turn}"


def on_pick(key: str, parameter: str, *fields: str) -> Callable[[], None]:
    """A callback that takes the fields of a click into the selection."""

    def take() -> None:
        picked = read_pick(key, parameter)
        if picked:
            state.change(**{field: int(picked[field]) for field in fields})
        else:
            state.touch()

    return take


def read_pick(key: str, parameter: str) -> dict[str, Any]:
    """The fields of the last click in the chart of that key; none before the first."""
    event = st.session_state.get(key)
    points = event["selection"].get(parameter) if event else None
    return points[0] if points else {}
