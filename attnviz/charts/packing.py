"""Numbers of a row as text: three characters each, four significant digits.

The browser gets a row of numbers as one string and unpacks the row in focus, and only that
one. Text of a fixed width needs no delimiters and is half the size of decimals. What is not a
number (masked, undefined) and what does not fit four digits has a code of its own.
"""

import numpy as np
from numpy.typing import NDArray

from attnviz.heads.masks import MASK_REASONS

# printable ASCII that needs no escape in JSON or in a web page
DIGITS = "".join(chr(c) for c in range(33, 127) if chr(c) not in "\"\\<>&'")
BASE = len(DIGITS)  # 88

UNDEFINED = 0  # 1 to 5 are the reasons for a mask, by their number in MASK_REASONS
ZERO, TINY, MINUS_TINY, HUGE, MINUS_HUGE, NOTHING = range(len(MASK_REASONS), len(MASK_REASONS) + 6)
SPECIAL = 16  # codes from here on are numbers
_LOWEST, _EXPONENTS, _MANTISSAS = -27, 37, 9000
_HALF = _EXPONENTS * _MANTISSAS  # codes of one sign

NAMES = [
    "undefined",
    *(f"masked: {reason}" for reason in MASK_REASONS[1:]),
    "0",
    "under 1e-24",
    "\u2212(under 1e-24)",
    "over 1e13",
    "\u2212(over 1e13)",
    "none: the row attends to nothing",
]
"""What a code below SPECIAL says in a tooltip."""


def encode(values: NDArray, reason: NDArray | None = None) -> NDArray[np.int64]:
    """The code of each number, same shape: four significant digits, rounded half to even.

    Args:
        values: any shape; NaN becomes "undefined", infinities "over 1e13".
        reason: same shape, numbers of MASK_REASONS; 0 where the value itself counts.
    """
    x = np.asarray(values, np.float64)
    size = np.abs(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = np.floor(np.log10(size))
    usable = np.isfinite(exponent)
    exponent = np.where(usable, exponent, 0).astype(np.int64)
    mantissa = _mantissa(np.where(usable, size, 1.0), exponent)
    # log10 may miss by one at a power of ten, and rounding may reach the next one
    for off, step in ((mantissa >= 10_000, 1), (mantissa < 1000, -1)):
        exponent = exponent + np.where(off, step, 0)
        mantissa = np.where(off, _mantissa(np.where(usable, size, 1.0), exponent), mantissa)
    place = exponent - 3 - _LOWEST
    codes = SPECIAL + place * _MANTISSAS + mantissa - 1000 + np.where(x < 0, _HALF, 0)
    codes = np.where(place < 0, np.where(x < 0, MINUS_TINY, TINY), codes)
    too_big = (place >= _EXPONENTS) | np.isinf(x)
    codes = np.where(too_big, np.where(x < 0, MINUS_HUGE, HUGE), codes)
    codes = np.where(x == 0, ZERO, codes)
    codes = np.where(np.isnan(x), UNDEFINED, codes)
    if reason is not None:
        codes = np.where(reason > 0, reason, codes)
    return codes.astype(np.int64)


def decode(code: int) -> float | str:
    """The number of a code, or the name of one that is no number: what the browser shows."""
    if code < SPECIAL:
        return NAMES[code]
    sign, rest = divmod(code - SPECIAL, _HALF)
    place, mantissa = divmod(rest, _MANTISSAS)
    return (-1) ** sign * (mantissa + 1000) * 10.0 ** (place + _LOWEST)


def pack(codes: NDArray[np.int64]) -> list[str]:
    """(row, column) codes as one string a row. A last code that repeats is written once."""
    return [_pack_row(row) for row in codes]


def unpack(text: str, index: int) -> int:
    """The code at one place of a packed row: the same rule as in the browser."""
    at = 3 * min(index, len(text) // 3 - 1)
    first, second, third = (DIGITS.index(char) for char in text[at : at + 3])
    return (first * BASE + second) * BASE + third


def place(text: str, index: str) -> str:
    """Where in a packed row the code at an index begins, as a Vega expression."""
    return f"3*min({index},length({text})/3-1)"


def unpacking(text: str, at: str) -> str:
    """`unpack` as a Vega expression; text and at (a `place`) are expressions."""
    first, second, third = (f"indexof(digits,{text}[{at}+{n}])" for n in range(3))
    return f"({first}*{BASE}+{second})*{BASE}+{third}"


def number(code: str) -> str:
    """`decode` as a Vega expression, for a code from SPECIAL on; code is a field's expression."""
    rest = f"(({code}-{SPECIAL})%{_HALF})"
    sign = f"({code}-{SPECIAL}<{_HALF}?1:-1)"
    size = f"({rest}%{_MANTISSAS}+1000)*pow(10,floor({rest}/{_MANTISSAS})+({_LOWEST}))"
    return f"{sign}*{size}"


def _mantissa(size: NDArray[np.float64], exponent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Four digits. Powers of ten are multiplied where exact, so that ties round as printed."""
    up = np.maximum(3 - exponent, 0).astype(float)
    down = np.maximum(exponent - 3, 0).astype(float)
    with np.errstate(over="ignore"):
        return np.rint(np.minimum(size * 10.0**up / 10.0**down, 1e15)).astype(np.int64)


def _pack_row(row: NDArray[np.int64]) -> str:
    changes = np.flatnonzero(row != row[-1])
    kept = row[: changes[-1] + 2] if len(changes) else row[:1]
    table = np.array(list(DIGITS))
    digits = np.stack([kept // BASE**2, kept // BASE % BASE, kept % BASE], axis=1)
    return "".join(table[digits].ravel().tolist())
