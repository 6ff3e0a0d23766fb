"""Controls that show one field of the selection, and change it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from dashboard.session import state
from dashboard.session.selection import Selection


def draw_picker(
    name: str,
    label: str,
    options: Sequence[Any],
    words: Callable[[Any], str],
    help: str,
    selection: Selection,
    *,
    key: str,
    width: int,
) -> None:
    """A list to choose the field `name` from; the first of it where it lacks what is chosen."""
    value = getattr(selection, name)
    key = state.set_widget(key, value if value in options else options[0])
    st.selectbox(
        label,
        options,
        format_func=words,
        key=key,
        help=help,
        on_change=state.make_callback(name, key),
        width=width,
    )


def draw_switch(
    name: str,
    label: str,
    options: Mapping[str, str],
    selection: Selection,
    *,
    key: str,
    help: str | None = None,
) -> None:
    """A switch between a few values, given with their words, of the field `name`."""
    key = state.set_widget(key, getattr(selection, name))
    st.segmented_control(
        label,
        list(options),
        format_func=options.__getitem__,
        key=key,
        required=True,
        help=help,
        on_change=state.make_callback(name, key),
    )
