"""The arrays of a view as NPZ and as JSON, with the provenance inside."""

import io
import json
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnviz.export import provenance
from attnviz.export.tables import number
from attnviz.export.view import REASON

if TYPE_CHECKING:
    from attnviz.export.view import View

_ENTRY = "provenance"
# what zipfile and numpy say of a damaged file: among them, a way of packing that nobody knows, a
# password, a shape that no memory holds
_DAMAGE = (
    *(ValueError, KeyError, OSError, EOFError, NotImplementedError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, SyntaxError, TypeError),
)
MOST_UNPACKED = 2**30  # bytes; a small file may claim to hold any number of zeros


def to_npz(view: "View") -> bytes:
    """Every array under its name, and "provenance", a text: `json.loads(str(file["provenance"]))`.

    The same view gives the same bytes.
    """
    out = io.BytesIO()
    text = np.array(provenance.write(view.provenance))
    np.savez_compressed(out, allow_pickle=False, **view.arrays, **{_ENTRY: text})
    return out.getvalue()


def from_npz(data: bytes) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """The arrays and the provenance of an NPZ that `to_npz` wrote. Nothing pickled is opened."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > MOST_UNPACKED:
                raise provenance.not_ours()
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        made = provenance.read(str(arrays.pop(_ENTRY)))
    except _DAMAGE as error:
        raise provenance.not_ours() from error
    return arrays, made


def to_json(view: "View") -> bytes:
    """Provenance and arrays as strict JSON.

    Masked is null; not a number is "NaN", and an infinity "Infinity" or "-Infinity".
    """
    arrays = {}
    for name, values in view.arrays.items():
        masked = name in view.quantities and view.quantities[name].masked
        hidden = view.quantities[REASON].values != 0 if masked else np.zeros(values.shape, bool)
        arrays[name] = _nested(values, hidden)
    whole = f'{{"provenance":{provenance.write(view.provenance)},"arrays":{json.dumps(arrays)}}}'
    return whole.encode()


def _nested(values: NDArray, hidden: NDArray) -> list[Any]:
    cells = values.astype(object)
    if values.dtype.kind == "f":
        # as text and back: the decimal of the float32 itself, not of the float64 it becomes
        words = [number(value) for value in values.ravel()]
        read = [float(w) if w[-1].isdigit() else w for w in words]
        cells = np.array(read, object).reshape(values.shape)
    cells[hidden] = None
    nested: list[Any] = cells.tolist()
    return nested


def from_json(data: bytes) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """The arrays and the provenance of a JSON file that `to_json` wrote."""
    try:
        whole = json.loads(data)
        made = provenance.read(json.dumps(whole["provenance"]))
        raw = whole["arrays"]
        found = {
            name: _unnested(raw[name], about["dtype"]) for name, about in made["arrays"].items()
        }
        for name in made["axis_order"]:
            found[f"{name}_places"] = np.array(raw[f"{name}_places"], np.int64)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise provenance.not_ours() from error
    return found, made


def _unnested(cells: Any, dtype: str) -> NDArray:
    raw = np.array(cells, object)
    flat = [-np.inf if cell is None else float(cell) for cell in raw.ravel()]
    return np.array(flat).reshape(raw.shape).astype(dtype)
