"""The lines over the picture: which model and head this is, and how far it can be trusted."""

import re
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.models.catalog import CATALOG
from dashboard import exports
from dashboard.session import backend, page_capture, state
from dashboard.session.selection import Selection, travels
from dashboard.widgets import export_panel

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from attnviz.capture import Capture


def shell(title: "DeltaGenerator", selection: Selection) -> "DeltaGenerator":
    """The title's place before there is a model, with the model's name in it; to be emptied.

    Where the model is here already, the name is left out: the heading of the picture before
    stands until the new one is there.
    """
    slot = title.empty()
    if not backend.store().holds(selection.model):
        slot.title(_name(selection.model), anchor=False)
    return slot


def draw(selection: Selection, capture: "Capture") -> None:
    """The title, the receipt, and the line of facts."""
    stack = "" if len(capture.stacks) == 1 else f", {selection.stack}"
    where = f"layer {selection.layer}, head {selection.head}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.title(f"{_name(selection.model)}{stack}, {where}", anchor=False, width="content")
        st.space("stretch")
        _receipt(capture)
        _link(selection)
        export_panel.draw("explore", exports.explore, _shown)
    st.text(facts(selection, capture))
    _notes(selection, capture)


def facts(selection: Selection, capture: "Capture") -> str:
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


def _receipt(capture: "Capture") -> None:
    receipt = capture.receipt
    label = f"Exact: largest error {receipt.largest_error:.0e}"
    with st.popover(label, icon=":material/check_circle:", type="tertiary"):
        st.markdown(
            f"**{receipt.recorded} of {receipt.expected} attention blocks were recorded**, "
            f"by {_plain(receipt.method)}. For {receipt.rows_checked:,} rows, the weights drawn "
            "here were multiplied with the values and compared with what the model itself "
            f"computed. The largest difference was {receipt.largest_error:.1e}, as a part of the "
            f"block's largest output. The model ran in {receipt.dtype} with "
            f"{_plain(receipt.attention)} attention."
        )


def _link(selection: Selection) -> None:
    with st.popover("Link", icon=":material/link:", type="tertiary"):
        st.markdown("This address opens the same model, text, head and row.")
        st.code(state.link(), language=None, wrap_lines=True)
        if not travels(selection):
            st.markdown("The text is too long for an address and is not part of it.")


def _shown() -> tuple[backend.Ask, Selection]:
    """What the picture shows now; a click in it has not drawn this heading anew."""
    selection = state.drawn()
    return page_capture.ask_of(selection), selection


def _notes(selection: Selection, capture: "Capture") -> None:
    for note in notes(selection, capture):
        st.text(note)


def notes(selection: Selection, capture: "Capture") -> list[str]:
    """What a reader should know of how the text was read: cut, dropped, generated."""
    found = list(capture.notes)
    if taken := page_capture.beginning(selection, capture):
        found.insert(0, taken)
    elif selection.cut:
        left = backend.left_out(page_capture.ask_of(selection))
        if left:
            found.insert(0, f"The text was cut: {left:,} tokens at its end are left out.")
    return found


def _name(model: str) -> str:
    """A model's name for a heading, which reads Markdown: every sign but letters is escaped."""
    if model in CATALOG:
        return CATALOG[model].title
    return re.sub(r"([^A-Za-z0-9 /])", r"\\\1", model.rstrip("/").rsplit("/", 1)[-1] or "Model")


def _plain(words: str) -> str:
    return re.sub(r"[^A-Za-z0-9 ,.()-]", " ", words)
