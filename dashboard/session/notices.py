"""Saying what went wrong, in plain words, with nothing of the reader's read as markup.

st.error and its kin read Markdown, so they get fixed words only. Whatever may hold a piece of a
text, a token or a model's name goes through st.text, which shows every character as it is.
"""

import logging
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.errors import (
    AttnvizError,
    BadInput,
    CaptureFailed,
    ModelNotFound,
    ModelRefused,
    TooLarge,
    UnsupportedModel,
)
from dashboard.session.link_fields import Ignored

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

log = logging.getLogger("attnviz.dashboard")

_HEADLINES: dict[type[AttnvizError], str] = {
    BadInput: "This input cannot be used",
    TooLarge: "This is too large to show",
    ModelNotFound: "The model was not found",
    ModelRefused: "The model was refused",
    UnsupportedModel: "This model cannot be shown",
    CaptureFailed: "The recording did not check out",
}


def show_error(error: AttnvizError) -> None:
    """What happened, why, and what to do."""
    headline = next((h for kind, h in _HEADLINES.items() if isinstance(error, kind)), "Not done")
    with st.container(border=True):  # without a key: a page may have two errors at once
        st.error(headline, icon=":material/error:")
        for part in (error.what, error.why, error.todo):
            if part:
                st.text(part)


def show_unexpected(error: Exception) -> None:
    """A code for the page; the whole story, under the same code, for the log."""
    code = secrets.token_hex(3).upper()
    log.error("unexpected error %s", code, exc_info=error)
    with st.container(border=True):
        st.error("Something went wrong that attnviz did not expect", icon=":material/error:")
        st.text("Your text and settings are kept. Change one of them, or load the page again.")
        st.text(f"If it happens again, give this code to whoever runs the app: {code}")


@contextmanager
def guard() -> Iterator[None]:
    """Errors inside become a message. Streamlit's own signals to stop or rerun pass through."""
    try:
        yield
    except AttnvizError as error:
        show_error(error)
    except Exception as error:
        show_unexpected(error)


def show_ignored(slot: "DeltaGenerator", ignored: Sequence[Ignored]) -> None:
    """One notice for all that a link asked for in vain. The names and reasons are ours."""
    if not ignored:
        return
    parts = "; ".join(f"{item.name} ({item.why})" for item in ignored)
    slot.warning(
        f"Part of this link was ignored and stands at its default: {parts}.",
        icon=":material/link_off:",
    )
