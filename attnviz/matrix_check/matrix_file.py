"""A matrix out of pasted text or a file: CSV, TSV, whitespace, JSON, NPY, NPZ.

Nothing in a file is run or unpickled. A file is read up to a limit and never further.
"""

import io
import itertools
import json
import math
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from attnviz.errors import BadInput, TooLarge
from attnviz.matrix_check.facts import refuse_too_many_cells
from attnviz.matrix_check.text_table import read_table
from attnviz.matrix_check.verdict import Matrix

MAX_BYTES = 64 * 2**20
"""The largest file that is read."""
MAX_TEXT_BYTES = 16 * 2**20
"""The largest text that is read as a table or as JSON."""
MAX_CHOICES = 5_000
_ZIP_PREFIXES = (b"PK\x03\x04", b"PK\x05\x06")  # of an archive, and of an empty one


@dataclass(frozen=True)
class Reading:
    """A matrix and what was done to read it: (query, key) float64, NaN where a cell was blank."""

    matrix: Matrix
    notes: list[str] = field(default_factory=list)


class ManyMatrices(BadInput):
    """There is more than one matrix. `choices` are what `read_matrix` takes as `choose`."""

    def __init__(self, shape: str, choices: list[str]) -> None:
        self.choices = choices
        super().__init__(
            what=f"There is more than one matrix here: {shape}.",
            why="The check looks at one head of one layer at a time, and does not average.",
            todo=f"Choose one: {', '.join(choices[:4])}{', ...' if len(choices) > 4 else ''}.",
        )


