"""Interventions written down: as data in a file, as Python in a script, as words of a command."""

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from attnviz import interventions
from attnviz.errors import AttnvizError, BadInput
from attnviz.heads.intervention import Intervention

KINDS: dict[str, type[Intervention]] = {
    name: kind
    for name, kind in vars(interventions).items()
    if name in interventions.__all__
    and isinstance(kind, type)
    and issubclass(kind, Intervention)
    and kind is not Intervention
}
"""The interventions that a file can hold: those that `attnviz.interventions` offers."""


def as_data(change: Intervention) -> dict[str, Any]:
    """The kind of an intervention, and each of its fields that is not at its default.

    Raises:
        BadInput: a kind of somebody's own, which no file can hold.

    >>> as_data(interventions.Temper(3, temperature=2.0))
    {'kind': 'Temper', 'layer': 3, 'temperature': 2.0}
    """
    name = type(change).__name__
    if KINDS.get(name) is not type(change):
        raise BadInput(
            what=f"A what-if of the kind {name} cannot be written into a file.",
            why=f"A file can hold these: {', '.join(KINDS)}.",
            todo="Make the change with one of them.",
        )
    options = {field.name: _to_json(getattr(change, field.name)) for field in fields(change)}
    default = {field.name: field.default for field in fields(change)}
    return {"kind": name} | {k: v for k, v in options.items() if v != _to_json(default[k])}


def from_data(data: Mapping[str, Any]) -> Intervention:
    """The intervention that `as_data` wrote.

    Raises:
        BadInput: no such kind, or options that it does not have.
    """
    options = {name: _read_field(value) for name, value in data.items() if name != "kind"}
    kind = KINDS.get(str(data.get("kind")))
    if kind is None or not set(options) <= {field.name for field in fields(kind)}:
        raise BadInput(
            what=f"A what-if cannot be read: {str(data)[:80]}",
            why=f"The kinds are {', '.join(KINDS)}, each with its own options.",
            todo="Make the file again.",
        )
    return kind(**options)


def as_python(change: Intervention) -> str:
    """Python that makes the intervention, where the names of `attnviz.interventions` are imported.

    >>> as_python(interventions.HideKeys(0, 1, keys=[2]))
    'HideKeys(layer=0, head=1, keys=(2,))'
    """
    data = as_data(change)
    options = (f"{name}={_write_literal(value)}" for name, value in data.items() if name != "kind")
    return f"{data['kind']}({', '.join(options)})"


def from_words(words: str) -> Intervention:
    """The intervention that is written as in Python, with plain numbers and texts; nothing is run.

    Raises:
        BadInput: anything else.

    >>> from_words("HideKeys(0, 1, keys=[2])")
    HideKeys(layer=0, head=1, stack=None, keys=(2,), queries=None)
    """
    try:
        call = ast.parse(words.strip(), mode="eval").body
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            raise ValueError("no call of a name")
        names = [field.name for field in fields(KINDS[call.func.id])]
        data = dict(zip(names, map(ast.literal_eval, call.args), strict=False))
        data |= {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        if len(call.args) > len(names):
            raise ValueError("more options than there are")
        return from_data({"kind": call.func.id, **data})
    except (KeyError, SyntaxError, TypeError, ValueError, AttnvizError) as error:
        raise BadInput(
            what=f"This is not a what-if: {words[:80]}",
            why=f"It is one of {', '.join(KINDS)} with plain numbers, as in Python.",
            todo="Write for example: HideKeys(17, 5, keys=[6], queries=[17])",
        ) from error


def _to_json(value: Any) -> Any:
    """A field as JSON has it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray | Sequence | range) and not isinstance(value, str):
        return [_to_json(item) for item in value]
    return value


def _write_literal(value: Any) -> str:
    """A field as Python: its numbers without end, which have no literal, by their name."""
    if isinstance(value, list | tuple):
        items = ", ".join(map(_write_literal, value))
        return f"({items},)" if len(value) == 1 else f"({items})"
    value = _read_number(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def _read_number(value: Any) -> Any:
    """A field as a file has it: JSON has names for NaN and the infinities."""
    names = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    return names.get(value, value) if isinstance(value, str) else value


def _read_field(value: Any) -> Any:
    return (
        tuple(map(_read_number, value)) if isinstance(value, list | tuple) else _read_number(value)
    )
