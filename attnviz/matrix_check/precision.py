"""How precisely the numbers of a matrix are given: decimals, digits, or a float format."""

from dataclasses import dataclass

import numpy as np

from attnviz.matrix_check.verdict import Matrix

FLOAT32 = 2.0**-23
MAX_DECIMALS = 6
_SAMPLE = 20_000  # distinct numbers looked at; a grid shows in far fewer
_CHANCE = -4.0  # log10 of how likely numbers of full precision may lie on a grid by accident


@dataclass(frozen=True)
class Precision:
    """The largest error of each number: absolute + relative x |number|."""

    name: str
    absolute: float
    relative: float
    decimals: int | None = None

    def error(self, values: Matrix) -> Matrix:
        return self.absolute + self.relative * np.abs(values)


def find_precision(values: Matrix) -> Precision:
    """The coarsest grid that all numbers lie on, if they cannot lie there by accident.

    0 and 1 lie on every grid and say nothing.
    """
    distinct = np.unique(np.abs(values))
    telling = distinct[(distinct != 0) & (distinct != 1)]
    if telling.size > _SAMPLE:
        telling = telling[:: telling.size // _SAMPLE + 1]
    if not telling.size:
        return Precision("only 0 and 1", 0.0, 2 * FLOAT32)
    for decimals in range(MAX_DECIMALS + 1):
        if _lie_on_grid(telling, np.full_like(telling, 10.0**-decimals)):
            return _decimal_precision(decimals)
    for digits in range(2, 7):
        steps = 10.0 ** (np.floor(np.log10(telling)) - digits + 1)
        if _lie_on_grid(telling, steps):
            return Precision(f"{digits} significant digits", 0.0, 0.5 * 10.0 ** (1 - digits))
    return _float_precision(telling)


def _decimal_precision(decimals: int) -> Precision:
    if decimals == 0:  # whole numbers are more often exact than rounded
        return Precision("whole numbers", 0.0, 2 * FLOAT32, 0)
    plural = "" if decimals == 1 else "s"
    half = 0.5 * 10.0**-decimals
    return Precision(f"{decimals} decimal{plural}", half * (1 + 1e-6), 2 * FLOAT32, decimals)


def _lie_on_grid(values: Matrix, steps: Matrix) -> bool:
    # A number may have gone through float32 after it was rounded.
    slack = 0.5 * FLOAT32 * values
    if (np.abs(values - np.rint(values / steps) * steps) > slack + 1e-15).any():
        return False
    chances = np.minimum(1.0, 2 * slack / steps)
    return bool(np.log10(chances).sum() < _CHANCE)


def _float_precision(values: Matrix) -> Precision:
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
        half = values.astype(np.float16)
    if (half == values).all():
        return Precision("float16", 2.0**-24, 2 * 2.0**-11)
    if (single != values).any():
        return Precision("float64", 0.0, 2 * FLOAT32)
    if not (single.view(np.uint32) & 0xFFFF).any():
        return Precision("bfloat16", 0.0, 2 * 2.0**-8)
    return Precision("float32", 0.0, 2 * FLOAT32)
