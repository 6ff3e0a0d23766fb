"""Where on the model and the text a page stands, in words and by pickers that offer what is
there."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from attnviz.models.catalog import CATALOG
from attnviz.tokens.token import number_labels
from dashboard.session import state
from dashboard.session.selection import SettledSelection, Shape
from dashboard.widgets.stepper import draw_stepper

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.tokens import Token

Option = TypeVar("Option")


def name_model(selection: SettledSelection) -> str:
    """A model's name, as text."""
    entry = CATALOG.get(selection.model)
    return entry.title if entry else selection.model


def describe_place(selection: SettledSelection, capture: Shape) -> str:
    """Model, stack, layer and head in one line, as text."""
    stack = "" if len(capture.stacks) == 1 else f", {selection.stack}"
    return f"{name_model(selection)}{stack}, layer {selection.layer}, head {selection.head}"


def name_token(tokens: "Sequence[Token]", place: int) -> str:
    """A token in a sentence, as text."""
    return f'"{tokens[place].label}" ({place})'


def draw_query_picker(selection: SettledSelection, capture: "Capture") -> None:
    """The picker of the row that is read."""
    names = number_labels(capture.query_tokens(selection.stack))
    draw_stepper(
        "query",
        "token",
        range(len(names)),
        selection.query,
        title="Reading from",
        label=names.__getitem__,
        help="The token whose row is read.",
    )


def draw_choice(
    label: str,
    options: Sequence[Option],
    key: str,
    default: Option,
    *,
    words: Callable[[Any], str] = str,
    help: str | None = None,
    width: Any = "stretch",
) -> Option:
    """A picker that is at its default wherever its choice is no longer there. Options are shown
    as data."""
    chosen = st.session_state.get(key)
    value = chosen if chosen in options else default
    return st.selectbox(
        label,
        options,
        format_func=words,
        key=state.set_widget(key, value, [words(option) for option in options]),
        help=help,
        width=width,
        on_change=state.touch,
    )


def list_facts(selection: SettledSelection, capture: "Capture") -> str:
    """Tokens, dtype, scale and the like, in one line of fixed words and numbers."""
    block = capture.block(selection.layer, selection.stack)
    queries = len(capture.query_tokens(selection.stack))
    keys = len(capture.key_tokens(selection.stack))
    parts = [f"{queries} tokens" if queries == keys else f"{queries} x {keys} tokens"]
    parts.append(capture.receipt.dtype)
    if block.scaling is not None:
        parts.append(f"scale {block.scaling:.4g}")
    if block.kv_heads != block.heads:
        group = block.heads // block.kv_heads
        parts.append(
            f"{block.kv_heads} key/value heads for {block.heads} query heads, "
            f"this one reads number {selection.head // group}"
        )
    else:
        parts.append(f"{block.heads} heads")
    if block.softcap is not None:
        parts.append(f"scores capped at {block.softcap:g}")
    if block.window is not None:
        parts.append(f"window of {block.window} tokens")
    parts.append(f"{capture.receipt.attention} attention")
    parts.append("layers and heads count from 0")
    return " · ".join(parts)
