"""What heads do on average over a corpus of texts, and the texts that show each best.

>>> import attnviz, tempfile
>>> texts = ["red fox ran home red fox", "the cat sat on the cat"]
>>> found = attnviz.survey("planted-circuit", texts, tempfile.mkdtemp())
>>> found.texts, found.grid("previous_token").shape
(2, (2, 3))

`attnviz.survey(...)` is `attnviz.survey.survey(...)`: the module itself can be called.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnviz.survey.survey_tables import Survey as Survey

_HOMES = {
    "Corpus": "corpus",
    "Example": "best_examples",
    "Plan": "cost_plan",
    "Progress": "survey_run",
    "Survey": "survey_tables",
    "Text": "corpus",
    "open_survey": "survey_tables",
    "plan": "cost_plan",
    "read_corpus": "corpus",
    "survey": "survey_run",
}

__all__ = sorted(_HOMES)


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> "Survey":
        from attnviz.survey.survey_run import survey

        return survey(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule


def __getattr__(name: str) -> Any:
    """Names are loaded when first used: the command line reads its options without torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'attnviz.survey' has no attribute {name!r}")
    return getattr(import_module(f"attnviz.survey.{_HOMES[name]}"), name)
