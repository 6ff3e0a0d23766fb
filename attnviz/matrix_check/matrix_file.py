"""Reading a matrix from pasted text or from a file: CSV, TSV, whitespace, JSON, NPY, NPZ.

Nothing in the file is run or unpickled. A file is read up to a limit and never further.
"""

import io
import math
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from attnviz.errors import BadInput, TooLarge
from attnviz.matrix_check.facts import MAX_CELLS
from attnviz.matrix_check.pasted import from_json, table_of
from attnviz.matrix_check.verdict import Matrix

MAX_BYTES = 64 * 2**20
"""The largest file that is read."""
MAX_TEXT_BYTES = 16 * 2**20
"""The largest text that is read as a table or as JSON."""
MAX_CHOICES = 5_000


@dataclass(frozen=True)
class Reading:
    """A matrix and what was done to read it: (query, key) float64, NaN where a cell was blank."""

    matrix: Matrix
    notes: list[str] = field(default_factory=list)


class ManyMatrices(BadInput):
    """There is more than one matrix. `choices` are what `read` takes as `choose`."""

    def __init__(self, shape: str, choices: list[str]) -> None:
        self.choices = choices
        super().__init__(
            what=f"There is more than one matrix here: {shape}.",
            why="The check looks at one head of one layer at a time, and does not average.",
            todo=f"Choose one: {', '.join(choices[:4])}{', ...' if len(choices) > 4 else ''}.",
        )


