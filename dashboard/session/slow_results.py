"""Slow measurements: on a button, with their cost beside it, progress, and a way to stop."""

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.progress import Step, ignore_progress, ignore_step
from dashboard.session import backend, state

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.models import LoadedModel

_MOMENT = 0.5  # seconds before a bar is worth drawing

Make = Callable[["LoadedModel", "Capture", Step], Any]


def show_result(
    key: str,
    ask: backend.Ask,
    name: Hashable,
    make: Make,
    *,
    cost: Callable[[], float],
    label: str,
    note: str = "",
) -> Any:
    """The measurement where it was made before or is asked for now; else a button, and None.

    Args:
        key: of the widgets.
        name: every option of the measurement.
        make: makes it, telling (done, total).
        cost: seconds it will take, asked only where the button is drawn.
        label: of the button; fixed words.
        note: said after the cost; fixed words.
    """
    if backend.has_experiment(ask, name):
        return _made(ask, name, make, ignore_step)
    slot = st.empty()
    with slot.container(horizontal=True, vertical_alignment="center"):
        clicked = st.button(label, key=f"{key}_start", on_click=state.touch)
        st.text(f"Takes {describe_seconds(cost())}. {note}".strip())
    if not clicked:
        return None
    return run_with_bar(slot, key, ask, name, make)


def run_with_bar(slot: Any, key: str, ask: backend.Ask, name: Hashable, make: Make) -> Any:
    """Make the measurement now, with a bar in the slot. A click anywhere ends it."""
    if backend.has_experiment(ask, name):
        return _made(ask, name, make, ignore_step)
    with slot.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, text="Measuring")
        st.button("Stop", key=f"{key}_stop", on_click=state.touch)

    def step(done: int, total: int) -> None:
        bar.progress(min(done / max(total, 1), 1.0), text=f"Measured {done} of {total}")

    found = _made(ask, name, make, step)
    slot.empty()
    return found


@contextmanager
def draw_bar(words: str) -> Iterator[Step]:
    """A bar with a way to stop, drawn once the work has taken a moment. A click anywhere ends it.

    words: fixed, what is being done.
    """
    slot, started = st.empty(), time.perf_counter()
    shown: list[Any] = []

    def step(done: int, total: int) -> None:
        if time.perf_counter() - started < _MOMENT:
            return
        if not shown:
            with slot.container(horizontal=True, vertical_alignment="center"):
                shown.append(st.progress(0.0, text=words))
                st.button("Stop", key=f"stop_{words}", on_click=state.touch)
        shown[0].progress(min(done / max(total, 1), 1.0), text=words)

    try:
        yield step
    finally:
        slot.empty()


def _made(ask: backend.Ask, name: Hashable, make: Make, step: Step) -> Any:
    return backend.get_experiment(
        ask, name, lambda model, cap: make(model, cap, step), ignore_progress
    )


def describe_seconds(count: float) -> str:
    """A time in words, rounded as roughly as it is known."""
    if count < 1.5:
        return "about a second on this machine"
    if count < 90:
        return f"about {count:.0f} seconds on this machine"
    return f"about {count / 60:.0f} minutes on this machine"
