"""Experiments on one question: does this attention matter to what the model puts out?

Each experiment runs on a model and a capture of the reader's own, beside a baseline, and says
how far it carries. None of them shows a reason in human terms.
"""

from attnviz.faithfulness.agreement import Agreement, agreement
from attnviz.faithfulness.logit_attribution import DirectPath, direct_path
from attnviz.faithfulness.other_weights import (
    Adversary,
    Erasure,
    Permutations,
    adversary,
    erasure,
    flat,
    permutations,
)
from attnviz.faithfulness.rollout import rollout, uniform_rollout
from attnviz.heads.distances import js_divergence, kendall, spearman, total_variation

__all__ = [
    "Adversary",
    "Agreement",
    "DirectPath",
    "Erasure",
    "Permutations",
    "adversary",
    "agreement",
    "direct_path",
    "erasure",
    "flat",
    "js_divergence",
    "kendall",
    "permutations",
    "rollout",
    "spearman",
    "total_variation",
    "uniform_rollout",
]
