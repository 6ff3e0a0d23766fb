"""The second side of this session's comparison, in its own part of the address."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

import streamlit as st

from dashboard.compare import other_side
from dashboard.compare.other_side import Other, opposite
from dashboard.server.page_table import EXPLORE
from dashboard.session import backend, state
from dashboard.session.link_fields import Field, write_fields
from dashboard.session.page_link import PageLink
from dashboard.session.selection import LONGEST_LINK, SettledSelection, fits_address

_OPEN = "compare_open"


def _fields() -> dict[str, Field]:
    return other_side.fields_of_side(
        max_characters=backend.MAX_CHARACTERS,
        folders=backend.FOLDERS_ALLOWED,
        allows=backend.HOST.allows,
    )


def _write(other: Other) -> dict[str, str]:
    """A text of B's too long to stand beside A's in an address is left out."""
    other = other if both_travel(other) else replace(other, b_text=None)
    return write_fields(other, Other(), _fields())


_link = PageLink(Other, _fields, _write, drawn="cmp_compare")
current, ignored, change, publish = _link.current, _link.ignored, _link.change, _link.publish
refuse = _link.refuse


def chosen() -> Other:
    """The choices as they are, what was refused in this run included."""
    return _link.chosen


def both_travel(other: Other) -> bool:
    """Whether the texts of both sides fit into an address."""
    if other.b_text is None:
        return True
    mine = state.current_selection()
    taken = len(quote(mine.text)) if fits_address(mine) else 0
    return taken + len(quote(other.b_text)) <= LONGEST_LINK


def link(other: Other) -> str:
    """The full address of what is shown."""
    first, ours = state.link(), urlencode(_write(other))
    if not ours:
        return first
    return f"{first}{'&' if '?' in first else '?'}{ours}"


def widget(name: str, value: Any, labels: Sequence[str] = ()) -> dict[str, Any]:
    """What a widget needs to show a choice and to change it: key and callback."""
    key = state.set_widget(f"cmp_{name}", value, labels)

    def on_change() -> None:
        change(**{name: st.session_state[key]})

    return {"key": key, "on_change": on_change}


def choose_model(name: str, a: SettledSelection) -> None:
    """A callback: another model for B, read on the same text; its place there is its own."""
    state.agree_to_model(name)
    same_model()
    change(b_model=None if name == a.model else name)


def same_model() -> None:
    """A callback: B is read by A's model."""
    change(b_model=None, b_stack=None, b_layer=None, b_head=None, b_query=None)


def choose_text(text: str, a: SettledSelection) -> None:
    """A callback: another text for B."""
    change(b_text=None if text == a.text else text, b_query=None)


def step(name: str, options: Sequence[int], here: dict[str, int | None], by: int) -> None:
    """A callback: go along the options of a field of B, from where it is by now. `here`: where B
    was drawn; what of it nobody chose stays where the reader sees it."""
    now = here | {field: value for field in here if (value := getattr(chosen(), field)) is not None}
    value = now[name]
    place = options.index(value) if value in options else 0
    change(**now | {name: options[min(max(place + by, 0), len(options) - 1)]})


def swap(a: SettledSelection, b: SettledSelection) -> None:
    """A callback: the sides change places."""
    change(**opposite(a, b))
    _go_to(b)


def open_second(b: SettledSelection) -> None:
    """A callback: B becomes the selection, and Explore is opened on it."""
    _go_to(b)
    st.session_state[_OPEN] = True


def _go_to(b: SettledSelection) -> None:
    state.agree_to_model(b.model)
    names = ("model", "text", "stack", "layer", "head", "query")
    state.change(**{name: getattr(b, name) for name in names}, near=None, stage="softmax")


def measure() -> None:
    """A callback: nothing of B is chosen any more."""
    change(**dict.fromkeys((*other_side.SIDE, "b_query")))


def follow() -> None:
    """Go to Explore if B was asked for there. A callback cannot go to another page by itself."""
    if st.session_state.pop(_OPEN, False):
        st.switch_page(EXPLORE.path)
