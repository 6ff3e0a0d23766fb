"""Interventions: change a score, a mask, a weight, a value or a head, and run again.

>>> import attnviz
>>> from attnviz.interventions import Ablate, HideKeys, Temper
>>> model = attnviz.load("planted-circuit")
>>> run = attnviz.run(model, "the cat sat the cat", interventions=[Temper(0, 1, temperature=2.0)])
"""

from attnviz.interventions.engine import effects
from attnviz.interventions.kinds import (
    Ablate,
    AddToScore,
    Flatten,
    HideKeys,
    Intervention,
    Permute,
    SetWeights,
    Temper,
    ZeroValue,
)
from attnviz.interventions.run import Run, run

__all__ = [
    "Ablate",
    "AddToScore",
    "Flatten",
    "HideKeys",
    "Intervention",
    "Permute",
    "Run",
    "SetWeights",
    "Temper",
    "ZeroValue",
    "effects",
    "run",
]
