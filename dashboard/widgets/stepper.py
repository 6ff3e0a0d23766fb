"""A picker with a step back and a step on, for walking along by mouse or keyboard."""

import base64
from collections.abc import Callable, Sequence

import streamlit as st

from dashboard.session import state

_PATHS = {"Previous": "M15 5l-7 7 7 7", "Next": "M9 5l7 7-7 7"}


def draw_stepper(
    name: str,
    noun: str,
    options: Sequence[int],
    value: int,
    *,
    title: str,
    label: Callable[[int], str],
    help: str,
) -> None:
    """Choose one of the options for the selection's field `name`.

    The options are shown as data, so a label may hold a token's text.
    """
    place = options.index(value)
    key = state.set_widget(f"pick_{name}", value, [label(option) for option in options])
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xxsmall", wrap=False):
        st.selectbox(
            title,
            options,
            format_func=label,
            key=key,
            help=help,
            on_change=state.make_callback(name, key),
        )
        draw_arrows(name, noun, place, len(options), lambda by: state.step(name, options, by))


def draw_arrows(name: str, noun: str, place: int, count: int, go: Callable[[int], None]) -> None:
    """Buttons for a step back and a step on from a place among so many; `go` is the callback, and
    takes -1 or 1."""
    for way, by, end in (("Previous", -1, 0), ("Next", 1, count - 1)):
        st.button(
            f"![{way} {noun}]({_arrow(way, faint=place == end)})",
            key=f"{way.lower()}_{name}",
            help=f"{way} {noun}",
            disabled=place == end,
            on_click=go,
            args=(by,),
        )


def _arrow(way: str, *, faint: bool) -> str:
    """An arrow as an image, because an image has a text for those who do not see it; a symbol
    in a label is read out by the symbol's own name. The grey is legible on light and dark."""
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24" '
        'fill="none" stroke="#868b9a" stroke-width="3" stroke-linecap="round" '
        f'stroke-linejoin="round" opacity="{0.4 if faint else 1}"><path d="{_PATHS[way]}"/></svg>'
    )
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
