"""What the page of comparisons lets one choose, and how it is written in a link. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from attnviz.models.source import resolve
from dashboard.session.selection import (
    STACKS,
    Ignored,
    Selection,
    SettledSelection,
    one_of,
    read_fields,
    whole,
)

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
NAMES = tuple(field.name for field in fields(Other))


def opposite(a: SettledSelection, b: SettledSelection) -> dict[str, Any]:
    """The fields of an `Other` that make A the second side once B is the first."""
    found: dict[str, Any] = {f"b_{name}": getattr(a, name) for name in ("layer", "head")}
    for name in ("model", "text", "stack"):
        same = getattr(a, name) == getattr(b, name)
        found[f"b_{name}"] = None if same else getattr(a, name)
    return found | {"b_query": a.query}


def read(
    params: Mapping[str, Sequence[str]],
    *,
    max_characters: int,
    folders: bool,
    allows: Callable[[str], bool] = lambda model: True,
) -> tuple[Other, list[Ignored]]:
    """What a link asks for; what cannot be used is left at its default and named. allows: whether
    a Hub id may be loaded here."""

    def model(raw: str) -> str:
        source = resolve(raw, allow_folders=folders)
        if source.repo is not None and not allows(source.repo):
            raise ValueError
        return raw.strip()

    def text(raw: str) -> str:
        if len(raw) > max_characters:
            raise ValueError
        return raw

    readers: dict[str, tuple[Callable[[str], Any], str]] = {
        "b_model": (model, "it is no model that can be opened here"),
        "b_text": (text, f"it is over {max_characters:,} characters"),
        "b_stack": (one_of(STACKS), f"it is one of {', '.join(STACKS)}"),
        "b_layer": (whole, "it is a whole number, counted from 0"),
        "b_head": (whole, "it is a whole number, counted from 0"),
        "b_query": (whole, "it is a token's position, counted from 0"),
        "compare": (one_of(SHOWN), f"it is one of {', '.join(SHOWN)}"),
    }
    found, ignored = read_fields(params, readers)
    return Other(**found), ignored


def write(other: Other) -> dict[str, str]:
    """The choices as names and values of an address, where they differ from the default."""
    default = Other()
    return {
        name: str(getattr(other, name))
        for name in NAMES
        if getattr(other, name) != getattr(default, name)
    }
