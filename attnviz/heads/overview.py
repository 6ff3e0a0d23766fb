"""Overview: a head from afar, for texts whose cells are too many to be drawn one by one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnviz.heads.softmax import Array

if TYPE_CHECKING:
    from attnviz.heads.head import Head

BLOCKS = 128
"""Blocks along the longer side, at most."""
LARGEST = 20
"""Cells listed."""


@dataclass(frozen=True)
class Cell:
    """One cell of a head: query and key are positions in the text."""

    query: int
    key: int
    weight: float


@dataclass(frozen=True, eq=False)
class Overview:
    """The largest weight in each block of cells, and the largest cells of all.

    Attributes:
        weights: (block of queries, block of keys) float32, 0 to 1: the largest weight among the
            block's cells; NaN where all of them are masked.
        step: queries, and keys, that a block spans; the last blocks may span fewer.
        queries, keys: the cells that the head has each way.
        cells: the largest weights, the largest first; the first key's are left out, where many
            heads rest.
    """

    weights: Array
    step: int
    queries: int
    keys: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, eq=False)
class Thumbnails:
    """Small maps of all heads of a stack.

    Attributes:
        cells: (layer, head, y, x) float16, the largest weight of each block of tokens, 0 to 1;
            NaN where all of a block is masked, and for heads that there are not.
        block: how many tokens a pixel stands for, along either side. 1: each is one weight.
    """

    cells: NDArray[np.float16]
    block: int


def overview(
    head: "Head", *, blocks: int = BLOCKS, tell: Callable[[float], None] | None = None
) -> Overview:
    """A head seen from afar, worked out some rows at a time and never held as a whole.

    Args:
        head: the head.
        blocks: blocks along the longer side, at most.
        tell: hears how far the work is, 0 to 1.

    >>> from attnviz.heads.head import Head
    >>> head = Head(q=[[0], [2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0, allowed=[[1, 0], [1, 1]])
    >>> overview(head).weights.round(3).tolist()
    [[1.0, nan], [0.881, 0.119]]
    """
    queries, keys = head.allowed.shape
    step = -(-max(queries, keys) // blocks)
    largest, found = [], list[Cell]()
    for part in head.in_rows(multiple=step):  # whole blocks
        start = part.first
        largest.append(block_maxima(np.where(part.allowed, part.weights, -np.inf), step))
        found = _largest([*found, *_cells(part.weights, start)])
        if tell is not None:
            tell((start + len(part.allowed)) / queries)
    weights = np.concatenate(largest)
    return Overview(
        np.where(np.isneginf(weights), np.float32(np.nan), weights), step, queries, keys,
        tuple(found),
    )  # fmt: skip


def block_maxima(values: Array, step: int) -> Array:
    """(..., row, key) to (..., block, block): the largest number of each block, NaN left out."""
    rows, keys = values.shape[-2:]
    whole = rows // step * step
    blocks = values[..., :whole, :].reshape(*values.shape[:-2], whole // step, step, keys)
    largest = np.fmax.reduce(blocks, axis=-2)  # down rows, an order faster than reduceat
    if whole < rows:
        rest = np.fmax.reduce(values[..., whole:, :], axis=-2, keepdims=True)
        largest = np.concatenate([largest, rest], axis=-2)
    return np.fmax.reduceat(largest, np.arange(0, keys, step), axis=-1)


def _cells(weights: Array, start: int) -> list[Cell]:
    """The largest cells of some rows, from position `start` on, without the first key."""
    others = weights[:, 1:]
    if not others.size:
        return []
    of_rows = np.sort(np.nan_to_num(np.fmax.reduce(others, axis=1)))
    # as many rows have a cell as large as this one, so none of the largest cells is smaller
    floor = of_rows[-LARGEST] if len(of_rows) >= LARGEST else 0.0
    at = np.flatnonzero((others >= floor) & (others > 0))
    at = at[np.argsort(-others.ravel()[at], kind="stable")[:LARGEST]]
    of, to = np.unravel_index(at, others.shape)
    return [
        Cell(start + q, k + 1, float(others[q, k]))
        for q, k in zip(of.tolist(), to.tolist(), strict=True)
    ]


def _largest(cells: list[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: (-cell.weight, cell.query, cell.key))[:LARGEST]
