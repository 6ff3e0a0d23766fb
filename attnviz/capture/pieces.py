"""Pieces: the weights of all heads of a block at once, a few rows at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attnviz.capture.block import Block, numpy
from attnviz.softmax import Array, Mask, later_stages, score_stages, weigh

CELLS = 2**20
"""Cells of a piece at most, over all its heads: 4 MB of weights, which a processor keeps near."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows of every head of a block. Keys that none of the rows may look at, at the end of
    the text, are left out.

    Attributes:
        weights: (head, row, key), as `Head.weights`.
        output: (head, row, d_v), as `Head.output`; None where the block has no values.
        allowed: (1 | head, row, key) bool.
    """

    weights: Array
    output: Array | None
    allowed: Mask


def row_pieces(rows: int, heads: int, keys: int, of: int = 1) -> Iterator[slice]:
    """Slices of so many rows that a piece of them stays within `CELLS`; a multiple of `of`."""
    step = of * max(1, CELLS // max(1, heads * keys * of))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


class Heads:
    """All heads of a block, ready to be weighed row by row.

    >>> import attnviz
    >>> capture = attnviz.capture(attnviz.load("planted-circuit"), "the cat sat")
    >>> Heads(capture.block(0)).piece([1, 3]).weights.shape
    (3, 2, 4)
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self._group = np.arange(block.heads) // (block.heads // block.kv_heads)
        self._q = None if block.q is None else numpy(block.q)
        self._k = None if block.k is None else numpy(block.k)
        self._v = None if block.v is None else numpy(block.v)
        self._sink = None if block.sink is None else numpy(block.sink)[:, None]

    @property
    def projects(self) -> bool:
        """Whether the heads' outputs can be followed through the output projection."""
        return self._v is not None and self.block.projection is not None

    def mix(self, weights: Array) -> Array:
        """(head, row, d_v): weights (1 | head, row, key) times the values that each head reads."""
        assert self._v is not None
        heads, rows, keys = len(weights), *weights.shape[1:]
        if heads == 1:
            mixed = weights @ self._v[:, :keys]
            return mixed[self._group if len(mixed) > 1 else np.zeros_like(self._group)]
        groups = weights.reshape(len(self._v), -1, rows, keys)  # no copy of shared values
        return (groups @ self._v[:, None, :keys]).reshape(heads, rows, -1)

    @cached_property
    def _through(self) -> Array:
        """(head, d_v, d_v): L with ||x L|| = ||x W_O||, which saves going through the wide W_O."""
        assert self._v is not None and self.block.projection is not None
        size = self._v.shape[-1]
        of = [self.block.projection.of_head(h, size) for h in range(self.block.heads)]
        slices = np.stack(of).astype(np.float64)
        squares = slices @ slices.swapaxes(1, 2)
        # a hair more than they are, for projections that leave some directions out
        hair = 1e-12 * squares.trace(axis1=1, axis2=2) / size + np.finfo(np.float64).tiny
        return np.linalg.cholesky(squares + hair[:, None, None] * np.eye(size)).astype(np.float32)

    def norms(self, vectors: Array) -> Array:
        """(head, n): the lengths of (head, n, d_v) vectors after the output projection."""
        through = vectors @ self._through
        return np.sqrt(np.einsum("hnd,hnd->hn", through, through))

    @cached_property
    def value_norms(self) -> Array:
        """(head, key): the length of each value after the output projection."""
        assert self._v is not None
        return self.norms(self._v[self._group if len(self._v) > 1 else np.zeros_like(self._group)])

    def piece(self, rows: Sequence[int]) -> Piece:
        """These rows of every head."""
        block, picked = self.block, list(rows)
        if block.interventions:
            return self._changed(picked)
        own = block.mask is not None and len(block.mask) > 1
        allowed = np.stack([block.allowed(h, picked) for h in range(block.heads if own else 1)])
        seen = np.flatnonzero(allowed.any(axis=(0, 1)))
        end = int(seen[-1]) + 1 if len(seen) else 1
        allowed = allowed[..., :end]
        biases = {name: self._rows(bias, picked, end) for name, bias in block.biases.items()}
        if self._q is not None and self._k is not None:
            stages = score_stages(
                self._q[:, picked],
                self._k[self._group, :end],
                scaling=block.scale,  # type: ignore[arg-type]  # known wherever there are queries
                softcap=block.softcap,
                biases=biases,
                allowed=allowed,
            )
        else:
            watched = {n: self._rows(stage, picked, end) for n, stage in block.given.items()}
            last = list(watched.values())[-1]
            stages = watched | later_stages(last, biases=biases, allowed=allowed)
        weights, _ = weigh(list(stages.values())[-1], self._sink)
        return Piece(weights, None if self._v is None else self.mix(weights), allowed)

    def _changed(self, rows: list[int]) -> Piece:
        """A what-if may need every row of a head, so the rows are taken afterwards."""
        heads = [self.block.head(head) for head in range(self.block.heads)]
        output = None if self._v is None else np.stack([head.output[rows] for head in heads])
        return Piece(
            np.stack([head.weights[rows] for head in heads]),
            output,
            np.stack([head.allowed[rows] for head in heads]),
        )

    def _rows(self, tensor: Tensor, rows: list[int], end: int) -> Array:
        shape = (len(tensor), self.block.queries, self.block.keys)
        return numpy(tensor.expand(shape)[:, rows, :end])


def attending(allowed: Mask) -> tuple[NDArray[np.int_], Array]:
    """((1 | head, row) how many keys a row may look at, (1 | head, row, key) even weights over
    them, 0 in a row that attends to nothing)."""
    counts = allowed.sum(axis=-1)
    return counts, allowed / np.maximum(counts, 1).astype(np.float32)[..., None]
