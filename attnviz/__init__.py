"""Attention scores beside attention weights, exact, for any Hugging Face text model.

Names are loaded when first used, so that `import attnviz` stays light and a page can be drawn
before torch is imported.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnviz.capture.cost import Estimate as Estimate
    from attnviz.capture.cost import estimate as estimate
    from attnviz.capture.forward import capture as capture
    from attnviz.capture.result import Capture as Capture
    from attnviz.errors import (
        AttnvizError as AttnvizError,
    )
    from attnviz.errors import (
        BadInput as BadInput,
    )
    from attnviz.errors import (
        CaptureFailed as CaptureFailed,
    )
    from attnviz.errors import (
        ModelNotFound as ModelNotFound,
    )
    from attnviz.errors import (
        ModelRefused as ModelRefused,
    )
    from attnviz.errors import (
        TooLarge as TooLarge,
    )
    from attnviz.errors import (
        UnsupportedModel as UnsupportedModel,
    )
    from attnviz.heads.head import Head as Head
    from attnviz.heads.masks import MASK_REASONS as MASK_REASONS
    from attnviz.interventions.run import Run as Run
    from attnviz.interventions.run import run as run
    from attnviz.matrix_check.check import check_matrix as check_matrix
    from attnviz.matrix_check.verdict import MatrixVerdict as MatrixVerdict
    from attnviz.models.loaded import LoadedModel as LoadedModel
    from attnviz.models.loading import load as load
    from attnviz.models.loading import wrap as wrap
    from attnviz.survey.survey_run import survey as survey


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
