"""What heads do on average over a corpus of texts, and the texts that show each best.

>>> import tempfile
>>> from attnviz.survey import survey
>>> found = survey("planted-circuit", ["red fox ran home red fox", "the cat sat on the cat"],
...                tempfile.mkdtemp())
>>> found.texts, found.grid("previous_token").shape
(2, (2, 3))
"""  # fmt: skip

from importlib import import_module
from typing import Any

_HOMES = {
    "Corpus": "corpus",
    "Example": "examples",
    "Progress": "run",
    "Survey": "result",
    "Text": "corpus",
    "open_survey": "result",
    "read_corpus": "corpus",
    "survey": "run",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Names are loaded when first used: the command line reads its options without torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'attnviz.survey' has no attribute {name!r}")
    return getattr(import_module(f"attnviz.survey.{_HOMES[name]}"), name)
