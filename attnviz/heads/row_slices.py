"""Row slices: the rows of a long text some at a time, so that its matrices are never held whole."""

from collections.abc import Iterator


def row_slices(
    rows: int, width: int, cells: int, *, multiple: int = 1, most: int | None = None
) -> Iterator[slice]:
    """Slices of so many rows, `width` cells wide, that each holds at most so many cells, but at
    least one row.

    Args:
        multiple: each slice but the last has a multiple of so many rows.
        most: rows of a slice at most.

    >>> [(rows.start, rows.stop) for rows in row_slices(5, width=10, cells=20)]
    [(0, 2), (2, 4), (4, 5)]
    """
    fit = cells // max(1, width)
    fit = fit if most is None else min(most, fit)
    step = multiple * max(1, fit // multiple)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
