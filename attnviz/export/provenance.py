"""Provenance: what is written beside the numbers of a file, so that they can be made again."""

import json
import math
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

import attnviz
from attnviz.errors import BadInput
from attnviz.export.changes import as_data
from attnviz.interventions import Run

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.models import ModelInfo

FORMAT = 1
"""Raised when a file of today could no longer be read as one of yesterday."""
MOST_READ = 64 * 2**20
"""Characters of a provenance that is read back; a small file may claim any number of them."""
_IDS = ("input_ids", "attention_mask", "token_type_ids", "decoder_input_ids")
_PACKAGES = ("torch", "transformers", "tokenizers", "numpy")


def find_capture(of: "Capture | Run") -> "Capture":
    """What the numbers of a view are read off: of a run, its capture with the interventions."""
    return of.capture if isinstance(of, Run) else of


def of_view(
    place: Mapping[str, Any], link: str = "", capture: "Capture | None" = None
) -> dict[str, Any]:
    """The source of a view: of its capture where it has one, which place it shows, the address
    that shows the same."""
    made = {"versions": versions()} if capture is None else of_capture(capture)
    return made | {"place": dict(place)} | ({"link": link} if link else {})


def of_capture(capture: "Capture") -> dict[str, Any]:
    """Model, input, receipt and versions of a capture, and its interventions where it has some."""
    receipt = capture.receipt
    changes = [as_data(change) for change in capture.interventions]
    return {
        "model": of_model(capture.info),
        "input": {
            "asked": dict(capture.asked),
            **{name: capture.forward[name][0].tolist() for name in _IDS if name in capture.forward},
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
    """Provenance as one line of strict JSON in ASCII; numpy's numbers as numbers, and the names of
    NaN and the infinities, for which JSON has no number."""
    loose = json.dumps(provenance, default=np.generic.item)
    return json.dumps(json.loads(loose, parse_constant=str), separators=(",", ":"))


def read(text: str | bytes) -> dict[str, Any]:
    """What `write` wrote; whatever stands behind it is not looked at.

    Raises:
        BadInput: it is something else, or of a later attnviz.
    """
    text = text[:MOST_READ]
    try:
        words = text.decode() if isinstance(text, bytes) else text
        found, _ = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(words)
        number = int(str(found["format"]).removeprefix("attnviz "))
        if number <= FORMAT:
            _check(found)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        refuse_file(error)
    if number > FORMAT:
        raise BadInput(
            what=f"This file was written in format {number} of attnviz.",
            why=f"This version reads format {FORMAT}.",
            todo="Install a newer attnviz.",
        )
    checked: dict[str, Any] = found
    return checked


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
        if "sha256" in about:  # files of before have no digests
            largest = about["largest"]
            known = largest is None or math.isfinite(largest)
            if not known or not isinstance(about["sha256"], str):
                raise ValueError("no digest")
    for name in ("place", "model", "input"):
        if not isinstance(found.get(name, {}), dict):
            raise ValueError("not an object")
    changes = found.get("interventions", [])
    if not isinstance(changes, list) or not all(isinstance(one, dict) for one in changes):
        raise ValueError("not interventions")


def refuse_file(cause: Exception | None = None) -> NoReturn:
    """Raise what says that a file holds no view."""
    raise BadInput(
        what="This file holds no view of attnviz.",
        why="The note about where its numbers come from is missing or damaged.",
        todo="Give a file that attnviz wrote.",
    ) from cause


def _refuse_constant(constant: str) -> None:
    raise ValueError(constant)
