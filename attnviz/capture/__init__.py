"""One forward pass -> a Capture: query, key, value and the call's own arguments of every block.

The package and its main function share one name in the public API: `attnviz.capture(model, text)`
must work, also after `import attnviz.capture`, so the module itself can be called.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnviz.capture.result import Capture as Capture

_HOMES = {
    "capture": "attnviz.capture.forward",
    "Capture": "attnviz.capture.result",
    "Receipt": "attnviz.capture.receipt",
}


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> "Capture":
        from attnviz.capture.forward import capture

        return capture(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attnviz.capture' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
