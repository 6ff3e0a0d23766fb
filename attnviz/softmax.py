"""The bridge between scores and weights: the stages of a score, and softmax with an optional sink.

Everything here works on numpy arrays whose last two axes are (query, key); leading axes, such as
(head,), broadcast. One implementation serves the pictures and the check of every capture.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Mask = NDArray[np.bool_]


def score_stages(
    q: Array,
    k: Array,
    *,
    scaling: float,
    softcap: float | None = None,
    biases: Mapping[str, Array] | None = None,
    temperature: float = 1.0,
    allowed: Mask | None = None,
) -> dict[str, Array]:
    """The score at each stage on its way to softmax, in order.

    Args:
        q: queries, (..., query, d_k).
        k: keys, (..., key, d_k).
        scaling: the factor on the product; 1/sqrt(d_k) in Vaswani et al. 2017, eq. 1.
        softcap: c in c * tanh(score / c), Gemma 2 (2024), section 2.
        biases: position biases by name, each broadcast to (..., query, key); ALiBi, T5 and kin.
        temperature: divides the score after cap and bias, before the mask.
        allowed: (..., query, key), False where the query may not look at the key.

    Returns:
        {stage: (..., query, key) float32}: "dot", "scaled", then those that apply of "capped",
        "biased", "tempered", "masked". Unit-less, any real number; the masked stage holds -inf
        where masked.

    >>> q, k = np.float32([[1, 2]]), np.float32([[3, 4], [0, 1]])
    >>> score_stages(q, k, scaling=0.5)["scaled"].tolist()
    [[5.5, 1.0]]
    """
    stages = {"dot": q @ np.swapaxes(k, -1, -2)}
    stages["scaled"] = stages["dot"] * np.float32(scaling)
    score = stages["scaled"]
    if softcap is not None:
        score = stages["capped"] = np.float32(softcap) * np.tanh(score / np.float32(softcap))
    return stages | later_stages(score, biases=biases, temperature=temperature, allowed=allowed)


def later_stages(
    score: Array,
    *,
    biases: Mapping[str, Array] | None = None,
    temperature: float = 1.0,
    allowed: Mask | None = None,
) -> dict[str, Array]:
    """The stages from bias to mask, for a (..., query, key) score taken any way."""
    stages: dict[str, Array] = {}
    if biases:
        score = stages["biased"] = score + sum(biases.values())
    if temperature != 1.0:
        score = stages["tempered"] = score / np.float32(temperature)
    if allowed is not None and not allowed.all():
        stages["masked"] = np.where(allowed, score, np.float32(-np.inf))
    return stages


def weigh(scores: Array, sink_logit: Array | float | None = None) -> tuple[Array, Array]:
    """Softmax over keys: (weights, sink).

    Args:
        scores: (..., query, key), -inf where masked.
        sink_logit: a learned logit that joins each row's softmax and takes no value (gpt-oss),
            broadcast to (..., query).

    Returns:
        weights (..., query, key) and sink (..., query), both probabilities, 0 to 1; a row of
        weights plus its sink is 1. A row whose keys are all masked attends to nothing: its
        weights are all 0, and so is its sink unless the model has a sink logit.

    >>> weights, sink = weigh(np.float32([[0, 0]]), sink_logit=0.0)
    >>> weights.round(3).tolist(), sink.round(3).tolist()
    ([[0.333, 0.333]], [0.333])
    """
    top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    extra = np.full(top.shape, -np.inf, np.float32)
    if sink_logit is not None:
        extra = np.broadcast_to(np.asarray(sink_logit, np.float32)[..., None], top.shape)
        top = np.maximum(top, extra)
    shift = np.where(np.isfinite(top), top, np.float32(0))
    weights, extra = np.exp(scores - shift), np.exp(extra - shift)
    total = weights.sum(axis=-1, keepdims=True) + extra
    total[total == 0] = 1
    return weights / total, (extra / total)[..., 0]
