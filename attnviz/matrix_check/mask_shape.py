"""How a matrix writes cells that may not be looked at, and what shape they make."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.matrix_check.verdict import Matrix

Cells = NDArray[np.bool_]

_LOW = -1e3  # a masked cell lies below it; so may a score, hence the tests of a gap
_FILLS = {
    float(np.finfo(np.float64).min): "the least float64",
    float(np.finfo(np.float32).min): "the least float32",
    -3.3895313892515355e38: "the least bfloat16",
    float(np.finfo(np.float16).min): "the least float16",
    **{-(10.0**power): "a round number" for power in (4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30)},
    **{float(np.float32(-(10.0**power))): "a round number" for power in (10, 12, 15, 20, 30)},
}


@dataclass(frozen=True)
class Mask:
    """Cells of one matrix taken to be masked.

    fill: how they are written ("-inf", "NaN", "0", a number), or None where there are none.
    """

    fill: str | None
    cells: Cells
    note: str = ""


def find_mask(x: Matrix) -> Mask:
    """Cells that hold -inf, NaN or a number far below all the rest."""
    nan, infinite = np.isnan(x), np.isneginf(x)
    low, fill, note = _find_low_fill(x)
    cells = nan | infinite | low
    fills = [
        name
        for name, some in (("-inf", infinite), ("NaN", nan), (fill, low))
        if name is not None and some.any()
    ]
    return Mask(" and ".join(fills) or None, cells, note)


def _find_low_fill(x: Matrix) -> tuple[Cells, str | None, str]:
    none = np.zeros(x.shape, bool)
    finite = np.isfinite(x)
    low = finite & (x <= _LOW)
    if not low.any():
        return none, None, ""
    for value, note in _FILLS.items():
        filled = finite & (x == value)
        # A true score may be that number by accident, but not the lowest and many times over.
        if filled.any() and (filled == low).all():
            return filled, f"{value:.6g}", note
    rest = x[finite & ~low]
    if not rest.size:
        return none, None, ""
    depths = x[low]
    with np.errstate(over="ignore"):
        gap, spread = rest.min() - depths.max(), float(np.ptp(rest))
        own = float(np.ptp(depths))
    # A mask that is added to a score leaves the score's own spread, far down.
    if gap > 10 * max(spread, 1.0) and own <= max(4 * max(spread, 1.0), 1e-3 * -depths.max()):
        value = float(np.median(depths))
        return low, f"about {value:.4g}", "a large negative number added to the score"
    return none, None, ""


@dataclass(frozen=True)
class Pattern:
    """The shape that some cells of a (query, key) matrix make.

    causal: every cell above the diagonal is among them, and not every cell below.
    transposed: the same below the diagonal.
    structured: they are nothing but triangle, whole rows, whole columns and bands.
    """

    count: int
    causal: bool
    transposed: bool
    structured: bool
    words: str


def find_pattern(cells: Cells) -> Pattern:
    """The shape of the cells; the diagonal ends in the last corner where keys outnumber queries."""
    if not cells.any():
        return Pattern(0, False, False, False, "no cells")
    ahead, behind = above_diagonal(cells.shape), above_diagonal(cells.shape[::-1]).T
    all_above = bool(ahead.any() and cells[ahead].all())
    all_below = bool(behind.any() and cells[behind].all())
    columns: Cells = np.asarray(cells.all(axis=0))
    rows: Cells = np.asarray(cells.all(axis=1))
    explained = np.zeros_like(cells)
    names = []
    if all_above and all_below:
        explained |= ahead | behind
        names.append("all but the diagonal")
    elif all_above or all_below:
        explained |= ahead if all_above else behind
        side = "above" if all_above else "below"
        names.append(f"all cells {side} the diagonal")
    if (columns & ~explained.all(axis=0)).any():
        names.append(f"{columns.sum()} whole column{'s' if columns.sum() > 1 else ''}")
    if (rows & ~explained.all(axis=1)).any():
        names.append(f"{rows.sum()} whole row{'s' if rows.sum() > 1 else ''}")
    explained |= columns[None, :] | rows[:, None]
    band = _outside_window(cells, explained)
    if (band & ~explained).any():
        names.append("all cells far from the diagonal")
        explained |= band
    rest = int((cells & ~explained).sum())
    if rest:
        names.append(f"{rest} scattered cell{'s' if rest > 1 else ''}")
    return Pattern(
        count=int(cells.sum()),
        causal=all_above and not all_below,
        transposed=all_below and not all_above,
        structured=not rest,
        words=", ".join(names),
    )


def above_diagonal(shape: tuple[int, ...]) -> Cells:
    """Cells later than their query, the diagonal ending in the last corner."""
    queries, keys = shape
    return np.arange(keys)[None, :] > np.arange(queries)[:, None] + max(keys - queries, 0)


def _outside_window(cells: Cells, explained: Cells) -> Cells:
    """Cells as far from the diagonal as a window would hide: all of them, on either side."""
    queries, keys = cells.shape
    of, to = np.arange(queries)[:, None] + max(keys - queries, 0), np.arange(keys)[None, :]
    distance: NDArray[np.int_] = np.abs(of - to)
    open_cells = ~cells & ~explained
    if not open_cells.any():
        return np.zeros_like(cells)
    reach = int(distance[open_cells].max())
    return np.asarray(distance > reach)
