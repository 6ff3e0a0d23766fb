"""Measures of a head: what each counts, in which unit, and what its numbers stand against."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnviz.heads.softmax import Mask

if TYPE_CHECKING:
    from attnviz.capture.row_chunks import BlockRows
    from attnviz.detectors.baselines import Baselines, Rows

    OverRuns: TypeAlias = Callable[[BlockRows, NDArray[np.int_], NDArray[np.int_]], NDArray]


@dataclass(frozen=True)
class Cells:
    """Some rows of a matrix: where they stand, and which tokens its sides are.

    rows: (row,) positions of queries. query_ids: (row,). key_ids: (key,). All properties are
    (row, key).
    """

    rows: NDArray[np.int_]
    query_ids: NDArray[np.int_]
    key_ids: NDArray[np.int_]

    @property
    def _from(self) -> NDArray[np.int_]:
        return self.rows[:, None]

    @property
    def _to(self) -> NDArray[np.int_]:
        return np.arange(len(self.key_ids))[None, :]

    @property
    def first(self) -> Mask:
        return np.broadcast_to(self._to == 0, (len(self.rows), len(self.key_ids)))

    @property
    def previous(self) -> Mask:
        return self._to == self._from - 1

    @property
    def same(self) -> Mask:
        return (self.query_ids[:, None] == self.key_ids) & (self._to != self._from)

    @property
    def duplicate(self) -> Mask:
        return self.same & (self._to < self._from)

    @property
    def induction(self) -> Mask:
        before = np.concatenate([[-1], self.key_ids[:-1]])  # no token has the id -1
        return (self.query_ids[:, None] == before) & (self._to < self._from)

    @property
    def distance(self) -> NDArray[np.int_]:
        return np.abs(self._from - self._to)


@dataclass(frozen=True)
class RowNumbers:
    """A measure that is no share of weights: its number for each row, (1 | head, row) or one
    number for all.

    Attributes:
        values: of a head's own weights.
        even, ceiling: of even attention, and the largest possible. Layers with the same mask
            share them, unless they are `by_layer`.
        by_layer: they depend on a layer's values. The measure then applies where a head's output
            can be followed through the output projection.
        by_runs: (even, ceiling) of (heads, first key, the one after the last), for rows that may
            look at one run of keys; all rows of a layer at once. Without it, `even` and `ceiling`
            are asked for a few rows at a time.
    """

    values: Callable[["Rows"], NDArray]
    even: Callable[["Baselines", "BlockRows"], NDArray | float]
    ceiling: Callable[["Baselines", "BlockRows"], NDArray | float]
    by_layer: bool = False
    by_runs: tuple["OverRuns", "OverRuns"] | None = None


@dataclass(frozen=True)
class HeadMeasure:
    """One number for a head on a text: a mean over query rows.

    Attributes:
        title, definition: in words.
        unit: of the number.
        ceiling, null: in words, what the largest possible number on a text is, and what a head
            that does nothing of the kind would have.
        counts: which rows count: "all", those "after" the first, those of "several" keys, or, of
            a share, those with a key that is "met" by the definition.
        target: (row, key) bool, the keys whose weights are added up; None where the measure is no
            such share of a row, and has `numbers` instead.
        square: it needs queries and keys to be the same tokens.
        by_token: it depends on which tokens are equal, so that permuting them is a null; of
            shares.
        low, high: the ends of its range; high is None where it depends on text and model.
        falls: smaller numbers stand out, not larger ones.
    """

    title: str
    definition: str
    unit: str
    ceiling: str
    null: str
    counts: Literal["all", "after", "several", "met"]
    target: Callable[[Cells], Mask] | None = None
    numbers: RowNumbers | None = None
    square: bool = False
    by_token: bool = False
    low: float = 0.0
    high: float | None = 1.0
    falls: bool = False


_SHARE = "share of a row's weight, 0 to 1"
_EVEN = "Even attention: what a head would have that spreads each row evenly over its keys."
_PERMUTED = (
    "The larger of two. Even attention; and the head's own weights with the tokens permuted over "
    "their positions, so that only a habit of position is left."
)
_MET = "1: only rows count in which such a key may be looked at."

HEAD_MEASURES = {
    "focus": HeadMeasure(
        "Focus",
        "How far a row is from even: 1 minus its entropy as a part of the entropy of an even row. "
        "0 is even, 1 is all on one token. Rows of one key do not count.",
        "none, 0 to 1",
        "1: all of each row on one key.",
        "0: even attention has none.",
        "several",
        numbers=RowNumbers(
            values=lambda rows: 1 - rows.entropy / rows.base.log_keys_or_1,
            even=lambda base, heads: 0.0,
            ceiling=lambda base, heads: 1.0,
        ),
    ),
    "first_token": HeadMeasure(
        "First token",
        "The weight on the first token, over all later queries. Many heads rest there: the token "
        "is an attention sink.",
        _SHARE,
        "The share of later queries that may look at the first token.",
        _EVEN,
        "after",
        lambda cells: cells.first,
    ),
    "previous_token": HeadMeasure(
        "Previous token",
        "The weight on the token just before the query.",
        _SHARE,
        "The share of later queries that may look at the token before them.",
        _EVEN,
        "after",
        lambda cells: cells.previous,
        square=True,
    ),
    "same_token": HeadMeasure(
        "Same token",
        "The weight on other places of the query's own token, before it or after it, over queries "
        "whose token occurs at another place they may look at. In a decoder, the same as Duplicate "
        "token.",
        _SHARE,
        _MET,
        _PERMUTED,
        "met",
        lambda cells: cells.same,
        square=True,
        by_token=True,
    ),
    "duplicate_token": HeadMeasure(
        "Duplicate token",
        "The weight on earlier places of the query's own token, the query itself left out, over "
        "queries whose token occurred before.",
        _SHARE,
        _MET,
        _PERMUTED,
        "met",
        lambda cells: cells.duplicate,
        square=True,
        by_token=True,
    ),
    "induction": HeadMeasure(
        "Induction",
        "The weight on tokens that came right after an earlier place of the query's own token, "
        "the query itself left out, over queries that have such a token.",
        _SHARE,
        _MET,
        _PERMUTED,
        "met",
        lambda cells: cells.induction,
        square=True,
        by_token=True,
    ),
    "entropy": HeadMeasure(
        "Entropy",
        "How spread out a row is: minus the sum of w ln w over its weights. 0 is all on one "
        "token. Weight that goes to no token, where a model has such a sink, is left out.",
        "nats",
        "Even attention: ln of the number of keys, mean over the rows.",
        "The same as the ceiling, so it is small numbers that stand out.",
        "all",
        numbers=RowNumbers(
            values=lambda rows: rows.entropy,
            even=lambda base, heads: base.log_keys,
            ceiling=lambda base, heads: base.log_keys,
        ),
        high=None,
        falls=True,
    ),
    "distance": HeadMeasure(
        "Mean distance",
        "How far away a row looks: the distance from query to key, weighted by the weights.",
        "tokens",
        "All of each row on the farthest key that it may look at.",
        _EVEN,
        "all",
        numbers=RowNumbers(
            values=lambda rows: rows.base.mean_distance(rows.chunk.weights),
            even=lambda base, heads: base.mean_distance(base.weights),
            ceiling=lambda base, heads: np.where(base.allowed, base.distance, 0).max(axis=-1),
        ),
        square=True,
        high=None,
    ),
    "output_norm": HeadMeasure(
        "Output norm",
        "The length of what the head adds to the residual stream: weights times values, through "
        "the head's part of the output projection, its bias left out.",
        "length in the residual stream, the model's own scale",
        "All of each row on the key whose value is longest after the output projection.",
        "Even attention: the length of the mean value, after the output projection.",
        "all",
        numbers=RowNumbers(
            values=lambda rows: rows.heads.norms(rows.output),
            even=lambda base, heads: heads.norms(heads.mix(base.weights)),
            ceiling=lambda base, heads: base.largest(heads.value_norms),
            by_layer=True,
            by_runs=(
                lambda heads, start, stop: heads.norms(heads.means(start, stop)),
                lambda heads, start, stop: heads.longest(start, stop),
            ),
        ),
        high=None,
    ),
}
"""Measures by name; another one is one more entry. Each is a mean over the query rows that count:
those that attend to something, are no padding, and that the definition applies to.

Sources: Olsson et al. 2022, "In-context Learning and Induction Heads" (previous-token, induction);
Wang et al. 2022, "Interpretability in the Wild" (duplicate-token); Xiao et al. 2023, "Efficient
Streaming Language Models with Attention Sinks"; Clark et al. 2019, "What Does BERT Look At?"
(entropy); Kobayashi et al. 2020, "Attention is Not Only a Weight" (norms)."""

SHARES = tuple(name for name, measure in HEAD_MEASURES.items() if measure.high == 1)
"""The measures that go from 0 to 1 on any text."""
