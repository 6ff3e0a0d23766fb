"""Probe texts: a small corpus made by rule, free of anybody's rights, the same everywhere.

Each kind of text gives a kind of head something to do: names that come back, lists, code, words
said again in the same order, plain sentences.
"""

import random
from collections.abc import Callable

COUNT = 200
_SEED = 0
_NAMES = "Nora Felix Amara Jonas Priya Mateo Ingrid Samuel Leila Oscar Yuki Tomas".split()
_PLACES = "harbour station library market bridge garden museum valley island workshop".split()
_THINGS = "lamp ticket map kettle violin ladder compass letter basket engine clock rope".split()
_DID = "carried found sold painted lost repaired borrowed counted hid measured".split()
_FELT = "tired glad late curious certain careful silent hungry early alone".split()
_WHEN = "At dawn,In winter,After the rain,On Monday,Before noon,That evening,Years later".split(",")


def probe_texts(count: int = COUNT) -> list[tuple[str, str]]:
    """(name, text), of every kind in turn."""
    draw = random.Random(_SEED)
    kinds = list(_KINDS.items())
    return [
        (f"{kinds[n % len(kinds)][0]} {n // len(kinds)}", kinds[n % len(kinds)][1](draw))
        for n in range(count)
    ]


def _sentence(draw: random.Random) -> str:
    return (
        f"{draw.choice(_WHEN)} {draw.choice(_NAMES)} {draw.choice(_DID)} the "
        f"{draw.choice(_THINGS)} near the {draw.choice(_PLACES)} and felt {draw.choice(_FELT)}."
    )


def _story(draw: random.Random) -> str:
    return " ".join(_sentence(draw) for _ in range(8))


def _names(draw: random.Random) -> str:
    one, other = draw.sample(_NAMES, 2)
    thing, second = draw.sample(_THINGS, 2)
    place = draw.choice(_PLACES)
    return (
        f"{one} met {other} at the {place}. {other} gave {one} a {thing}, and {one} gave {other} a "
        f"{second}. When {other} left the {place}, {one} kept the {thing} and {other} kept the "
        f"{second}. Later {one} asked {other} about the {second}, and {other} asked {one} about "
        f"the {thing}."
    )


def _repeated(draw: random.Random) -> str:
    words = draw.sample([*_PLACES, *_THINGS], 12)
    return " ".join(words * 3)


def _list(draw: random.Random) -> str:
    rows = [f"- {thing}: {draw.randint(1, 40)}" for thing in draw.sample(_THINGS, 8)]
    return f"Stored in the {draw.choice(_PLACES)}:\n" + "\n".join(rows)


def _code(draw: random.Random) -> str:
    one, other = draw.sample(_THINGS, 2)
    return (
        f"def count_{one}s({one}s):\n    total = 0\n    for {one} in {one}s:\n"
        f"        total += {one}.size\n    return total\n\n"
        f"def mean_{other}({other}s):\n    total = count_{one}s({other}s)\n"
        f"    return total / len({other}s)\n"
    )


_KINDS: dict[str, Callable[[random.Random], str]] = {
    "story": _story,
    "names": _names,
    "repeated words": _repeated,
    "list": _list,
    "code": _code,
}
