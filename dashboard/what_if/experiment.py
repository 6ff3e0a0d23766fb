"""What the page of what-ifs lets one choose, and how it is written in a link. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dashboard.session.selection import Ignored, one_of, read_fields, whole

CHANGES = {
    "hide": "Hide a key",
    "temper": "Divide scores by a temperature",
    "add": "Add to a score",
    "set": "Give a key another weight",
    "permute": "Shuffle weights",
    "flatten": "Make weights even",
    "zero": "Take away a value",
    "ablate": "Take away the head",
}
SCOPES = {
    "head": "This head",
    "layer": "Every head of this layer",
    "stack": "Every head of every layer",
}
ROWS = {"one": "this token", "every": "every token"}
HOWS = {
    "zero": "Nothing",
    "mean": "Its mean over the text",
    "resample": "Its output at other tokens",
}
MEASURES = ("contribution_norm", "weighted_value_norm", "signed_share")
MAPS = {"weights": "Weights", "scores": "Scores"}

COLDEST, HOTTEST = 0.05, 100.0
MOST_ADDED = 1000.0
DIGITS = 4  # after the point, of every number

_USED = {
    "hide": ("rows", "key"),
    "temper": ("temperature",),
    "add": ("key", "amount"),
    "set": ("key", "weight"),
    "permute": ("rows", "deal"),
    "flatten": ("rows",),
    "zero": ("key",),
    "ablate": ("rows", "instead"),
}
"""What each change goes by, beside where it acts."""


@dataclass(frozen=True)
class Experiment:
    """What the reader asks for.

    Attributes:
        change: one of CHANGES. on: one of SCOPES. rows: one of ROWS.
        key: a position, from 0; None is the key with the largest weight of the row.
        temperature, amount, weight, deal, instead: by how much, or what instead (one of HOWS).
        contribution, maps: what the pictures below show.
        sweep: what is put in the place of each head (one of HOWS).
    """

    change: str = "hide"
    on: str = "head"
    rows: str = "one"
    key: int | None = None
    temperature: float = 2.0
    amount: float = -4.0
    weight: float = 0.0
    deal: int = 0
    instead: str = "zero"
    contribution: str = MEASURES[0]
    maps: str = "weights"
    sweep: str = "zero"


NAMES = tuple(field.name for field in fields(Experiment))
_NUMBER = re.compile(rf"-?[0-9]{{1,4}}(\.[0-9]{{1,{DIGITS}}})?")


def _number(low: float, high: float) -> Callable[[str], float]:
    def read(raw: str) -> float:
        if not _NUMBER.fullmatch(raw) or not low <= float(raw) <= high:
            raise ValueError
        return float(raw) + 0.0  # no minus zero

    return read


def _option(options: Sequence[str] | Mapping[str, Any]) -> tuple[Callable[[str], Any], str]:
    return one_of(options), f"it is one of {', '.join(options)}"


def _within(low: float, high: float) -> tuple[Callable[[str], Any], str]:
    return _number(low, high), (
        f"it is a number from {low:g} to {high:g}, with at most {DIGITS} digits after the point"
    )


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "change": _option(CHANGES),
    "on": _option(SCOPES),
    "rows": _option(tuple(ROWS)),
    "key": (whole, "it is a token's position, counted from 0"),
    "temperature": _within(COLDEST, HOTTEST),
    "amount": _within(-MOST_ADDED, MOST_ADDED),
    "weight": _within(0.0, 1.0),
    "deal": (whole, "it is a whole number, counted from 0"),
    "instead": _option(HOWS),
    "contribution": _option(MEASURES),
    "maps": _option(MAPS),
    "sweep": _option(HOWS),
}


def read(params: Mapping[str, Sequence[str]]) -> tuple[Experiment, list[Ignored]]:
    """What a link asks for; what cannot be used is left at its default and named."""
    found, ignored = read_fields(params, _READERS)
    return Experiment(**found), ignored


def write(experiment: Experiment) -> dict[str, str]:
    """The experiment as names and values of an address: nothing where all is at its default; else
    the change with all that it goes by, so that a link keeps its meaning if a default changes, and
    the rest where it differs."""
    default = Experiment()
    if experiment == default:
        return {}
    used = ("change", "on", *_USED[experiment.change])
    out = {}
    for name in (*used, "contribution", "maps", "sweep"):
        value = getattr(experiment, name)
        if value is not None and (name in used or value != getattr(default, name)):
            out[name] = _written(value)
    return out


def _written(value: Any) -> str:
    return f"{value:.{DIGITS}f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
