"""The lines over the picture: which model and head this is, and how far it can be trusted."""

import re
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.models.catalog import CATALOG
from dashboard.explore import views
from dashboard.session import backend, page_capture, state
from dashboard.session.selection import Selection, SettledSelection, fits_address
from dashboard.widgets import export_panel, text_place

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from attnviz.capture import Capture


def draw_shell(title: "DeltaGenerator", selection: Selection) -> "DeltaGenerator":
    """The title's place before there is a model, with the model's name in it; to be emptied.

    Where the model is here already, the name is left out: the heading of the picture before
    stands until the new one is there.
    """
    slot = title.empty()
    if not backend.store().models.holds(selection.model):
        slot.title(_name(selection.model), anchor=False)
    return slot


def draw_heading(selection: SettledSelection, capture: "Capture") -> None:
    """The title, the receipt, and the line of facts."""
    stack = "" if len(capture.stacks) == 1 else f", {selection.stack}"
    where = f"layer {selection.layer}, head {selection.head}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.title(f"{_name(selection.model)}{stack}, {where}", anchor=False, width="content")
        st.space("stretch")
        _receipt(capture)
        _link(selection)
        export_panel.draw_export("explore", views.view_head, _shown)
    st.text(text_place.list_facts(selection, capture))
    for note in page_capture.list_notes(selection, capture):
        st.text(note)


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
        if not fits_address(selection):
            st.markdown("The text is too long for an address and is not part of it.")


def _shown() -> tuple[backend.Ask, SettledSelection]:
    """What the picture shows now; a click in it has not drawn this heading anew."""
    selection = state.drawn_selection()
    return page_capture.make_ask(selection), selection


def _name(model: str) -> str:
    """A model's name for a heading, which reads Markdown: every sign but letters is escaped."""
    if model in CATALOG:
        return CATALOG[model].title
    return re.sub(r"([^A-Za-z0-9 /])", r"\\\1", model.rstrip("/").rsplit("/", 1)[-1] or "Model")


def _plain(words: str) -> str:
    return re.sub(r"[^A-Za-z0-9 ,.()-]", " ", words)
