"""From a selection to a capture on the page: what it costs, how far it is, and a way to stop."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.models.catalog import CATALOG, DEFAULT_MODEL
from dashboard.server.model_holder import Stopped
from dashboard.server.turns import Tell
from dashboard.session import backend, notices, state, waiting
from dashboard.session.selection import Selection

if TYPE_CHECKING:
    from attnviz.capture import Capture

_MOMENT = 0.5  # seconds of waiting behind other readers before a word is said


def make_ask(selection: Selection) -> backend.Ask:
    page, most = state.current_page() or "", backend.MAX_TOKENS
    limit = backend.LONGEST.get(page, most)
    if page in backend.LONGEST:
        cut_to = limit if selection.cut else 0
    else:
        cut_to = (
            min(backend.BEGINNING.get(page, most), most) if state.count_long_text(selection) else 0
        )
    return backend.Ask(
        selection.model,
        selection.text,
        selection.special,
        cut_to,
        selection.target,
        selection.plain,
        limit,
    )


Back = tuple[str, Callable[[], None]]
"""A way back from a model that is not loaded: the words of a button, and its callback."""


def show_capture(selection: Selection, *, back: Back | None = None) -> "Capture | None":
    """The capture of the selection, or None where the page has said why there is none."""
    if not _may_load(selection.model):
        _offer(selection.model, back)
        return None
    try:
        # a page of two sides may load two models in one run
        with _Progress(selection.model, "stop" if back is None else "stop_second") as progress:
            return _capture(selection, progress.tell)
    except backend.TooManyTokens as error:
        notices.show_error(error)
        _offer_cut(error)
    except Stopped:
        state.stop(selection.model)
        _offer(selection.model, back)
    return None


def _capture(selection: Selection, tell: Tell) -> "Capture":
    """The capture of the text; of its beginning, where it is long and that is what the page
    takes."""
    try:
        return backend.get_capture(make_ask(selection), tell)
    except backend.TooManyTokens as error:
        if (state.current_page() or "") in backend.LONGEST:
            raise
        state.take_beginning(selection, error.count)
        return backend.get_capture(make_ask(selection), tell)


def describe_beginning(selection: Selection, capture: "Capture") -> str:
    """Which tokens the page has taken, where these are not all of the text; else nothing."""
    count = state.count_long_text(selection)
    if not count:
        return ""
    taken = len(capture.tokens["encoder" if "encoder" in capture.tokens else "decoder"])
    words = f"Measured on the first {taken:,} of {count:,} tokens."
    chosen = state.current_selection().query
    if chosen is not None and chosen >= taken:
        words += f" Token {chosen:,}, which you read from, is not among them; it is kept for pages "
        words += "that take all of the text."
    return words


def _may_load(name: str) -> bool:
    if backend.store().models.holds(name):
        # Here already, on somebody's click; a link may still not run it unasked.
        return name in CATALOG or state.has_agreed(name)
    return not state.was_stopped(name) and (name in CATALOG or state.has_agreed(name))


def _offer(name: str, back: Back | None) -> None:
    """A model that a link asks for, or whose load was stopped: loaded on a click only."""
    if state.was_stopped(name):
        st.info("Loading was stopped. The model:", icon=":material/pause_circle:")
    else:
        st.info("This link asks for a model from outside the catalog:", icon=":material/link:")
    st.code(name, language=None, wrap_lines=True)
    if name not in CATALOG:
        st.text(
            "It is fetched from the Hugging Face Hub and kept on the machine that runs this app. "
            "Only safetensors are read, and no code of the model's is run."
        )
    with st.container(horizontal=True):
        st.button("Load it", on_click=state.agree_to_model, args=(name,), key="agree")
        if back is not None:
            st.button(back[0], on_click=back[1], key="decline")
        elif name != DEFAULT_MODEL:
            st.button(
                f"Open {CATALOG[DEFAULT_MODEL].title} instead",
                on_click=state.change_model,
                args=(DEFAULT_MODEL,),
                key="decline",
            )


def _offer_cut(error: backend.TooManyTokens) -> None:
    st.button(
        f"Cut to the first {error.limit:,} tokens and leave {error.count - error.limit:,} out",
        on_click=state.change,
        kwargs={"cut": True},
        key="cut",
    )


def describe_cost(name: str) -> str:
    """What the first use of a model costs, in words; empty where nothing is fetched."""
    entry = CATALOG.get(name)
    if entry is None or not entry.download_bytes:
        return ""
    return f"{entry.download_bytes / 1e6:.0f} MB"


class _Progress:
    """A progress bar with a way to stop, drawn only once there is something to wait for.

    A model that is here draws no bar, but for a long run or a wait of a moment in line: the
    picture before stays until the new one is there.
    """

    def __init__(self, name: str, key: str) -> None:
        self._name, self._key, self._slot = name, key, st.empty()
        self._started = time.monotonic()
        self._bar: Callable[..., object] | None = None
        self._worth = waiting.worth_writing()

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._slot.empty()

    def tell(self, words: str, fraction: float | None) -> None:
        if self._bar is None:
            here = fraction is None and backend.store().models.holds(self._name)
            if here and time.monotonic() - self._started < _MOMENT:
                return
            self._bar = self._draw()
        if not self._worth((words, fraction)):
            return
        size = (
            f", {describe_cost(self._name)}"
            if "Downloading" in words and describe_cost(self._name)
            else ""
        )
        self._bar(min(max(fraction or 0.0, 0.0), 1.0), text=_plain(words) + size)

    def _draw(self) -> Callable[..., object]:
        with self._slot.container(border=True):
            entry = CATALOG.get(self._name)
            here = backend.store().models.holds(self._name)
            doing = "Running" if here else "Loading"
            st.text(f"{doing} {entry.title if entry else self._name}")
            bar = st.progress(0.0, text="Starting")
            if not here:  # a forward pass cannot be stopped half-way
                st.button("Stop", on_click=_stop, args=(self._name,), key=self._key)
            if not st.session_state.get("drawn"):  # else the picture before is still there
                st.skeleton(height=420)
        return bar.progress


def _stop(name: str) -> None:
    state.stop(name)
    backend.store().models.cancel(name)


def _plain(words: str) -> str:
    """The loader's words for a label that reads Markdown: letters, digits and plain stops only."""
    return "".join(c if c.isalnum() or c in " .,%()/-" else " " for c in words)


def list_notes(selection: Selection, capture: "Capture") -> list[str]:
    """What a reader should know of how the text was read: cut, dropped, generated."""
    found = list(capture.notes)
    if taken := describe_beginning(selection, capture):
        found.insert(0, taken)
    elif selection.cut:
        left = backend.count_left_out(make_ask(selection))
        if left:
            found.insert(0, f"The text was cut: {left:,} tokens at its end are left out.")
    return found
