"""Which models there are, where they come from, what they cost, and loading them safely.

Names are loaded when first used: importing this package, or its catalog, does not import torch.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "load": "attnviz.models.loading",
    "wrap": "attnviz.models.loading",
    "LoadedModel": "attnviz.models.loaded",
    "ModelInfo": "attnviz.models.loaded",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attnviz.models' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
