"""Baselines: what some rows allow for, whatever a head does: the same for all heads of one mask."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnviz.capture.row_chunks import BlockRows, RowChunk, even_weights
from attnviz.heads.softmax import Array, Mask


@dataclass(frozen=True, eq=False)
class Targets:
    """What shares look for in some rows.

    Attributes:
        rows: (row,) positions of the queries.
        real: (row,) bool, False for padding.
        counts: of each share, which rows count: "after", "met" and so on.
        sought: (target, row, key) bool: the keys that each share looks for, in rows that are real
            and may count; then the same of shares that go by token, permutation by permutation.
        distance: (row, key) from query to key, in tokens.
    """

    rows: NDArray[np.int_]
    real: Mask
    counts: Sequence[str]
    sought: Mask
    distance: Array


class Baselines:
    """What rows that may look at `allowed` (1 | head, row, key) can come to.

    Attributes:
        weights: (1 | head, row, key) even attention.
        attends: (1 | head, row) the rows that are real and attend to something.
        log_keys: (1 | head, row) the entropy of even attention.
        chooses: (1 | head, row) bool, True where there are several keys.
        distance: (row, key) from query to key, in tokens.
        met: (target, 1 | head, row) the rows that may look at what is sought.
        runs: (1 | head, row) the first key of each row and the one after its last, where each may
            look at one run of keys; None where one has a gap.
    """

    def __init__(self, allowed: Mask, targets: Targets) -> None:
        keys, self.weights = even_weights(allowed)  # (1 | head, row), (1 | head, row, key)
        self.allowed, self._targets = allowed, targets
        self.attends = (keys > 0) & targets.real
        self.log_keys = np.log(np.maximum(keys, 1)).astype(np.float32)
        self.chooses = keys > 1
        self.distance = targets.distance[:, : allowed.shape[-1]]
        sought = targets.sought[..., : allowed.shape[-1]]
        self.met = (sought[:, None] & allowed).any(axis=-1)
        self._note_places(sought & allowed.any(axis=0))
        self.runs = _find_runs(allowed, keys)

    def _note_places(self, sought: Mask) -> None:
        """Keep the places of the cells sought; targets that seek the same cells share them."""
        places = [np.flatnonzero(cells) for cells in sought]  # each in a flat (row, key)
        known: dict[bytes, int] = {}
        self._which = [known.setdefault(one.tobytes(), len(known)) for one in places]
        single = [places[self._which.index(number)] for number in range(len(known))]
        self._places = np.concatenate([np.empty(0, np.int_), *single])
        self._sizes = np.array([len(one) for one in single], np.int_)

    def sum_sought(self, weights: Array) -> Array:
        """(target, head): the weights (head, row, key) on the cells sought, added up over rows."""
        found = np.zeros((len(self._sizes), len(weights)), np.float32)
        some = self._sizes > 0
        if some.any():
            picked = weights.reshape(len(weights), -1).take(self._places, axis=1)  # (head, cell)
            starts = (np.cumsum(self._sizes) - self._sizes)[some]
            found[some] = np.add.reduceat(picked, starts, axis=1).T
        return found[self._which]

    @property
    def log_keys_or_1(self) -> Array:
        """(1 | head, row): `log_keys` where there are several keys, to divide by."""
        return np.where(self.chooses, self.log_keys, 1)

    @cached_property
    def reached(self) -> NDArray[np.int_]:
        """(target, 1 | head): how many rows may look at what is sought."""
        return self.met.sum(axis=-1)

    @cached_property
    def counted(self) -> NDArray[np.int_]:
        """(share, 1 | head): how many rows count."""
        after = self.counting("after").sum(axis=-1)
        kinds = enumerate(self._targets.counts)
        return np.array([after if k == "after" else self.reached[number] for number, k in kinds])

    def counting(self, counts: str) -> Mask:
        """(1 | head, row): the rows that count, by `HeadMeasure.counts`."""
        if counts == "several":
            return self.attends & self.chooses
        return self.attends & (self._targets.rows > 0) if counts == "after" else self.attends

    def mean_distance(self, weights: Array) -> Array:
        """(head, row): the distance from query to key, weighted by (head, row, key) weights."""
        return np.einsum("hrk,rk->hr", weights, self.distance)

    def largest(self, numbers: Array) -> Array:
        """(head, row): the largest of the numbers, (head, key), of keys that a row may look at."""
        numbers = numbers[:, None, : self.allowed.shape[-1]]  # (head, 1, key)
        return np.where(self.allowed, numbers, 0).max(axis=-1)


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of every head of a block, as a measure takes them."""

    heads: BlockRows
    chunk: RowChunk
    base: Baselines

    @property
    def output(self) -> Array:
        """(head, row, d_v)"""
        assert self.chunk.output is not None
        return self.chunk.output

    @cached_property
    def entropy(self) -> Array:
        """(head, row), in nats, of what goes to tokens: a sink's share is no token's."""
        weights = self.chunk.weights
        logs = weights + np.finfo(np.float32).tiny  # 0 ln 0 is 0
        np.log(logs, out=logs)
        total = weights.sum(axis=-1)
        whole = np.where(total > 0, total, np.float32(1))
        # the entropy of w / t is ln t - (sum of w ln w) / t
        return np.log(whole) - np.einsum("hrk,hrk->hr", weights, logs) / whole


def _find_runs(
    allowed: Mask, keys: NDArray[np.int_]
) -> tuple[NDArray[np.int_], NDArray[np.int_]] | None:
    start = allowed.argmax(axis=-1)  # (1 | head, row)
    stop = allowed.shape[-1] - allowed[..., ::-1].argmax(axis=-1)
    stop = np.where(keys > 0, stop, start)
    return (start, stop) if (stop - start == keys).all() else None
