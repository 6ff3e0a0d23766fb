"""Marks that a product of queries and keys, one softmax or two leave in a matrix.

A head of size d makes scores of rank d at most. Softmax takes one number from each row of them,
so the logarithms of its weights, less their row means, have rank d at most as well. The mean of
several heads' weights has no such bound.
"""

from dataclasses import dataclass
from math import erfc, sqrt
from typing import Literal

import numpy as np

from attnviz.matrix_check.facts import Facts
from attnviz.matrix_check.mask_shape import Cells
from attnviz.matrix_check.precision import FLOAT32
from attnviz.matrix_check.verdict import Matrix

MAX_SIDE = 512  # of the block whose rank is taken
_SPARE = 3  # singular values that must be nothing before a rank counts as low
_GAP = 300.0  # how far the last of the rest must stand above the first that is nothing


@dataclass(frozen=True)
class Rank:
    """The rank of a block, as far as the precision of its numbers shows it.

    "low": a clear drop to nothing after `rank`. "full": none. "unclear": too small, too coarse or
    without a clear drop.
    """

    rank: int
    most: int
    side: tuple[int, int]
    verdict: Literal["low", "full", "unclear"]


def rank_of_scores(facts: Facts, zeros_are_masked: bool = False) -> Rank:
    """The rank of the largest block of scores without a masked cell."""
    masked = facts.mask.cells | facts.zeros if zeros_are_masked else facts.mask.cells
    block, error = _unmasked_block(facts, masked)
    noise = error + 4 * FLOAT32 * np.abs(block).max(initial=0)
    return _measure_rank(block, noise, min(block.shape))


def rank_of_logs(facts: Facts) -> Rank:
    """The rank of the logarithms of weights, less their row means, in a block without zeros."""
    block, error = _unmasked_block(facts, facts.mask.cells | facts.zeros)
    if not block.size or (block <= 0).any():
        return Rank(0, 0, (0, 0), "unclear")
    logs = np.log(block)
    noise = error / block + 4 * FLOAT32 * (1 + np.abs(logs))
    logs = logs - logs.mean(axis=1, keepdims=True)
    return _measure_rank(logs, noise, min(len(logs), logs.shape[1] - 1))


def _unmasked_block(facts: Facts, masked: Cells) -> tuple[Matrix, Matrix]:
    """All rows and columns that have no masked cell, or the lower left square of a triangle."""
    queries, keys = facts.x.shape
    rows, columns = ~masked.all(axis=1), ~masked.all(axis=0)
    part = masked[np.ix_(rows, columns)]
    if part.any():  # the later half of the queries sees the earlier half of the keys
        half = queries // 2 + queries % 2
        rows &= np.arange(queries) >= half - 1
        columns &= np.arange(keys) < half + max(keys - queries, 0)
        part = masked[np.ix_(rows, columns)]
    if part.any():
        return np.zeros((0, 0)), np.zeros((0, 0))
    chosen = np.ix_(np.flatnonzero(rows)[:MAX_SIDE], np.flatnonzero(columns)[:MAX_SIDE])
    return facts.x[chosen], facts.error[chosen]


def _measure_rank(block: Matrix, noise: Matrix, most: int) -> Rank:
    side = (block.shape[0], block.shape[1])
    if most < 1:
        return Rank(0, most, side, "unclear")
    largest = float(np.abs(block).max())
    if not 0 < largest < np.inf:
        return Rank(0, most, side, "unclear")
    block, noise = block / largest, noise / largest
    sizes = np.linalg.svd(block, compute_uv=False)[:most]
    # The largest singular value of noise of this size, with room to spare.
    floor = 3 * sqrt(float((noise**2).mean())) * (sqrt(side[0]) + sqrt(side[1]))
    rank = int((sizes > floor).sum())
    if rank == most:
        return Rank(rank, most, side, "full" if sizes[-1] > 10 * floor else "unclear")
    clear = rank > 0 and sizes[rank - 1] > _GAP * max(float(sizes[rank]), floor / 30)
    low = clear and most - rank >= _SPARE
    return Rank(rank, most, side, "low" if low else "unclear")


@dataclass(frozen=True)
class UndoneSoftmax:
    """What weights were before a second softmax, if they are the softmax of weights.

    log10_chance: of a row of ordinary scores of the same spread to look like this by accident,
    over all rows. recovered: (query, key), the weights before the second softmax.
    """

    log10_chance: float
    recovered: Matrix


def undo_softmax(facts: Facts) -> UndoneSoftmax | None:
    """Undo one softmax: add to each row of logarithms the number that makes it add up to 1. If
    all that comes out lies between 0 and 1, the row can be the softmax of a row of weights; None
    if it cannot."""
    visible = facts.unmasked & ~_masking_zeros(facts)
    if (facts.x[visible] <= 0).any() or not visible.any(axis=1).all():
        return None
    shares = np.where(visible, facts.x, 1.0)
    logs = np.log(shares)
    rows = logs + ((1 - logs.sum(axis=1)) / visible.sum(axis=1))[:, None]
    recovered = np.where(visible, rows, 0.0)
    slack = np.where(visible, facts.error / shares + 2e-6, 0.0)
    if not ((recovered >= -slack) & (recovered <= 1 + slack)).all():
        return None
    return UndoneSoftmax(_log10_chance(logs, visible, slack), recovered)


def _masking_zeros(facts: Facts) -> Cells:
    """Zero cells that a mask explains; any other zero is a weight of 0."""
    pattern = facts.zero_pattern
    return facts.zeros if pattern.structured else np.zeros_like(facts.zeros)


def _log10_chance(logs: Matrix, visible: Cells, slack: Matrix) -> float:
    """log10 of the chance that normal scores with each row's spread lie that close together: none
    of k further below their mean than 1/k. Rows are counted as if they were independent."""
    total = 0.0
    for row, shown, off in zip(logs, visible, slack, strict=True):
        values = row[shown]
        if len(values) < 2:
            continue
        spread = float(values.std(ddof=1))
        if spread == 0:
            continue
        reach = (1 / len(values) + float(off[shown].max())) / spread
        total += len(values) * np.log10(0.5 * erfc(-reach / sqrt(2)))
    return float(total)


def is_uniform(facts: Facts) -> bool:
    """Every row gives each key that a mask leaves it the same weight, and one row has two."""
    visible = facts.unmasked & ~_masking_zeros(facts)
    counts = visible.sum(axis=1)
    even = np.where(counts > 0, facts.sums / np.maximum(counts, 1), 0.0)
    close = np.abs(facts.x - even[:, None]) <= 2 * FLOAT32 * 4 * np.abs(facts.x) + 1e-12
    return bool(close[visible].all() and (counts > 1).any())


def is_uniform_when_rounded(facts: Facts) -> bool:
    """A uniform row, rounded, can look like each of these rows."""
    visible = facts.unmasked & ~_masking_zeros(facts)
    even = 1 / np.maximum(visible.sum(axis=1), 1)
    close = np.abs(facts.x - even[:, None]) <= facts.error + 1e-12
    return bool(close[visible].all() and (visible.sum(axis=1) > 1).any())