def read_file(path: str | Path, choose: str = "") -> Reading:
    """The matrix in a file; see `read`.

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
    return read(data, choose)


def read(data: bytes | str, choose: str = "") -> Reading:
    """The matrix in pasted text or in the bytes of a file, whose form is told from its content.

    Args:
        data: text, or the bytes of a CSV, TSV, JSON, NPY, NPZ or plain text file.
        choose: which matrix, where there are several: one of `ManyMatrices.choices`, such as
            "0, 3" for layer 0 and head 3 of a (layer, head, query, key) array, or a name.

    Raises:
        ManyMatrices: there are several and none was chosen.
        BadInput: not a matrix of real numbers.
        TooLarge: more bytes or cells than are read.

    >>> read("0.8 0.2\\n0.5 0.5").matrix.tolist()
    [[0.8, 0.2], [0.5, 0.5]]
    """
    if isinstance(data, str):
        return _read_text(data, choose)
    if len(data) > MAX_BYTES:
        raise _too_many_bytes(MAX_BYTES)
    if data.startswith(npy.MAGIC_PREFIX):
        return _picked(_load_npy(data), choose)
    if data.startswith(b"PK"):
        return _read_npz(data, choose)
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            what="This file is of no kind that is read here.",
            why="It is neither text nor NPY nor NPZ.",
            todo="Save the matrix as CSV, TSV, JSON, NPY or NPZ. Pickled files are not opened.",
        ) from error
    return _read_text(text, choose)


def _read_text(text: str, choose: str) -> Reading:
    if len(text) > MAX_TEXT_BYTES:
        raise _too_many_bytes(MAX_TEXT_BYTES)
    held = from_json(text)
    if held is None:
        matrix, notes = table_of(text)
        _check_cells(matrix.size)
        return Reading(matrix, notes)
    if isinstance(held, dict):
        return _named({name: _array(value) for name, value in held.items()}, choose)
    array = _array(held)
    if array is None:
        raise _no_numbers("The JSON is not a list of rows of numbers of one length.")
    return _picked(array, choose)


def _array(value: Any) -> np.ndarray | None:
    """Nested lists as an array of floats, null as NaN; None where they are not that."""
    if not isinstance(value, list):
        return None
    try:
        given = np.array(value, dtype=object)
        if any(isinstance(cell, (list, dict, str)) for cell in given.ravel()):
            return None
        return given.astype(np.float64)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None


def _read_npz(data: bytes, choose: str) -> Reading:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            if sum(info.file_size for info in members) > MAX_BYTES:
                raise _too_many_bytes(MAX_BYTES)
            held: dict[str, np.ndarray | None] = {}
            for info in members:
                with archive.open(info) as member:
                    # The size in the list may be a lie; what is read never passes the limit.
                    held[info.filename[:-4]] = _load_npy(member.read(MAX_BYTES + 1))
    except (BadInput, TooLarge):
        raise
    except Exception as error:  # zipfile and its decompressors raise a dozen kinds
        raise BadInput(
            what="The archive cannot be read.",
            why="It is damaged, encrypted, or packed in a way that is not known here.",
            todo="Save it again with numpy.savez.",
        ) from error
    return _named(held, choose)


def _load_npy(data: bytes) -> np.ndarray:
    """An array out of the bytes of an NPY file, of a size that its bytes bear out."""
    stream = io.BytesIO(data)
    try:
        version = npy.read_magic(stream)
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = header(stream)
        if dtype.kind not in "biuf":
            raise _no_numbers(
                f"Its cells are of the type {str(dtype)[:40]}, and only plain real "
                "numbers are read."
            )
        if math.prod(shape) * dtype.itemsize > len(data):
            raise _no_numbers("The array is cut short.")
        return np.load(io.BytesIO(data), allow_pickle=False)
    except BadInput:
        raise
    except Exception as error:  # a damaged header raises whatever its parser met
        raise _no_numbers("The NPY header is damaged.") from error


def _named(held: dict[str, np.ndarray | None], choose: str) -> Reading:
    arrays = {name: a for name, a in held.items() if a is not None and a.ndim > 1 and a.size > 1}
    if not arrays:
        raise _no_numbers("None of its parts is a matrix of numbers.")
    if len(arrays) == 1:
        ((name, only),) = arrays.items()
        reading = _picked(only, choose.removeprefix(f"{name}: "))
        return Reading(reading.matrix, [*reading.notes, f"Read from the part {name[:80]!r}."])
    name, _, rest = choose.partition(": ")
    if name in arrays:
        return _picked(arrays[name], rest, prefix=f"{name}: ")
    raise ManyMatrices(f"{len(arrays)} arrays", list(arrays)[:MAX_CHOICES])


def _picked(array: np.ndarray, choose: str, prefix: str = "") -> Reading:
    """The matrix itself, or the one chosen of a stack of them."""
    if array.dtype.kind not in "biuf":
        raise _no_numbers(f"Its cells are of the type {array.dtype}.")
    lead = array.shape[:-2]
    count = math.prod(lead)
    if count > 1:
        index = _index(choose, lead)
        if index is None:
            options = [", ".join(map(str, place)) for place in _places(lead)]
            shape = " x ".join(map(str, array.shape))
            raise ManyMatrices(shape, [prefix + option for option in options])
        array = array[index]
    elif array.ndim > 2 and count == 1:
        array = array.reshape(array.shape[-2:])
    _check_cells(array.size)
    return Reading(np.atleast_2d(array).astype(np.float64))


def _index(choose: str, lead: tuple[int, ...]) -> tuple[int, ...] | None:
    parts = choose.replace(",", " ").split()
    if len(parts) != len(lead) or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    index = tuple(int(part[:9]) for part in parts)
    return index if all(i < size for i, size in zip(index, lead, strict=True)) else None


def _places(lead: tuple[int, ...]) -> list[tuple[int, ...]]:
    places = []
    for place in np.ndindex(*lead):
        places.append(place)
        if len(places) == MAX_CHOICES:
            break
    return places


def _check_cells(cells: int) -> None:
    if cells > MAX_CELLS:
        raise TooLarge(
            what=f"The matrix has {cells:,} cells.",
            why=f"The check takes {MAX_CELLS:,}, which is 2,048 x 2,048.",
            todo="Give a part of it: some whole rows.",
        )
    if not cells:
        raise _no_numbers("It has no cells.")


def _too_many_bytes(limit: int) -> TooLarge:
    return TooLarge(
        what=f"This is more than {limit // 2**20} MB.",
        why="No more than that is read: a matrix of 2,048 x 2,048 in NPY is 34 MB.",
        todo="Save one head, as NPY or with fewer digits.",
    )


def _no_numbers(why: str) -> BadInput:
    return BadInput(
        what="There is no matrix of real numbers in this.",
        why=why,
        todo="Give rows of the same length that hold numbers only.",
    )
