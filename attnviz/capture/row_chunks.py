"""Row chunks: the weights of all heads of a block at once, a few rows at a time."""

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnviz.capture.block import Block, numpy
from attnviz.heads.row_slices import row_slices
from attnviz.heads.softmax import Array, Mask, last_stage, weigh

ROWS = 128
"""Rows of a piece at most: in a causal model, the keys after the last of them are left out."""
CELLS = 2**20
"""Cells of a piece at most, over all its heads: 4 MB of weights, which a processor keeps near."""


@dataclass(frozen=True, eq=False)
class RowChunk:
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


def split_rows(rows: int, heads: int, keys: int, of: int = 1) -> Iterator[slice]:
    """Slices of so many rows that a piece of them stays within `ROWS` and `CELLS`; a multiple of
    `of`."""
    return row_slices(rows, heads * keys, CELLS, multiple=of, most=ROWS)


class BlockRows:
    """All heads of a block, ready to be weighed row by row.

    >>> import attnviz
    >>> capture = attnviz.capture(attnviz.load("planted-circuit"), "the cat sat")
    >>> BlockRows(capture.block(0)).chunk([1, 3]).weights.shape
    (3, 2, 4)
    """

    def __init__(
        self, block: Block, lengths: MutableMapping[tuple[str, int], Array] | None = None
    ) -> None:
        """`lengths` holds, by stack and layer, what other texts of the model have worked out."""
        self.block = block
        self._lengths = {} if lengths is None else lengths
        self._group = np.arange(block.heads) // (block.heads // block.kv_heads)
        self._q = None if block.q is None else numpy(block.q)
        self._k = None if block.k is None else numpy(block.k)
        self._v = None if block.v is None else numpy(block.v)
        self._sink = None if block.sink is None else numpy(block.sink)[:, None]

    @property
    def projects(self) -> bool:
        """Whether the heads' outputs can be followed through the output projection."""
        return self._v is not None and self.block.projection is not None

    @cached_property
    def _reads(self) -> NDArray[np.int_]:
        """(head,): whose values each head reads."""
        assert self._v is not None
        return self._group if len(self._v) > 1 else np.zeros_like(self._group)

    def mix(self, weights: Array) -> Array:
        """(head, row, d_v): weights (1 | head, row, key) times the values that each head reads."""
        assert self._v is not None
        heads, rows, keys = len(weights), *weights.shape[1:]
        if heads == 1:
            return (weights @ self._v[:, :keys])[self._reads]
        groups = weights.reshape(len(self._v), -1, keys)  # (kv_head, group x row, key): no copy
        return (groups @ self._v[:, :keys]).reshape(heads, rows, -1)

    def means(self, start: NDArray[np.int_], stop: NDArray[np.int_]) -> Array:
        """(head, row, d_v): the mean value from one key up to another, (1 | head, row) each; 0
        where there is none between."""
        assert self._v is not None
        running = np.zeros(
            (len(self._v), self.block.keys + 1, self._v.shape[-1])
        )  # (head, key, d_v)
        values = torch.from_numpy(self._v)  # numpy takes eight times as long
        running[:, 1:] = torch.cumsum(values, dim=1, dtype=torch.float64)
        own = len(start) > 1
        of = self._reads[:, None] if own else np.arange(len(running))[:, None]
        total = running[of, stop] - running[of, start]  # (head, row, d_v)
        mean = (total / np.maximum(stop - start, 1)[..., None]).astype(np.float32)
        return mean if own else mean[self._reads]

    @cached_property
    def _through(self) -> Array:
        """(head, d_v, d_v): L with ||x L|| = ||x W_O||, which saves going through the wide W_O."""
        at = (self.block.stack, self.block.layer)
        if at not in self._lengths:
            self._lengths[at] = self._narrow()
        return self._lengths[at]

    def _narrow(self) -> Array:
        assert self._v is not None and self.block.projection is not None
        size = self._v.shape[-1]
        of = [self.block.projection.of_head(h, size) for h in range(self.block.heads)]
        slices = np.stack(of).astype(np.float64)  # (head, d_v, d_model)
        squares = slices @ slices.swapaxes(1, 2)  # (head, d_v, d_v)
        # a hair more than they are, for projections that leave some directions out
        hair = 1e-12 * squares.trace(axis1=1, axis2=2) / size + np.finfo(np.float64).tiny
        return np.linalg.cholesky(squares + hair[:, None, None] * np.eye(size)).astype(np.float32)

    def norms(self, vectors: Array) -> Array:
        """(head, n): the lengths of (head, n, d_v) vectors after the output projection."""
        through = vectors @ self._through  # (head, n, d_v)
        return np.sqrt(np.einsum("hnd,hnd->hn", through, through))

    @cached_property
    def value_norms(self) -> Array:
        """(head, key): the length of each value after the output projection."""
        assert self._v is not None
        return self.norms(self._v[self._reads])

    def longest(self, start: NDArray[np.int_], stop: NDArray[np.int_]) -> Array:
        """(head, row): the longest value, after the output projection, from one key up to
        another, (1 | head, row) each; 0 where there is none between."""
        keys, head = np.maximum(stop - start, 1), np.arange(self.block.heads)[:, None]
        level = np.frexp(keys)[1] - 1  # the largest power of 2 that is not more than the keys
        first = np.minimum(start, self.block.keys - keys)
        doubled = self._doubled()
        ends = doubled[level, head, first], doubled[level, head, first + keys - 2**level]
        return np.where(stop > start, np.maximum(*ends), 0)

    def _doubled(self) -> Array:
        """(level, head, key): the longest value of 2**level keys from each key on."""
        levels = [self.value_norms]
        for level in range(self.block.keys.bit_length() - 1):
            last, step = levels[-1], 2**level
            ahead = np.concatenate([last[:, step:], last[:, -step:]], axis=1)
            levels.append(np.maximum(last, ahead))
        return np.stack(levels)

    def allowed(self, rows: Sequence[int]) -> Mask:
        """(1 | head, row, key) bool: what these rows may look at, up to the last key of any."""
        block, picked = self.block, list(rows)
        if block.interventions:
            allowed = np.stack([block.head(h).allowed[picked] for h in range(block.heads)])
        else:
            own = block.mask is not None and len(block.mask) > 1
            allowed = np.stack([block.allowed(h, picked) for h in range(block.heads if own else 1)])
        seen = np.flatnonzero(allowed.any(axis=(0, 1)))
        return allowed[..., : int(seen[-1]) + 1 if len(seen) else 1]

    def chunk(self, rows: Sequence[int], allowed: Mask | None = None) -> RowChunk:
        """These rows of every head; `allowed` is theirs, where it is known."""
        picked = list(rows)
        allowed = self.allowed(picked) if allowed is None else allowed
        if self.block.interventions:
            return self._chunk_of_heads(picked, allowed)
        end = allowed.shape[-1]
        biases = {name: self._rows(bias, picked, end) for name, bias in self.block.biases.items()}
        if self._q is not None and self._k is not None:
            score, scaling, softcap = self._dot(picked, end), self.block.scale, self.block.softcap
        else:
            watched = list(self.block.given.values())[-1]
            score, scaling, softcap = self._rows(watched, picked, end), None, None
        score = last_stage(score, scaling=scaling, softcap=softcap, biases=biases, allowed=allowed)
        weights, _ = weigh(score, self._sink, out=score)
        return RowChunk(weights, None if self._v is None else self.mix(weights), allowed)

    def _dot(self, rows: list[int], end: int) -> Array:
        """(head, row, key): queries times keys, all heads that read the same keys at once."""
        assert self._q is not None and self._k is not None
        q = self._q[:, rows].reshape(
            len(self._k), -1, self._q.shape[-1]
        )  # (kv_head, group x row, d_k)
        return (q @ self._k[:, :end].swapaxes(1, 2)).reshape(self.block.heads, len(rows), end)

    def _chunk_of_heads(self, rows: list[int], allowed: Mask) -> RowChunk:
        """An intervention is applied to whole heads, for it may need every row; one head after
        another, because all weights of a long text are gigabytes."""
        weights, output = [], []
        for number in range(self.block.heads):
            head = self.block.head(number)
            parts = [head.rows(int(run[0]), int(run[-1]) + 1) for run in split_runs(rows)]
            weights.append(np.concatenate([part.weights for part in parts])[:, : allowed.shape[-1]])
            if self._v is not None:
                output.append(np.concatenate([part.output for part in parts]))
        return RowChunk(np.stack(weights), np.stack(output) if output else None, allowed)

    def _rows(self, tensor: Tensor, rows: list[int], end: int) -> Array:
        shape = (len(tensor), self.block.queries, self.block.keys)
        return numpy(tensor.expand(shape)[:, rows, :end])


def split_runs(numbers: Sequence[int]) -> list[NDArray[np.int_]]:
    """The numbers in runs that follow one another: [0, 1, 4] is [0, 1] and [4]."""
    return np.split(np.array(numbers), np.flatnonzero(np.diff(numbers) != 1) + 1)


def even_weights(allowed: Mask) -> tuple[NDArray[np.int_], Array]:
    """((1 | head, row) how many keys a row may look at, (1 | head, row, key) even weights over
    them, 0 in a row that attends to nothing)."""
    counts = allowed.sum(axis=-1)
    return counts, allowed / np.maximum(counts, 1).astype(np.float32)[..., None]
