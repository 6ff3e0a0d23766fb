"""All heads: what every head of a capture measures, worked out once and kept with it."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from attnviz.detectors import SHARES, repeated
from attnviz.progress import Step
from dashboard.session import backend, waiting
from dashboard.session.backend import Ask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnviz.detectors import Alike, HeadProfile, Thumbnails
    from attnviz.models import LoadedModel

ROWS = 64
"""Of a long text, for numbers of all heads that a page shows unasked."""


def measure_grid(ask: Ask, measure: str, stack: str) -> "NDArray[Any]":
    """(layers, heads): one number a head, worked out once a capture."""
    from attnviz.detectors import head_grid as measure_heads

    return backend.get_derived(
        ask,
        ("grid", measure, stack),
        lambda cap: measure_heads(cap, measure, stack, rows=ROWS),
    )


def measure_similarity(ask: Ask, stack: str, layer: int, head: int) -> "Alike":
    """How far every head is from one of them, worked out once a capture."""
    from attnviz.detectors import alike as measure_all

    return backend.get_derived(
        ask, ("alike", stack, layer, head), lambda cap: measure_all(cap, layer, head, stack)
    )


def measure_shares(ask: Ask, stack: str) -> "HeadProfile":
    """The measures that go from 0 to 1, of every head, over some rows, once a capture."""
    from attnviz.detectors import profile as measure

    return backend.get_derived(
        ask, ("shares", stack), lambda cap: measure(cap, stack, measures=SHARES, rows=ROWS)
    )


def measure_profile(ask: Ask, stack: str, step: Step, rows: int | None = None) -> "HeadProfile":
    """Every measure of every head, worked out once a capture; over so many rows, evenly spread."""
    from attnviz.detectors import profile as measure

    return backend.get_derived(
        ask,
        profile_name(stack, rows),
        lambda cap: measure(cap, stack, rows=rows, progress=step),
    )


def profile_name(stack: str, rows: int | None) -> Hashable:
    """What the measures of every head are kept under."""
    return ("profile", stack, rows)


def make_maps(ask: Ask, stack: str, step: Step) -> "Thumbnails":
    """Small maps of every head, worked out once a capture."""
    from attnviz.detectors import thumbnails

    return backend.get_derived(
        ask, maps_name(stack), lambda cap: thumbnails(cap, stack, progress=step)
    )


def maps_name(stack: str) -> Hashable:
    """What the small maps are kept under."""
    return ("maps", stack)


def measure_repeated(ask: Ask, stack: str, step: Step) -> "HeadProfile":
    """The measures on repeated random tokens, made once a model."""
    from attnviz.detectors import profile as measure

    def make(model: "LoadedModel") -> "HeadProfile":
        return measure(repeated(model), stack, progress=step)

    with waiting.line() as told:
        return backend.store().probe(ask.model, ("repeated tokens", stack), make, told)
