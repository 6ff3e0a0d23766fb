"""Yardstick: what some rows allow for, whatever a head does: the same for all heads of one mask."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnviz.capture.row_chunks import BlockRows, even_weights
from attnviz.detectors.measures import Cells, HeadMeasure
from attnviz.heads.softmax import Array, Mask


@dataclass(frozen=True, eq=False)
class Targets:
    """What measures look for in some rows.

    Attributes:
        rows: (row,) positions of the queries.
        real: (row,) bool, False for padding.
        shares: of measures that add up the weights on some keys: "after", "met" and so on, which
            rows count.
        sought: (target, row, key) bool: the keys that each of these looks for, in rows that are
            real and may count; then the same of those that go by token, deal by deal.
        far: (row, key) the distance from query to key, in tokens.
    """

    rows: NDArray[np.int_]
    real: Mask
    shares: Sequence[str]
    sought: Mask
    far: Array

    @classmethod
    def of(
        cls,
        shares: Collection[HeadMeasure],
        cells: Cells,
        real: Mask,
        dealt: Sequence[NDArray[np.int_]],
    ) -> "Targets":
        deals = [Cells(cells.rows, ids[cells.rows], ids) for ids in dealt]
        asked = [(one, cells) for one in shares]
        asked += [(one, deal) for deal in deals for one in shares if one.by_token]
        sought = np.zeros((len(asked), len(cells.rows), len(cells.key_ids)), bool)
        for number, (one, tokens) in enumerate(asked):
            assert one.target is not None
            later = real & (cells.rows > 0) if one.counts == "after" else real
            np.logical_and(one.target(tokens), later[:, None], out=sought[number])
        counts = [one.counts for one in shares]
        return cls(cells.rows, real, counts, sought, cells.distance.astype(np.float32))


class Baselines:
    """What rows that may look at `allowed` (1 | head, row, key) can come to.

    Attributes:
        weights: (1 | head, row, key) even attention.
        attends: (1 | head, row) the rows that are real and attend to something.
        log_keys: (1 | head, row) the entropy of even attention.
        chooses: (1 | head, row) bool, True where there are several keys.
        met: (target, 1 | head, row) the rows that may look at what is sought.
        runs: (1 | head, row) the first key of each row and the one after its last, where each may
            look at one run of keys; None where one has a gap.
    """

    def __init__(self, allowed: Mask, targets: Targets) -> None:
        keys, self.weights = even_weights(allowed)
        self.attends = (keys > 0) & targets.real
        self.log_keys = np.log(np.maximum(keys, 1)).astype(np.float32)
        self.chooses = keys > 1
        sought = targets.sought[..., : allowed.shape[-1]]
        self.met = (sought[:, None] & allowed).any(axis=-1)
        self._pick(sought & allowed.any(axis=0))
        self._allowed, self._targets = allowed, targets
        self.runs = _runs(allowed, keys)

    def _pick(self, sought: Mask) -> None:
        """Note the places of the cells sought; targets that seek the same ones share them."""
        places = [np.flatnonzero(cells) for cells in sought]
        known: dict[bytes, int] = {}
        self._which = [known.setdefault(one.tobytes(), len(known)) for one in places]
        single = [places[self._which.index(number)] for number in range(len(known))]
        self._locator = np.concatenate([np.empty(0, np.int_), *single])
        self._sizes = np.array([len(one) for one in single], np.int_)

    def weighed(self, weights: Array) -> Array:
        """(target, head): the weights (head, row, key) on the cells sought, added up over rows."""
        found = np.zeros((len(self._sizes), len(weights)), np.float32)
        some = self._sizes > 0
        if some.any():
            picked = weights.reshape(len(weights), -1).take(self._locator, axis=1)
            starts = (np.cumsum(self._sizes) - self._sizes)[some]
            found[some] = np.add.reduceat(picked, starts, axis=1).T
        return found[self._which]

    @cached_property
    def even(self) -> Array:
        """(target, 1 | head): `weighed` of even attention."""
        return self.weighed(self.weights)

    @cached_property
    def reached(self) -> NDArray[np.int_]:
        """(target, 1 | head): how many rows may look at what is sought."""
        return self.met.sum(axis=-1)

    @cached_property
    def counted(self) -> NDArray[np.int_]:
        """(share, 1 | head): how many rows count."""
        after = (self.attends & (self._targets.rows > 0)).sum(axis=-1)
        kinds = enumerate(self._targets.shares)
        return np.array([after if k == "after" else self.reached[number] for number, k in kinds])

    def away(self, weights: Array) -> Array:
        """(head, row): the distance from query to key, weighted by (head, row, key) weights."""
        return np.einsum("hrk,rk->hr", weights, self._far)

    @cached_property
    def even_away(self) -> Array:
        return self.away(self.weights)

    @cached_property
    def farthest(self) -> Array:
        """(1 | head, row)"""
        return np.where(self._allowed, self._far, 0).max(axis=-1)

    @property
    def _far(self) -> Array:
        return self._targets.far[:, : self._allowed.shape[-1]]

    def even_norms(self, heads: BlockRows) -> Array:
        """(head, row): the length of what a head would add that spreads its rows evenly."""
        return heads.norms(heads.mix(self.weights))

    def longest(self, heads: BlockRows) -> Array:
        """(head, row): the length of the longest value that a row may look at."""
        lengths = heads.value_norms[:, None, : self._allowed.shape[-1]]
        return np.where(self._allowed, lengths, 0).max(axis=-1)


def _runs(
    allowed: Mask, keys: NDArray[np.int_]
) -> tuple[NDArray[np.int_], NDArray[np.int_]] | None:
    start = allowed.argmax(axis=-1)
    stop = allowed.shape[-1] - allowed[..., ::-1].argmax(axis=-1)
    stop = np.where(keys > 0, stop, start)
    return (start, stop) if (stop - start == keys).all() else None
