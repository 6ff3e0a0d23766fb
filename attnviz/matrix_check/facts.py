"""Facts: what the rows of one matrix add up to, within the precision of its numbers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import BadInput, TooLarge
from attnviz.matrix_check.mask_shape import Cells, Mask, Pattern, find_mask, find_pattern
from attnviz.matrix_check.precision import Precision, find_precision
from attnviz.matrix_check.verdict import Matrix

MAX_CELLS = 4 * 2**20
"""The largest matrix that is looked at: 2,048 x 2,048."""
SUM_ERROR = 2e-6  # of a row of weights that float32 added up to 1
BASES = {"e": np.e, "2": 2.0, "10": 10.0}


@dataclass(frozen=True)
class Facts:
    """One matrix, each row taken as a query.

    Attributes:
        x: (query, key) float64.
        mask: cells that hold -inf, NaN or a number far below the rest.
        precision: of the visible numbers.
        tolerance: how far from 1 a row sum may be, None to go by the precision.
    """

    x: Matrix
    mask: Mask
    precision: Precision
    tolerance: float | None = None

    @staticmethod
    def from_array(array: object, tolerance: float | None = None) -> "Facts":
        x = as_matrix(array)
        mask = find_mask(x)
        values = x[~mask.cells]
        return Facts(x, mask, find_precision(values[np.isfinite(values)]), tolerance)

    def transpose(self) -> "Facts":
        """The same matrix with each column taken as a query."""
        mask = Mask(self.mask.fill, self.mask.cells.T, self.mask.note)
        return Facts(self.x.T, mask, self.precision, self.tolerance)

    @cached_property
    def unmasked(self) -> Cells:
        """Cells that hold a number."""
        return ~self.mask.cells

    @cached_property
    def values(self) -> Matrix:
        """The visible numbers, in one row."""
        return self.x[self.unmasked]

    @cached_property
    def filled(self) -> Matrix:
        """The matrix with 0 in the cells that hold no number."""
        return np.where(self.unmasked, self.x, 0.0)

    @cached_property
    def error(self) -> Matrix:
        return np.where(self.unmasked, self.precision.error(self.filled), 0.0)

    @cached_property
    def zeros(self) -> Cells:
        return (self.x == 0) & self.unmasked

    @cached_property
    def zero_pattern(self) -> Pattern:
        return find_pattern(self.zeros | self.mask.cells)

    @cached_property
    def mask_pattern(self) -> Pattern:
        return find_pattern(self.mask.cells)

    @cached_property
    def sums(self) -> Matrix:
        """(query,): row sums."""
        return self.filled.sum(axis=1)

    @cached_property
    def least_sums(self) -> Matrix:
        """(query,): the least that each row can have added up to before its numbers were cut
        to their precision. Weights are not below 0."""
        if self.tolerance is not None:
            return self.sums - self.tolerance
        return np.maximum(self.filled - self.error, 0).sum(axis=1) - SUM_ERROR

    @cached_property
    def most_sums(self) -> Matrix:
        """(query,): the most that each row can have added up to."""
        if self.tolerance is not None:
            return self.sums + self.tolerance
        return (self.filled + self.error).sum(axis=1) + SUM_ERROR

    @cached_property
    def zero_rows(self) -> NDArray[np.bool_]:
        """(query,): rows of zeros only."""
        return ~(self.filled != 0).any(axis=1)

    @cached_property
    def rows_sum_to_one(self) -> bool:
        """Every row that is not empty can have added up to 1."""
        can = (self.least_sums <= 1) & (self.most_sums >= 1)
        return bool((can | self.zero_rows).all() and not self.zero_rows.all())

    @cached_property
    def rows_sum_below_one(self) -> bool:
        """No row has added up to more than 1."""
        return bool((self.least_sums <= 1).all() and not self.zero_rows.all())

    @cached_property
    def signed_rows_sum_to_one(self) -> bool:
        """Every row adds up to 1 as the numbers stand, whatever their signs. Rounding is not
        made up for: scores of few decimals would come that close to 1 by accident."""
        reach = self.precision.relative * np.abs(self.filled).sum(axis=1) + SUM_ERROR
        return bool((np.abs(self.sums - 1) <= reach).all())

    @cached_property
    def common_sum(self) -> float | None:
        """What every row adds up to, where that is one number for two rows or more."""
        sums = self.sums[~self.zero_rows]
        if len(sums) < 2 or not 0 < sums.mean() < np.inf:
            return None
        reach = np.maximum(self.most_sums - self.sums, SUM_ERROR * sums.mean())[~self.zero_rows]
        return None if (np.abs(sums - sums.mean()) > reach).any() else float(sums.mean())

    def log_base(self, masked: Cells) -> str | None:
        """The base in which each row is a logarithm of shares of 1, if one is."""
        if self.values.size and self.values.max() > self.precision.error(np.zeros(1))[0] + 1e-6:
            return None
        visible = self.unmasked & ~masked
        rows = visible.any(axis=1)
        for name, base in BASES.items():
            logs = np.where(visible, self.x * np.log(base), -np.inf)
            shares = np.exp(logs)
            # An error of a logarithm is a relative error of the share.
            relative = self.error * np.log(base) + 1e-6 + 2e-7 * np.abs(self.filled)
            slack = (shares * np.expm1(np.minimum(relative, 1))).sum(axis=1) + SUM_ERROR
            if self.tolerance is not None:
                slack = np.full(len(self.x), self.tolerance)
            if rows.any() and (np.abs(shares.sum(axis=1) - 1) <= slack)[rows].all():
                return name
        return None


def as_matrix(array: object) -> Matrix:
    """(query, key) float64 of anything like an array; a single row may come flat.

    Raises:
        BadInput: it is not a matrix of real numbers.
        TooLarge: it has more than `MAX_CELLS` cells.
    """
    try:
        given = np.asarray(array)
    except Exception as error:  # whatever an object's own conversion raises: lists, tensors, frames
        raise BadInput(
            what="This cannot be read as a matrix.",
            why="Its rows are not lists of numbers of one length.",
            todo="Give rows of the same length that hold numbers only.",
        ) from error
    if given.dtype.kind not in "biuf":
        raise BadInput(
            what="The matrix does not hold real numbers.",
            why=f"Its cells are of the type {given.dtype}.",
            todo="Give scores or weights as plain numbers.",
        )
    refuse_too_many_cells(given.size)
    if given.ndim == 1:
        given = given[None, :]
    while given.ndim > 2 and given.shape[0] == 1:
        given = given[0]
    if given.ndim != 2:
        shape = " x ".join(map(str, given.shape)) or "a single number"
        raise BadInput(
            what=f"This is no matrix: its shape is {shape}.",
            why="The check looks at one head at a time, with a row a query and a column a key.",
            todo="Choose one head of one layer, such as array[0].",
        )
    if given.size < 2:
        raise BadInput(
            what="There is nothing to compare.",
            why=f"The matrix is {given.shape[0]} x {given.shape[1]}.",
            todo="Give at least one row of two numbers.",
        )
    x = given.astype(np.float64)
    if np.isnan(x).all():
        raise BadInput(
            what="Every cell is NaN.",
            why="Softmax gives NaN where a row has no key to look at, or where a score was NaN.",
            todo="Look for the mask or the overflow that made them.",
        )
    return x


def refuse_too_many_cells(count: int) -> None:
    """Raises TooLarge where a matrix has more than `MAX_CELLS` cells."""
    if count > MAX_CELLS:
        raise TooLarge(
            what=f"The matrix has {count:,} cells.",
            why=f"The check takes {MAX_CELLS:,}, which is 2,048 x 2,048.",
            todo="Give a part of it: some whole rows.",
        )
