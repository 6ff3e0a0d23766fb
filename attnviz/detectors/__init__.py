"""What kind of head is this: numbers a head, each with a definition, a null and a ceiling.

A measure on a reader's own text gauges the text as well as the head; `repeated` gives a text of
random tokens, on which it is the head alone.

>>> import attnviz
>>> from attnviz.detectors import profile, repeated
>>> heads = profile(repeated(attnviz.load("planted-circuit")))
>>> heads.found("duplicate_token"), heads.found("previous_token")
([(0, 1)], [(0, 0)])
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "Alike": "similarity",
    "HEAD_MEASURES": "measures",
    "HeadMeasure": "measures",
    "HeadProfile": "profiles",
    "SHARES": "measures",
    "Thumbnails": "thumbnail_maps",
    "alike": "similarity",
    "controls": "control_texts",
    "effect": "ablation",
    "head_grid": "profiles",
    "profile": "profiles",
    "repeated": "repeated_text",
    "thumbnails": "thumbnail_maps",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Names are loaded when first used: what measures there are is known without torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'attnviz.detectors' has no attribute {name!r}")
    return getattr(import_module(f"attnviz.detectors.{_HOMES[name]}"), name)
