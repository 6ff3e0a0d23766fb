"""Similarity: how far the weights of every head of a stack are from those of one of them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnviz.capture.row_chunks import BlockRows, split_rows
from attnviz.heads.distances import row_divergences
from attnviz.heads.softmax import Array
from attnviz.progress import Step

if TYPE_CHECKING:
    from attnviz.capture.result import Capture

ROWS = 64


@dataclass(frozen=True, eq=False)
class Alike:
    """The distance of every head from one head, each the mean over the query rows that count:
    those in which both attend to something.

    Attributes:
        layer, head: the one.
        total_variation: (layer, head) float32, 0 to 1; NaN where there is no such head and where
            no row counts.
        jensen_shannon: (layer, head) float32, in nats, 0 to ln 2.
        rows: how many query rows were looked at.
    """

    layer: int
    head: int
    total_variation: NDArray[np.float32]
    jensen_shannon: NDArray[np.float32]
    rows: int

    @property
    def order(self) -> list[tuple[int, int]]:
        """The other heads that have a distance, the nearest first; equals by place."""
        known = np.argwhere(np.isfinite(self.total_variation)).tolist()
        others = [(la, h) for la, h in known if (la, h) != (self.layer, self.head)]
        return sorted(others, key=lambda at: (float(self.total_variation[at]), at))

    @property
    def means(self) -> tuple[float, float]:
        """(total variation, Jensen-Shannon) to another head, the mean over all of them; NaN
        where there is no other."""
        others = tuple(np.array(self.order, int).reshape(-1, 2).T)
        grids = (self.total_variation, self.jensen_shannon)
        total, nats = (float(g[others].mean()) if len(others[0]) else float("nan") for g in grids)
        return total, nats


def alike(
    capture: "Capture",
    layer: int,
    head: int,
    stack: str | None = None,
    *,
    rows: int = ROWS,
    progress: Step | None = None,
) -> Alike:
    """How far every head of a stack is from one of them on this text, by its weights.

    A row of weights is a distribution over the keys, a sink's share being one more place; rows are
    compared by `attnviz.heads.distances.row_divergences`. At most `rows` query rows are looked at,
    evenly spread over the text, padding left out.

    Raises:
        BadInput: no such stack, layer or head.

    >>> import attnviz
    >>> capture = attnviz.capture(attnviz.load("planted-circuit"), "red fox ran red fox ran")
    >>> alike(capture, 0, 2).order[0]  # the other head that spreads its weights evenly
    (1, 2)
    """
    capture.head(layer, head, stack)  # refuses one that is not there
    real = np.flatnonzero(~capture.query_padding(stack))
    picked = real[np.linspace(0, len(real) - 1, min(rows, len(real))).round().astype(int)]
    blocks = [capture.block(number, stack) for number in capture.layers(stack)]
    most = max(block.heads for block in blocks)
    sums = np.zeros((2, max(block.layer for block in blocks) + 1, most))  # (2, layer, head)
    counted = np.zeros(sums.shape[1:])  # (layer, head)
    own = BlockRows(capture.block(layer, stack)).chunk(picked.tolist())
    mine = _whole(own.weights[head], blocks[0].keys)  # (row, key + 1)
    attends = own.allowed[head if len(own.allowed) > 1 else 0].any(axis=-1)  # (row,)
    for done, block in enumerate(blocks, start=1):
        ready, at = BlockRows(block), (block.layer, slice(0, block.heads))
        for piece in split_rows(len(picked), block.heads, block.keys):
            found = ready.chunk(picked[piece].tolist())
            far = row_divergences(mine[piece], _whole(found.weights, block.keys))  # 2 x (head, row)
            seen = found.allowed.any(axis=-1) & attends[piece] & np.isfinite(far[0])
            counted[at] += np.broadcast_to(seen, far[0].shape).sum(axis=-1)
            sums[0][at] += np.where(seen, far[0], 0).sum(axis=-1)
            sums[1][at] += np.where(seen, far[1], 0).sum(axis=-1)
        if progress:
            progress(done, len(blocks))
    total, nats = (sums / np.where(counted > 0, counted, np.nan)).astype(np.float32)
    return Alike(layer, head, total, nats, len(picked))


def _whole(weights: Array, keys: int) -> Array:
    """(..., row, key + 1): rows over all keys, and what goes to none of them."""
    missing = keys - weights.shape[-1]
    sink = np.maximum(1 - weights.sum(axis=-1, keepdims=True, dtype=np.float64), 0)
    gap = np.zeros((*weights.shape[:-1], missing))
    return np.concatenate([weights, gap, sink], axis=-1)
