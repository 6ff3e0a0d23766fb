"""Thumbnails: the weights of every head of a stack as small maps."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from attnviz.capture.row_chunks import BlockRows, split_rows
from attnviz.heads.overview import Thumbnails, block_maxima
from attnviz.progress import Step

if TYPE_CHECKING:
    from attnviz.capture.result import Capture

PIXELS = 64


def thumbnails(
    capture: "Capture",
    stack: str | None = None,
    *,
    pixels: int = PIXELS,
    progress: Step | None = None,
) -> Thumbnails:
    """The weights of every head, a pixel a cell up to `pixels` tokens, then block maxima: a
    maximum shows a single strong cell that a mean would drown. It is no weight of anything.

    Args:
        progress: called with (done, total) after each layer.

    >>> import attnviz
    >>> capture = attnviz.capture(attnviz.load("planted-circuit"), "the cat sat")
    >>> thumbnails(capture).cells.shape, thumbnails(capture, pixels=2).block
    ((2, 3, 4, 4), 2)
    """
    numbers = capture.layers(stack)
    blocks = [capture.block(layer, stack) for layer in numbers]
    queries, keys = blocks[0].queries, blocks[0].keys
    size = -(-max(queries, keys) // pixels)
    heads = max(block.heads for block in blocks)
    shape = (max(numbers) + 1, heads, -(-queries // size), -(-keys // size))
    cells = np.full(shape, np.nan, np.float16)  # (layer, head, y, x)
    for done, block in enumerate(blocks, start=1):
        block_rows = BlockRows(block)
        for rows in _whole_blocks(queries, block.heads, keys, size):
            chunk = block_rows.chunk(range(rows.start, rows.stop))
            np.copyto(chunk.weights, -1, where=~chunk.allowed)  # made for us alone
            largest = block_maxima(chunk.weights, size)  # (head, block, block)
            at = rows.start // size
            small = np.where(largest < 0, np.nan, largest)
            here = cells[block.layer, : block.heads, at : at + small.shape[1], : small.shape[2]]
            np.fmax(here, small, out=here, casting="same_kind")
        if progress:
            progress(done, len(blocks))
    return Thumbnails(cells, size)


def _whole_blocks(queries: int, heads: int, keys: int, size: int) -> Iterator[slice]:
    """Slices of rows that hold whole blocks of that size, or lie in one that is too large."""
    for whole in split_rows(queries, heads, keys, of=size):
        count = whole.stop - whole.start
        for part in split_rows(count, heads, keys) if count <= size else [slice(0, count)]:
            yield slice(whole.start + part.start, whole.start + part.stop)
