"""Attention scores beside attention weights, exact, for any Hugging Face text model.

Names are loaded when first used, so that `import attnviz` stays light and a page can be drawn
before torch is imported.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "load": "attnviz.models",
    "wrap": "attnviz.models",
    "LoadedModel": "attnviz.models",
    "capture": "attnviz.capture",
    "Capture": "attnviz.capture",
    "survey": "attnviz.survey",
    "run": "attnviz.interventions",
    "Run": "attnviz.interventions",
    "Head": "attnviz.heads.head",
    "estimate": "attnviz.capture.cost",
    "Estimate": "attnviz.capture.cost",
    "MASK_REASONS": "attnviz.heads.masks",
    "check_matrix": "attnviz.matrix_check",
    "MatrixVerdict": "attnviz.matrix_check",
    "AttnvizError": "attnviz.errors",
    "BadInput": "attnviz.errors",
    "CaptureFailed": "attnviz.errors",
    "ModelNotFound": "attnviz.errors",
    "ModelRefused": "attnviz.errors",
    "TooLarge": "attnviz.errors",
    "UnsupportedModel": "attnviz.errors",
}

__all__ = sorted(_HOMES)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attnviz' has no attribute {name!r}")
    module = import_module(_HOMES[name])
    # a package of the same name is here now, and can be called as the function
    return globals().get(name) or getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
