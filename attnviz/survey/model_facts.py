"""Model facts: what the numbers of a survey depend on beside its texts."""

import importlib.metadata
from typing import TYPE_CHECKING, Any

import attnviz

if TYPE_CHECKING:
    from attnviz.models import LoadedModel

_VERSIONS = ("attnviz", "torch", "transformers", "numpy")


def model_facts(model: "LoadedModel") -> dict[str, Any]:
    """What numbers depend on beside the texts."""
    info = model.info
    versions = {name: _version(name) for name in _VERSIONS}
    facts = {"model": info.name, "revision": info.revision, "dtype": info.dtype}
    return {**facts, "architecture": info.architecture, "versions": versions}


def _version(package: str) -> str:
    if package == "attnviz":
        return attnviz.__version__
    return importlib.metadata.version(package)
