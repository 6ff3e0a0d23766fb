"""Digests: whether an array that is made again is the one that a file was written of."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def hash_array(values: NDArray) -> str:
    """SHA-256 of an array, 64 hexadecimal digits: of its dtype and shape as numpy writes them, and
    of its numbers in C order, little endian.

    >>> known = hashlib.sha256(b"<f4 (1, 2) " + np.array([0.5, 2.0], "<f4").tobytes())
    >>> hash_array(np.array([[0.5, 2.0]], np.float32)) == known.hexdigest()
    True
    """
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return hashlib.sha256(
        f"{little.dtype.str} {little.shape} ".encode() + little.tobytes()
    ).hexdigest()


def find_largest(values: NDArray) -> float | None:
    """The largest finite absolute value; None where there is none."""
    finite = np.abs(values[np.isfinite(values)].astype(np.float64))
    return float(finite.max()) if finite.size else None


def measure_difference(old: NDArray, new: NDArray | None) -> float:
    """The largest difference of two arrays as a part of the largest number: 0.0 where all numbers
    are equal, infinite where the arrays cannot be compared."""
    if new is None or new.shape != old.shape:
        return float("inf")
    if np.array_equal(old, new, equal_nan=old.dtype.kind == "f"):
        return 0.0
    if old.dtype.kind != "f":
        return float("inf")
    seen = np.isfinite(old)
    if (seen != np.isfinite(new)).any() or (np.isnan(old) != np.isnan(new)).any():
        return float("inf")
    apart = np.abs(old[seen].astype(np.float64) - new[seen])
    return float(apart.max(initial=0) / max(float(np.abs(old[seen]).max(initial=0)), 1e-30))


def bound_difference(about: Mapping[str, Any], new: NDArray | None) -> float:
    """What `measure_difference` gives at least, of an array of which a file has only what its
    provenance says: how far apart the largest numbers are, as a part of the one in the file."""
    if new is None or (list(new.shape), str(new.dtype)) != (about["shape"], about["dtype"]):
        return float("inf")
    old, largest = about["largest"], find_largest(new)
    if old is None or largest is None:
        return 0.0 if old is largest else float("inf")
    return float(abs(old - largest) / max(old, 1e-30))
