"""How far apart the rows of two sides are. Of a long text that takes seconds, and is kept."""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from attnviz.heads.comparison import even_distances, row_distances
from attnviz.progress import Step, ignore_step
from dashboard.compare.sides import Side
from dashboard.session import backend, slow_results

if TYPE_CHECKING:
    from attnviz.heads.comparison import RowDistances


def distances(a: Side, b: Side) -> "RowDistances":
    """Of each row of A from that of B."""
    name = ("distances", _place(a), b.ask, _place(b))
    return _kept(a, name, lambda step: row_distances(a.head, b.head, progress=step))


def even(side: Side) -> "RowDistances":
    """Of each row from even attention."""
    return _kept(
        side, ("even", _place(side)), lambda step: even_distances(side.head, progress=step)
    )


def _place(side: Side) -> Hashable:
    return (side.selection.stack, *side.at)


def _kept(side: Side, name: Hashable, make: Callable[[Step], "RowDistances"]) -> "RowDistances":
    if len(side.head.allowed) <= backend.MAX_TOKENS:
        return make(ignore_step)
    with slow_results.draw_bar("Comparing every row") as step:
        return backend.get_comparison(side.ask, name, lambda: make(step))
