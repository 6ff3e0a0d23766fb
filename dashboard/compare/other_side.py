"""What the page of comparisons lets one choose, and how it is written in a link. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dashboard.session.link_fields import Field, one_of, short_text, whole_number
from dashboard.session.selection import STACKS, Selection, SettledSelection, model_field

SHOWN = {
    "weights": "Weights",
    "relative": "Scores, from the row's largest",
    "scores": "Scores",
}


@dataclass(frozen=True)
class Other:
    """What the reader asks of the second side, B. None: as A has it.

    Attributes:
        b_model, b_text, b_stack, b_layer, b_head: as in a `SettledSelection`.
        b_query: the row of B, where its queries are not A's.
        compare: one of SHOWN.
    """

    b_model: str | None = None
    b_text: str | None = None
    b_stack: str | None = None
    b_layer: int | None = None
    b_head: int | None = None
    b_query: int | None = None
    compare: str = "weights"

    @property
    def chosen(self) -> bool:
        """Whether anything of B is chosen; if not, it is found by measuring."""
        return any(getattr(self, name) is not None for name in SIDE)

    def side(self, a: SettledSelection) -> Selection:
        """B as a selection, given A: what is not chosen is as A has it. The row starts anew, and
        what only pages of one head use is A's."""
        asked = {name: getattr(self, f"b_{name}") for name in ("model", "text", *PLACE)}
        chosen = {name: value for name, value in asked.items() if value is not None}
        anew = {"query": self.b_query, "near": None, "layers": None}
        return Selection(**vars(a) | chosen | anew)


PLACE = ("stack", "layer", "head")
SIDE = ("b_model", "b_text", "b_stack", "b_layer", "b_head")


def opposite(a: SettledSelection, b: SettledSelection) -> dict[str, Any]:
    """The fields of an `Other` that make A the second side once B is the first."""
    found: dict[str, Any] = {f"b_{name}": getattr(a, name) for name in ("layer", "head")}
    for name in ("model", "text", "stack"):
        same = getattr(a, name) == getattr(b, name)
        found[f"b_{name}"] = None if same else getattr(a, name)
    return found | {"b_query": a.query}


def fields_of_side(
    *,
    max_characters: int,
    folders: bool,
    allows: Callable[[str], bool] = lambda model: True,
) -> dict[str, Field]:
    """How each choice is written in a link. allows: whether a Hub id may be loaded here."""
    return {
        "b_model": model_field(folders, allows),
        "b_text": short_text(max_characters),
        "b_stack": one_of(STACKS),
        "b_layer": whole_number(),
        "b_head": whole_number(),
        "b_query": whole_number("token's position"),
        "compare": one_of(SHOWN),
    }
