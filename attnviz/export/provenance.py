"""Provenance: what is written beside the numbers of a file, so that they can be made again."""

import json
import math
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

import attnviz
from attnviz.errors import BadInput
from attnviz.export.changes import as_data

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.models import ModelInfo

FORMAT = 1
"""Raised when a file of today could no longer be read as one of yesterday."""
_PACKAGES = ("torch", "transformers", "tokenizers", "numpy")


def of_capture(capture: "Capture") -> dict[str, Any]:
    """Model, input, receipt and versions of a capture, and its what-ifs where it has some."""
    receipt = capture.receipt
    changes = [as_data(change) for change in capture.interventions]
    return {
        "model": of_model(capture.info),
        "input": {
            "asked": dict(capture.asked),
            **{name: ids[0].tolist() for name, ids in capture.forward.items() if _is_ids(name)},
            "notes": list(capture.notes),
        },
        "receipt": {
            "largest_error": float(receipt.largest_error),
            "rows_checked": receipt.rows_checked,
            "blocks": receipt.recorded,
            "method": receipt.method,
            "attention": receipt.attention,
            "dtype": receipt.dtype,
        },
        **({"interventions": changes} if changes else {}),
        "versions": versions(),
    }


def _is_ids(name: str) -> bool:
    return name in ("input_ids", "attention_mask", "token_type_ids", "decoder_input_ids")


def of_model(info: "ModelInfo") -> dict[str, Any]:
    """What a model is, and what pins its weights."""
    return {
        "name": info.name,
        "revision": info.revision,
        "dtype": info.dtype,
        "architecture": info.architecture,
        "kind": info.kind,
        "layers": info.layers,
        "heads": info.heads,
        "kv_heads": info.kv_heads,
        "parameters": info.parameters,
    }


def versions() -> dict[str, str]:
    """The version of everything that has a part in the numbers."""
    found = {"attnviz": attnviz.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found | {"machine": f"{sys.platform} {platform.machine()}"}


def loadable(model: Mapping[str, Any]) -> bool:
    """Whether `attnviz.load` finds a model by its name: not an object that was wrapped, nor a
    folder, of which only the last part of the path is kept."""
    from attnviz.models.catalog import CATALOG

    revision = str(model["revision"])
    return bool(revision) and (model["name"] in CATALOG or not revision.startswith("content:"))


def write(provenance: Mapping[str, Any]) -> str:
    """Provenance as one line of strict JSON in ASCII."""
    return json.dumps(_strict(provenance), allow_nan=False, separators=(",", ":"))


def read(text: str | bytes) -> dict[str, Any]:
    """What `write` wrote.

    Raises:
        BadInput: it is something else, or of a later attnviz.
    """
    try:
        found = json.loads(text, parse_constant=_refuse)
        number = int(str(found["format"]).removeprefix("attnviz "))
        if number <= FORMAT:
            _check(found)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise not_ours() from error
    if number > FORMAT:
        raise BadInput(
            what=f"This file was written in format {number} of attnviz.",
            why=f"This version reads format {FORMAT}.",
            todo="Install a newer attnviz.",
        )
    return found


def _check(found: Mapping[str, Any]) -> None:
    """Raise ValueError, KeyError or TypeError where the axes and arrays are not as `complete`
    writes them: what reads a file may rely on them."""
    order, axes, arrays = found["axis_order"], found["axes"], found["arrays"]
    kinds = ((order, list), (axes, dict), (arrays, dict), (found["versions"], dict))
    if not all(isinstance(value, kind) for value, kind in kinds) or set(order) != set(axes):
        raise ValueError("not an object")
    lengths = {name: len(np.array(axes[name]["places"], np.int64)) for name in order}
    for about in arrays.values():
        shape = [lengths[name] for name in about["axes"]]
        if list(about["shape"]) != shape or np.dtype(about["dtype"]).kind not in "iufb":
            raise ValueError("not an array")
    for name in ("place", "model", "input"):
        if not isinstance(found.get(name, {}), dict):
            raise ValueError("not an object")
    changes = found.get("interventions", [])
    if not isinstance(changes, list) or not all(isinstance(one, dict) for one in changes):
        raise ValueError("not what-ifs")


def not_ours() -> BadInput:
    return BadInput(
        what="This file holds no view of attnviz.",
        why="The note about where its numbers come from is missing or damaged.",
        todo="Give a file that attnviz wrote.",
    )


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _strict(value: Any) -> Any:
    """JSON has no number for NaN and the infinities: their names stand for them."""
    if isinstance(value, Mapping):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    if isinstance(value, np.generic):
        return _strict(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
