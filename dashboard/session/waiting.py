"""Telling a reader, where the page stands, what it waits for: how many runs are ahead."""

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from dashboard.server.turns import Tell

_MOMENT = 0.5  # seconds; a shorter wait is not worth a word
_AGAIN = 1.0  # seconds after which the same words are written again


def worth_writing() -> Callable[[Hashable], bool]:
    """A look at whether news should go to the page: where it is new, and once a second where not.
    Writing is also where a reader who has left is let go."""
    last: Hashable = None
    written = float("-inf")

    def worth(news: Hashable) -> bool:
        nonlocal last, written
        now = time.monotonic()
        if news == last and now - written < _AGAIN:
            return False
        last, written = news, now
        return True

    return worth


@contextmanager
def line(tell: Tell | None = None) -> Iterator[Tell]:
    """A Tell that writes its words on the page once the wait has taken a moment, and takes them
    away at the end. The words are the store's own. Each is also where a reader who has left, or
    has clicked elsewhere, is let out of the line."""
    shown: list[Any] = []
    started = time.monotonic()
    worth = worth_writing()

    def told(words: str, fraction: float | None) -> None:
        if tell is not None:
            tell(words, fraction)
        if time.monotonic() - started < _MOMENT:
            return
        if not worth(words):
            return
        if not shown:
            shown.append(st.empty())
        shown[0].text(words)

    try:
        yield told
    finally:
        if shown:
            shown[0].empty()
