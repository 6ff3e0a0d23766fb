"""The list of misconceptions on its page: which are open, which comes first, how one is drawn."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import streamlit as st

from dashboard.misconceptions import ENTRIES
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Subject
from dashboard.session import notices, page_capture, state
from dashboard.session.link_fields import Ignored
from dashboard.session.selection import SettledSelection
from dashboard.widgets import text_place

if TYPE_CHECKING:
    from attnviz.capture import Capture

NAME = "claim"
_FIRST = "claim_first"  # the entry that stands first
_ADDRESS = "claim_address"  # the entry in the address, as last read or written
_LATEST = "claim_latest"  # the entry that was opened last
_BEFORE = "claim_before"  # the selection before the planted circuit


def read_link() -> list[Ignored]:
    """Take over the entry that the address names; what it names in vain comes back."""
    asked = st.query_params.get(NAME)
    if _FIRST not in st.session_state:
        first = next(iter(ENTRIES))
        st.session_state[_FIRST] = first
        if asked is None:
            st.session_state[_key(first)] = True
    if asked is not None and asked != st.session_state.get(_ADDRESS):
        st.session_state[_ADDRESS] = asked
        if asked in ENTRIES:
            st.session_state[_FIRST] = st.session_state[_LATEST] = asked
            st.session_state[_key(asked)] = True
    if asked is None or asked in ENTRIES:
        return []
    return [Ignored(NAME, "there is no entry of that name; they are listed below")]


def write_link() -> None:
    """Keep the entry that was opened last in the address."""
    latest = st.session_state.get(_LATEST)
    if latest is not None and st.query_params.get(NAME) != latest:
        st.query_params[NAME] = st.session_state[_ADDRESS] = latest


def order() -> Sequence[Entry]:
    """All entries, the one that was linked to first."""
    first = st.session_state[_FIRST]
    return sorted(ENTRIES.values(), key=lambda entry: entry.key != first)


def draw(entry: Entry, selection: SettledSelection, capture: "Capture") -> None:
    """One entry, folded or open; only an open one is worked out."""
    for key in ENTRIES:
        st.session_state.setdefault(_key(key), False)
    box = st.expander(entry.claim, key=_key(entry.key), on_change=_opened, args=(entry.key,))
    if not box.open:
        return
    with box:
        st.markdown(f"**Why people believe it.** {entry.believed}")
        st.markdown(f"**What is true.** {entry.true}")
        st.header(entry.title, anchor=False)
        with notices.guard():
            entry.measure(Subject(selection, capture))
        if entry.planted is not None:
            _planted(entry.key, entry.planted, selection)
        st.markdown(f"**How far this carries.** {entry.carries}")
        st.markdown(f"**Sources.** {entry.sources}")


def _key(entry: str) -> str:
    return f"entry_{entry}"


def _opened(entry: str) -> None:
    if st.session_state[_key(entry)]:
        st.session_state[_LATEST] = entry
    state.touch()


def _planted(key: str, where: Planted, selection: SettledSelection) -> None:
    """The way to the planted circuit, or back from it."""
    if selection.model == "planted-circuit":
        before = st.session_state.get(_BEFORE)
        here = (selection.layer, selection.head) == (where.layer, where.head)
        st.text(f"Look for this: {where.look}" if here else "")
        with st.container(horizontal=True):
            if not here:
                st.button(
                    f"Go to layer {where.layer}, head {where.head}",
                    key=f"claim_go_{key}",
                    on_click=_go,
                    args=(where,),
                )
            if before is not None:
                st.button(
                    "Back to the model before",
                    key=f"claim_back_{key}",
                    on_click=state.change,
                    kwargs=asdict(before),
                )
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Show it on the planted circuit",
            key=f"claim_planted_{key}",
            on_click=_go,
            args=(where,),
        )
        st.text("A small model whose heads were written by hand, so what each does is known.")


def _go(where: Planted) -> None:
    current = state.current_selection()
    if current.model != "planted-circuit":
        st.session_state[_BEFORE] = current
    state.change_model("planted-circuit")
    state.change(text=where.text, layer=where.layer, head=where.head)


def where(selection: SettledSelection, capture: "Capture") -> None:
    """Where the measurements are made, and the picker of the row."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width=250):
            text_place.draw_query_picker(selection, capture)
        st.text(f"Measured on {text_place.describe_place(selection, capture)}")
    if taken := page_capture.describe_beginning(selection, capture):
        st.text(taken)
