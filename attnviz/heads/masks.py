"""Masks: why a cell is masked, and whether a mask lets a query look ahead."""

import numpy as np

from attnviz.heads.softmax import Mask

MASK_REASONS = (
    "allowed",
    "future",
    "padding",
    "outside the window",
    "removed by you",
    "blocked by the model",
)
"""What each number in `Head.mask_reason` means."""
ALLOWED, FUTURE, PADDING, WINDOW, REMOVED, BLOCKED = range(len(MASK_REASONS))


def looks_ahead(allowed: Mask, first: int, block: int = 256) -> bool:
    """Whether any query may see a later key; a block of rows at a time, without a second mask."""
    for start in range(0, len(allowed), block):
        rows = allowed[start : start + block, first + start + 1 :]
        if np.triu(rows[:, :block]).any() or rows[:, block:].any():
            return True
    return False
