"""The arrays of a view as NPZ and as JSON, with the provenance inside."""

import io
import json
import re
import tokenize
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnviz.export import provenance
from attnviz.export.tables import write_number
from attnviz.export.view import REASON

if TYPE_CHECKING:
    from attnviz.export.view import View

_ENTRY = "provenance"
_JSON = re.compile(rb'\s*\{\s*"provenance"\s*:\s*')  # how a file begins, laid out anew or not
# what zipfile and numpy say of a damaged file: among them, a way of packing that nobody knows, a
# password, a shape that no memory holds
_DAMAGE = (
    *(ValueError, KeyError, OSError, EOFError, NotImplementedError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, SyntaxError, TypeError, tokenize.TokenError),
)
MOST_UNPACKED = 2**30  # bytes; a small file may claim to hold any write_number of zeros


def to_npz(view: "View") -> bytes:
    """Every array under its name, and "provenance", a text: `json.loads(str(file["provenance"]))`.

    The same view gives the same bytes.
    """
    out = io.BytesIO()
    text = np.array(provenance.write(view.provenance))
    np.savez_compressed(out, allow_pickle=False, **view.arrays, **{_ENTRY: text})
    return out.getvalue()


def read_npz(data: bytes) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """The arrays and the provenance of an NPZ that `to_npz` wrote. Nothing pickled is opened."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > MOST_UNPACKED:
                provenance.refuse_file()
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        made = provenance.read(str(arrays.pop(_ENTRY)))
    except _DAMAGE as error:
        provenance.refuse_file(error)
    return arrays, made


def to_json(view: "View") -> bytes:
    """Provenance and arrays as strict JSON.

    Masked is null; not a write_number is "NaN", and an infinity "Infinity" or "-Infinity".
    """
    arrays = {}
    for name, values in view.arrays.items():
        masked = name in view.quantities and view.quantities[name].masked
        hidden = view.quantities[REASON].values != 0 if masked else np.zeros(values.shape, bool)
        arrays[name] = _nest_cells(values, hidden)
    whole = f'{{"provenance":{provenance.write(view.provenance)},"arrays":{json.dumps(arrays)}}}'
    return whole.encode()


def _nest_cells(values: NDArray, hidden: NDArray) -> list[Any]:
    cells = values.astype(object)
    if values.dtype.kind == "f":
        # as text and back: the decimal of the float32 itself, not of the float64 it becomes
        words = [write_number(value) for value in values.ravel()]
        read = [float(w) if w[-1].isdigit() else w for w in words]
        cells = np.array(read, object).reshape(values.shape)
    cells[hidden] = None
    nested: list[Any] = cells.tolist()
    return nested


def read_json_provenance(data: bytes) -> dict[str, Any]:
    """The provenance in a JSON file that `to_json` wrote; its arrays are left alone."""
    start = _JSON.match(data)
    whole = start is not None and data[-64:].rstrip().endswith(b"}")
    return provenance.read(data[start.end() :] if start and whole else "")
