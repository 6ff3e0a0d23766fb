"""The two sides of a comparison: what is taken of each capture, one after the other.

Of A everything is taken before B's model is asked for, and no capture and no model is held: a
process may have room for one model only.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attnviz.heads.comparison import same_queries
from dashboard.compare import link
from dashboard.compare.kept_sides import Outline, alone, kept
from dashboard.compare.other_side import Other
from dashboard.session import all_heads, backend, page_capture, state
from dashboard.session.selection import Selection, SettledSelection, settle_selection
from dashboard.widgets import sidebar, text_place

if TYPE_CHECKING:
    from attnviz.detectors import Alike, HeadProfile
    from attnviz.heads.head import Head


@dataclass(frozen=True, eq=False)
class Side:
    """One side: where it is, its head, and the choices there are beside it.

    Attributes:
        selection: settled.
        outline: the shape of its capture.
        head: the head.
        alike: how far the model's other heads are from this one; of A only.
    """

    selection: SettledSelection
    outline: Outline
    head: "Head"
    alike: "Alike | None" = None

    @property
    def ask(self) -> backend.Ask:
        return page_capture.make_ask(self.selection)

    @property
    def at(self) -> tuple[int, int]:
        """(layer, head)"""
        return self.selection.layer, self.selection.head

    @property
    def where(self) -> str:
        """Model, stack, layer and head in words."""
        return text_place.describe_place(self.selection, self.outline)

    @property
    def title(self) -> str:
        return f"layer {self.selection.layer}, head {self.selection.head}"

    @property
    def shares(self) -> "HeadProfile":
        """The measures that mean the same in every model, of all heads of its stack."""
        stack = self.selection.stack
        return kept(("shares", self.ask, stack), lambda: all_heads.measure_shares(self.ask, stack))


def first(chosen: Selection, other: Other) -> Side | None:
    """A, with the distances of all other heads of its model; None where the page has said why
    there is none. Draws the sidebar's pickers, which need to know the shape of the capture."""
    outline = _outline(chosen)
    if outline is None:
        return None
    selection = state.settle(outline)
    # the grid is measured on A's capture, which may have made way for B's
    alone = backend.HOST.max_models < 2 and other.b_model not in (None, selection.model)
    sidebar.draw_head_controls(selection, outline, grid=not alone)
    side = _side(selection, outline)
    stack, (layer, head) = selection.stack, side.at
    found = kept(
        ("alike", side.ask, stack, layer, head),
        lambda: all_heads.measure_similarity(side.ask, stack, layer, head),
    )
    return replace(side, alike=found)


def asked(a: Side, other: Other) -> Selection:
    """B as it is asked for. Where nothing of it is chosen, the other head of A's model whose
    weights are the nearest to A's; A itself where there is no other."""
    if other.chosen:
        return other.side(a.selection)
    assert a.alike is not None
    layer, head = a.alike.order[0] if a.alike.order else a.at
    return replace(other.side(a.selection), layer=layer, head=head)


def second(a: Side, other: Other) -> Side | None:
    """B, or None where the page has said why there is none. What a link asks for in vain is as
    A has it, or as the model has it where that is in vain too."""
    b = asked(a, other)
    outline = _outline(b, back=("Stay with A's model", link.same_model))
    if outline is None:
        return None
    fitted, missing = settle_selection(b, outline)
    vain = [item for item in missing if getattr(other, f"b_{item.name}", None) is not None]
    for item in vain:
        link.refuse(f"b_{item.name}", None, item.why)
    if vain:
        fitted, _ = settle_selection(asked(a, link.chosen()), outline)
    side = _side(fitted, outline)
    if same_queries(a.head, side.head):  # one row is read on both sides
        side = replace(side, selection=replace(side.selection, query=a.selection.query))
    return side


def _outline(selection: Selection, back: page_capture.Back | None = None) -> Outline | None:
    def make() -> Outline | None:
        capture = page_capture.show_capture(selection, back=back)
        return Outline.of(capture, page_capture.list_notes(selection, capture)) if capture else None

    return kept(("outline", page_capture.make_ask(selection)), make)


def _side(selection: SettledSelection, outline: Outline) -> Side:
    ask, stack = page_capture.make_ask(selection), selection.stack
    layer, head = selection.layer, selection.head
    found = kept(
        ("head", ask, stack, layer, head),
        lambda: backend.get_head(ask, stack, layer, head),
        own=alone,
    )
    return Side(selection, outline, replace(found))  # what is worked out of it is not kept
