"""Link fields: how each choice of a page is written in an address, and read back. Pure.

A link comes from anywhere. What it gives is read by a field of that name alone; what cannot be
used is left at its default, and named with the reason in fixed words.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnviz.errors import AttnvizError

_WHOLE = re.compile(r"[0-9]{1,5}")


class Unusable(ValueError):
    """What a link gives cannot be used; the reason is the field's, unless one is given here."""


@dataclass(frozen=True)
class Ignored:
    """Something in a link that could not be used, and why, in fixed words."""

    name: str
    why: str


@dataclass(frozen=True)
class Field:
    """One choice in an address.

    Attributes:
        read: from the text in the address to the value; raises Unusable.
        why: the reason that is given where it does.
        write: from the value to the text in the address.
        attribute: the choice's own name, where that is not its name in the address.
    """

    read: Callable[[str], Any]
    why: str
    write: Callable[[Any], str] = str
    attribute: str = ""


def read_fields(
    params: Mapping[str, Sequence[str]], fields: Mapping[str, Field]
) -> tuple[dict[str, Any], list[Ignored]]:
    """The values that a link gives, by name, and what of it cannot be used. Each name may be
    given once."""
    found: dict[str, Any] = {}
    ignored = []
    for name, field in fields.items():
        given = params.get(name, ())
        if len(given) > 1:
            ignored.append(Ignored(name, "it is given more than once"))
        elif given:
            try:
                found[field.attribute or name] = field.read(given[0])
            except Unusable as error:
                ignored.append(Ignored(name, str(error) or field.why))
            except AttnvizError:
                ignored.append(Ignored(name, field.why))
    return found, ignored


def write_fields(
    choices: Any, default: Any, fields: Mapping[str, Field], always: Collection[str] = ()
) -> dict[str, str]:
    """The choices that differ from their default, and those of `always` that are not None, as
    names and values of an address."""
    out = {}
    for name, field in fields.items():
        own = field.attribute or name
        value = getattr(choices, own)
        if value is not None and (name in always or value != getattr(default, own)):
            out[name] = field.write(value)
    return out


def usable_values(
    values: Mapping[str, Any], fields: Mapping[str, Field], default: Any
) -> dict[str, Any]:
    """Those of some choices that their fields would give back from an address, those at their
    default, and those of no field."""
    by_attribute = {field.attribute or name: field for name, field in fields.items()}

    def is_usable(name: str, value: Any) -> bool:
        field = by_attribute.get(name)
        if field is None or value == getattr(default, name):
            return True
        try:
            written = field.write(value)
            back = field.read(written)
            return isinstance(value, type(back)) and field.write(back) == written
        except (AttnvizError, ValueError, TypeError):
            return False

    return {name: value for name, value in values.items() if is_usable(name, value)}


# Kinds of field


def read_whole(raw: str) -> int:
    """A whole number of at most five digits."""
    if not _WHOLE.fullmatch(raw):
        raise Unusable
    return int(raw)


def whole_number(what: str = "whole number") -> Field:
    return Field(read_whole, f"it is a {what}, counted from 0")


def one_of(options: Collection[str]) -> Field:
    def read(raw: str) -> str:
        if raw not in options:
            raise Unusable
        return raw

    return Field(read, f"it is one of {', '.join(options)}")


def short_text(most: int) -> Field:
    def read(raw: str) -> str:
        if len(raw) > most:
            raise Unusable
        return raw

    return Field(read, f"it is over {most:,} characters")


def decimal(low: float, high: float, digits: int, *, rounds: bool = False) -> Field:
    """A number between two ends, without an exponent, with at most so many digits after the point;
    rounds: more of them, up to three, are rounded."""
    form = re.compile(rf"-?[0-9]{{1,4}}(\.[0-9]{{1,{3 if rounds else digits}}})?")

    def read(raw: str) -> float:
        if not form.fullmatch(raw) or not low <= float(raw) <= high:
            raise Unusable
        return round(float(raw), digits) + 0.0  # no minus zero

    def write(value: float) -> str:
        return f"{value:.{digits}f}".rstrip("0").rstrip(".")

    after = "" if rounds else f", with at most {digits} digits after the point"
    return Field(read, f"it is a number from {low:g} to {high:g}{after}", write)


def read_switch(raw: str) -> bool:
    if raw not in ("on", "off"):
        raise Unusable
    return raw == "on"


SWITCH = Field(read_switch, "it is on or off", lambda value: "on" if value else "off")


def listed(each: Field, why: str, *, count: int | None = None, attribute: str = "") -> Field:
    """Several values with commas between: as many as `count`, or any number of different ones in
    their order."""

    def read(raw: str) -> tuple[Any, ...]:
        values = tuple(each.read(part) for part in raw.split(","))
        if count is not None and len(values) == count:
            return values
        if count is not None or len(set(values)) < len(values):
            raise Unusable
        return tuple(sorted(values))

    return Field(read, why, lambda values: ",".join(map(each.write, values)), attribute)
