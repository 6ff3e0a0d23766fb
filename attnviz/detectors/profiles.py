"""Profile: every measure of every head of a stack, in one pass, with nulls and ceilings."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnviz.capture.row_chunks import split_rows
from attnviz.detectors.measures import HEAD_MEASURES
from attnviz.detectors.row_sums import Lengths, Look, Sums
from attnviz.errors import BadInput
from attnviz.heads.softmax import Array
from attnviz.progress import Step

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.capture.result import Capture

HALFWAY = 0.5
Grids = Mapping[str, NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class HeadProfile:
    """Every measure of every head of a stack on one text.

    Grids are {measure: (layer, head) float32}; rows are the model's own layers from 0. NaN where a
    layer has no attention or fewer heads, where no query counts, and where a measure does not
    apply.

    Attributes:
        stack: "decoder", "encoder" or "cross".
        values: the measures.
        even: the same of a head that spreads each row evenly over the keys it may look at.
        permuted: the same with the head's own weights and the tokens permuted over their positions,
            mean over `PERMUTATIONS` of them; of measures that go by token.
        ceilings: the largest number possible on this text.
        counted: how many query rows count.
    """

    stack: str
    values: Grids
    even: Grids
    permuted: Grids
    ceilings: Grids
    counted: Grids

    def null(self, name: str) -> NDArray[np.floating]:
        """(layer, head): what a measure is to be held against, the larger of its nulls."""
        if name not in self.permuted:
            return self.even[name]
        return np.fmax(self.even[name], self.permuted[name])

    def rise(self, name: str) -> NDArray[np.floating]:
        """(layer, head): how far a head is on the way from the null, 0, to the ceiling, 1; below 0
        under the null. For entropy, from even attention, 0, down to all on one key, 1."""
        falls = HEAD_MEASURES[name].falls
        return measure_rise(self.values[name], self.null(name), self.ceilings[name], falls=falls)

    def found(self, name: str) -> list[tuple[int, int]]:
        """The (layer, head) that are more than half way from the null to the ceiling, the
        farthest first: those that a measure may be said to have found."""
        return find_beyond_half(self.rise(name))

    def table(self) -> "pd.DataFrame":
        """A row a head: layer, head, then every measure."""
        shown = np.argwhere(np.isfinite(np.stack(list(self.values.values()))).any(axis=0))
        columns: dict[str, NDArray] = {"layer": shown[:, 0], "head": shown[:, 1]}
        columns |= {name: grid[tuple(shown.T)] for name, grid in self.values.items()}
        return pd.DataFrame(columns)


def measure_rise(
    values: NDArray, null: NDArray, ceilings: NDArray, *, falls: bool = False
) -> NDArray[np.floating]:
    """How far numbers are on the way from the null, 0, to the ceiling, 1; of a measure that falls,
    from the null down to 0. NaN where there is no way to go."""
    way = (0 if falls else ceilings) - null
    return (values - null) / np.where(way == 0, np.nan, way)


def find_beyond_half(shares: NDArray) -> list[tuple[int, int]]:
    """The (layer, head) that are more than half way, the farthest first."""
    places = [(int(layer), int(head)) for layer, head in np.argwhere(shares > HALFWAY)]
    return sorted(places, key=lambda place: -shares[place])


def profile(
    capture: "Capture",
    stack: str | None = None,
    *,
    measures: Collection[str] = tuple(HEAD_MEASURES),
    rows: int | None = None,
    look: Look | None = None,
    lengths: Lengths | None = None,
    progress: Step | None = None,
) -> HeadProfile:
    """Measures of every head of a stack, all of them unless told otherwise.

    Weights are made for a few rows of all heads of a layer at a time and let go: what is held
    does not grow with the square of the text.

    Args:
        stack: "decoder", "encoder" or "cross"; as for `Capture.head`.
        measures: names of `HEAD_MEASURES`.
        rows: look at no more query rows than this, evenly spread; all by default.
        look: called with each piece of rows while it is there, for what else is to be known of it.
        lengths: a dict that is filled by the first text of a model, and spares the others work;
            none of the weights may change meanwhile.
        progress: called with (done, total) after each layer of each piece.

    Raises:
        BadInput: no such measure or stack.

    >>> import attnviz
    >>> model = attnviz.load("planted-circuit")
    >>> found = profile(attnviz.capture(model, "red fox ran home red fox ran home"))
    >>> found.found("induction"), round(float(found.values["induction"][1, 0]), 2)
    ([(1, 0)], 1.0)
    """
    for name in measures:
        if name not in HEAD_MEASURES:
            raise BadInput(
                what=f"There is no head measure {name!r}.",
                todo=f"Choose one of {', '.join(HEAD_MEASURES)}.",
            )
    sums = Sums(capture, stack, measures, look, lengths)
    picked = _spread(sums.queries, rows)
    pieces = list(split_rows(len(picked), sums.most_heads, len(sums.key_ids)))
    steps = chain.from_iterable(sums.take(picked[piece]) for piece in pieces)
    for done, _ in enumerate(steps, start=1):
        if progress:
            progress(done, len(pieces) * len(sums.heads))
    sums.finish()
    permuted = sums.means("permuted", "permuted_counted")
    return HeadProfile(
        stack=sums.stack,
        values=sums.means("values"),
        even=sums.means("even"),
        permuted={name: permuted[name] for name in sums.by_token},
        ceilings=sums.means("ceilings"),
        counted=sums.grids("counted"),
    )


def head_grid(
    capture: "Capture", measure: str = "focus", stack: str | None = None, *, rows: int | None = 64
) -> Array:
    """(layer, head) float32: one measure for every head of a stack.

    Rows are the model's own layers from 0; NaN where a layer has no attention or fewer heads, or
    where no query counts. At most `rows` query rows are looked at, evenly spread over the text.

    Raises:
        BadInput: no such measure or stack.
    """
    return profile(capture, stack, measures=[measure], rows=rows).values[measure]


def _spread(count: int, most: int | None) -> NDArray[np.int_]:
    return np.linspace(0, count - 1, min(most or count, count)).round().astype(int)