def read_matrix_file(path: str | Path, choose: str = "") -> Reading:
    """The matrix in a file; see `read_matrix`.

    Raises:
        BadInput: there is no such file, or no matrix in it.
        TooLarge: the file is over `MAX_BYTES`.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise BadInput(
            what="The file cannot be read.",
            why=f"{getattr(error, 'strerror', None) or error}.",
            todo="Give the path of a CSV, TSV, JSON, NPY, NPZ or text file.",
        ) from error
    return read_matrix(data, choose)


def read_matrix(data: bytes | str, choose: str = "") -> Reading:
    """The matrix in pasted text or in the bytes of a file, whose format its content shows.

    Args:
        data: text, or the bytes of a CSV, TSV, JSON, NPY, NPZ or plain text file.
        choose: which matrix, where there are several: one of `ManyMatrices.choices`, such as
            "0, 3" for layer 0 and head 3 of a (layer, head, query, key) array, or a name.

    Raises:
        ManyMatrices: there are several and none was chosen.
        BadInput: not a matrix of real numbers.
        TooLarge: more bytes or cells than are read.

    >>> read_matrix("0.8 0.2\\n0.5 0.5").matrix.tolist()
    [[0.8, 0.2], [0.5, 0.5]]
    """
    if isinstance(data, str):
        return _read_text(data, choose)
    if len(data) > MAX_BYTES:
        raise _too_many_bytes(MAX_BYTES)
    if data.startswith(npy.MAGIC_PREFIX):
        return _choose_head(_load(data), choose)
    if data.startswith(_ZIP_PREFIXES):
        return _choose_array(_load(data), choose)
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            what="This file is of no kind that is read here.",
            why="It is neither text nor NPY nor NPZ.",
            todo="Save the matrix as CSV, TSV, JSON, NPY or NPZ. Pickled files are not opened.",
        ) from error
    return _read_text(text, choose)


def _load(data: bytes) -> Any:
    """The array of an NPY file, or the {name: array} of an NPZ file."""
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            # Where a size in this list is a lie, zipfile still unpacks no more than that.
            if sum(member.file_size for member in loaded.zip.infolist()) > MAX_BYTES:
                raise _too_many_bytes(MAX_BYTES)
            if loaded.zip.testzip() is not None:  # numpy may stop before the checksum
                raise zipfile.BadZipFile
            return {name: loaded[name] for name in loaded.files}
    except TooLarge:
        raise
    except Exception as error:  # numpy, zipfile and its decompressors raise a dozen kinds
        raise BadInput(
            what="The arrays in this file cannot be read.",
            why="It is damaged, cut short or encrypted, or holds pickled objects.",
            todo="Save the matrix again with numpy.save, as plain numbers.",
        ) from error


def _read_text(text: str, choose: str) -> Reading:
    if len(text) > MAX_TEXT_BYTES:
        raise _too_many_bytes(MAX_TEXT_BYTES)
    if text.lstrip()[:1] in ("[", "{"):
        try:
            held = json.loads(text)
        except (ValueError, RecursionError):
            pass  # a printed array also starts with a bracket
        else:
            return _read_json(held, choose)
    return Reading(*read_table(text))


def _read_json(held: Any, choose: str) -> Reading:
    if isinstance(held, dict):
        return _choose_array({name: _array_of_lists(part) for name, part in held.items()}, choose)
    array = _array_of_lists(held)
    if array is None:
        raise _no_matrix("The JSON is not a list of rows of numbers of one length.")
    return _choose_head(array, choose)


def _array_of_lists(value: Any) -> np.ndarray | None:
    """Nested lists as an array of floats, null as NaN; None where they are not that."""
    if not isinstance(value, list):
        return None
    try:
        cells = np.array(value, dtype=object)
        if any(isinstance(cell, str) for cell in cells.flat):  # numpy would read "0.5" as a number
            return None
        return cells.astype(np.float64)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None


def _choose_array(held: dict[str, Any], choose: str) -> Reading:
    """The matrix of the only array that can hold one, or of the one chosen by its name."""
    arrays = {
        name: array
        for name, array in held.items()
        if isinstance(array, np.ndarray)
        and array.dtype.kind in "biuf"
        and array.ndim > 1
        and array.size > 1
    }
    if not arrays:
        raise _no_matrix("None of its parts is a matrix of numbers.")
    if len(arrays) == 1:
        ((name, only),) = arrays.items()
        reading = _choose_head(only, choose.removeprefix(f"{name}: "))
        return Reading(reading.matrix, [*reading.notes, f"Read from the part {name[:80]!r}."])
    name, _, place = choose.partition(": ")
    if name in arrays:
        return _choose_head(arrays[name], place, prefix=f"{name}: ")
    raise ManyMatrices(f"{len(arrays)} arrays", list(arrays)[:MAX_CHOICES])


def _choose_head(array: np.ndarray, choose: str, prefix: str = "") -> Reading:
    """The matrix of a (..., query, key) array, or the one chosen by its place in it."""
    if array.dtype.kind not in "biuf":
        raise _no_matrix(f"Its cells are of the type {str(array.dtype)[:40]}.")
    stack = array.shape[:-2]
    if math.prod(stack) > 1:
        place = _parse_place(choose, stack)
        if place is None:
            places = itertools.islice(np.ndindex(*stack), MAX_CHOICES)
            shape = " x ".join(map(str, array.shape))
            raise ManyMatrices(shape, [prefix + ", ".join(map(str, place)) for place in places])
        array = array[place]
    elif array.ndim > 2 and array.size:
        array = array.reshape(array.shape[-2:])
    refuse_too_many_cells(array.size)
    if not array.size:
        raise _no_matrix("It has no cells.")
    return Reading(np.atleast_2d(array).astype(np.float64))


def _parse_place(choose: str, stack: tuple[int, ...]) -> tuple[int, ...] | None:
    parts = choose.replace(",", " ").split()
    if len(parts) != len(stack) or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    place = tuple(int(part[:9]) for part in parts)
    return place if all(i < size for i, size in zip(place, stack, strict=True)) else None


def _too_many_bytes(limit: int) -> TooLarge:
    return TooLarge(
        what=f"This is more than {limit // 2**20} MB.",
        why="No more than that is read: a matrix of 2,048 x 2,048 in NPY is 34 MB.",
        todo="Save one head, as NPY or with fewer digits.",
    )


def _no_matrix(why: str) -> BadInput:
    return BadInput(
        what="There is no matrix of real numbers in this.",
        why=why,
        todo="Give rows of the same length that hold numbers only.",
    )
