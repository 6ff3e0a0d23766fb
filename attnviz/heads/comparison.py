"""Two heads side by side: whether their axes are the same tokens, their difference, how far apart
their rows are.

A difference is worked out cell by cell, so both sides have to mean the same by a cell: the same
query, the same key. Where they do not, there is no difference, only the reason why.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from attnviz.errors import BadInput
from attnviz.heads.distances import Numbers, row_divergences
from attnviz.heads.softmax import Mask
from attnviz.progress import Step

if TYPE_CHECKING:
    from attnviz.heads.head import Head
    from attnviz.tokens import Token

_Axis: TypeAlias = "Sequence[Token] | int"

QUANTITIES = {
    "weights": "weights, 0 to 1",
    "scores": "scores as softmax receives them, unit-less",
    "relative": "scores less the largest of their row, unit-less, 0 or less",
}
"""What of two heads can be compared. Softmax sees only differences within a row, so the level of a
row of scores means nothing, and "relative" takes it away."""


def why_apart(a: "Head", b: "Head") -> str:
    """Why two heads have no difference, in words; empty where they have one.

    >>> from attnviz.heads.head import Head
    >>> short, long = (Head(q=np.eye(n), k=np.eye(n), v=None) for n in (2, 3))
    >>> why_apart(short, long)
    'A has 2 tokens and B has 3.'
    >>> why_apart(short, short)
    ''
    """
    axes = _axes(a, b)
    if axes["query"] == axes["key"]:  # a text that looks at itself, on both sides
        return _apart("tokens", *axes["query"])
    found = [_apart("queries", *axes["query"]), _apart("keys", *axes["key"])]
    return " ".join(reason for reason in found if reason)


def same_queries(a: "Head", b: "Head") -> bool:
    """Whether the rows of two heads are the same tokens."""
    return not _apart("queries", *_axes(a, b)["query"])


def same_keys(a: "Head", b: "Head") -> bool:
    """Whether the columns of two heads are the same tokens."""
    return not _apart("keys", *_axes(a, b)["key"])


def quantity(head: "Head", of: str) -> Numbers:
    """(query, key): what is compared of a head, a name in `QUANTITIES`; -inf where masked, NaN
    where undefined.

    Raises:
        BadInput: no such quantity.
    """
    if of not in QUANTITIES:
        raise BadInput(
            what=f"There is no quantity {of!r} to compare.",
            todo=f"Choose one of {', '.join(QUANTITIES)}.",
        )
    values = np.asarray(head.weights if of == "weights" else head.scores, np.float64)
    values = np.where(head.allowed, values, -np.inf)
    if of != "relative":
        return values
    largest = np.fmax.reduce(values, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # a row with nothing in it
        return np.where(head.allowed, values - largest, -np.inf)


@dataclass(frozen=True, eq=False)
class Difference:
    """B minus A, cell by cell.

    Attributes:
        values: (query, key) float64; 0 where not shown, NaN where either side is undefined.
        shown: (query, key) bool; False where either side is masked.
    """

    values: Numbers
    shown: Mask

    @property
    def undefined(self) -> int:
        """How many cells shown have no number."""
        return int((self.shown & ~np.isfinite(self.values)).sum())

    @property
    def largest(self) -> tuple[int, int] | None:
        """(query, key) of the largest difference by size; None where none is defined but 0."""
        sizes = np.where(np.isfinite(self.values), np.abs(self.values), 0)
        if not sizes.size or sizes.max() == 0:
            return None
        query, key = np.unravel_index(int(sizes.argmax()), sizes.shape)
        return int(query), int(key)


def difference(a: "Head", b: "Head", of: str = "weights") -> Difference:
    """B minus A where both axes are the same tokens and neither side is masked.

    Args:
        of: a name in `QUANTITIES`.

    Raises:
        BadInput: the axes are not the same tokens, or there is no such quantity.

    >>> from attnviz.heads.head import Head
    >>> a, b = (Head(q=[[0], [x]], k=[[1], [0]], v=None, scaling=1.0) for x in (0, 2))
    >>> difference(a, b, "scores").values.tolist()
    [[0.0, 0.0], [2.0, 0.0]]
    """
    reason = why_apart(a, b)
    if reason:
        raise BadInput(
            what="These two heads have no difference.",
            why=reason,
            todo="Compare two heads of one text that is cut into the same tokens.",
        )
    first, second = quantity(a, of), quantity(b, of)
    shown = a.allowed & b.allowed
    with np.errstate(invalid="ignore"):  # masked in both
        return Difference(np.where(shown, second - first, 0.0), shown)


@dataclass(frozen=True, eq=False)
class RowDistances:
    """How far apart two heads' rows of weights are, as distributions over keys.

    What a model gives to no token (its sink) is one more place. NaN in a row in which either side
    attends to nothing or is undefined.

    Attributes:
        total_variation: (query,) half the summed size of the differences, 0 to 1.
        jensen_shannon: (query,) in nats, 0 to ln 2 = 0.693.
    """

    total_variation: Numbers
    jensen_shannon: Numbers

    @property
    def counted(self) -> int:
        """How many rows have a distance."""
        return int(np.isfinite(self.total_variation).sum())

    @property
    def means(self) -> tuple[float, float]:
        """The mean of each over the rows that have one; NaN where none has."""
        both = (self.total_variation, self.jensen_shannon)
        total, nats = (float(np.nanmean(x)) if self.counted else float("nan") for x in both)
        return total, nats


def row_distances(a: "Head", b: "Head", *, progress: Step | None = None) -> RowDistances:
    """The distances of two heads with as many rows and the same keys, row by row.

    Raises:
        BadInput: the keys are not the same tokens, or the numbers of rows differ.

    >>> from attnviz.heads.head import Head
    >>> a, b = (Head(q=[[x]], k=[[1], [0]], v=None, scaling=1.0) for x in (0, np.log(4)))
    >>> row_distances(a, b).total_variation.round(6).tolist()  # (0.5, 0.5) and (0.8, 0.2)
    [0.3]
    """
    if not same_keys(a, b) or len(a.allowed) != len(b.allowed):
        raise BadInput(
            what="These rows cannot be compared.",
            why="A row is a distribution over its keys, and these have different ones.",
            todo="Compare two heads that look at the same tokens.",
        )
    parts = zip(a.in_rows(), b.in_rows(), strict=True)
    return _join(parts, _distances, len(a.allowed), progress)


def _distances(a: "Head", b: "Head") -> RowDistances:
    total, nats = row_divergences(*(np.column_stack([head.weights, head.sink]) for head in (a, b)))
    counts = a.attends & b.attends
    return RowDistances(np.where(counts, total, np.nan), np.where(counts, nats, np.nan))


def _join(
    parts: "Iterable[tuple[Head, ...]]",
    measure: Callable[..., RowDistances],
    count: int,
    progress: Step | None,
) -> RowDistances:
    """The distances of each part, one after the other."""
    found, done = [], 0
    for part in parts:
        found.append(measure(*part))
        done += len(part[0].allowed)
        if progress:
            progress(done, count)
    return RowDistances(
        np.concatenate([one.total_variation for one in found]),
        np.concatenate([one.jensen_shannon for one in found]),
    )


def even_distances(head: "Head", *, progress: Step | None = None) -> RowDistances:
    """How far each row is from even attention, which spreads it over the keys that it may look at:
    what any head is to be held against. A sink's share is weight that even attention does not
    give away.

    >>> from attnviz.heads.head import Head
    >>> head = Head(q=[[0], [9]], k=[[9], [0]], v=None, scaling=1.0)
    >>> even_distances(head).total_variation.round(6).tolist()
    [0.0, 0.5]
    """
    parts = ((part,) for part in head.in_rows())
    return _join(parts, _even_distances, len(head.allowed), progress)


def _even_distances(head: "Head") -> RowDistances:
    even = head.allowed / np.maximum(head.allowed.sum(axis=1, keepdims=True), 1)
    nothing = np.zeros(len(even))
    total, nats = row_divergences(
        np.column_stack([head.weights, head.sink]), np.column_stack([even, nothing])
    )
    return RowDistances(*(np.where(head.attends, far, np.nan) for far in (total, nats)))


def _axes(a: "Head", b: "Head") -> dict[str, tuple[_Axis, _Axis]]:
    """{"query" | "key": (A's tokens, B's)}, or how many there are where a head has no tokens."""
    named = all(head.query_tokens and head.key_tokens for head in (a, b))
    sides = [
        (head.query_tokens, head.key_tokens) if named else head.allowed.shape for head in (a, b)
    ]
    return {"query": (sides[0][0], sides[1][0]), "key": (sides[0][1], sides[1][1])}


def _apart(noun: str, one: _Axis, other: _Axis) -> str:
    """What tells two axes apart, in words; empty where nothing does."""
    first, second = (axis if isinstance(axis, int) else len(axis) for axis in (one, other))
    if first != second:
        return f"A has {first:,} {noun} and B has {second:,}."
    if isinstance(one, int) or isinstance(other, int):
        return ""
    place = _first_apart(one, other)
    if place is None:
        return ""
    return (
        f'The {noun} part at position {place}: A has "{one[place].label}" and B has '
        f'"{other[place].label}".'
    )


def _first_apart(one: Sequence["Token"], other: Sequence["Token"]) -> int | None:
    """The first place at which two axes of one length hold different tokens."""
    for place, (first, second) in enumerate(zip(one, other, strict=True)):
        if (first.text, first.label, first.special) != (second.text, second.label, second.special):
            return place
    return None
