"""The bridge between scores and weights: the stages of a score, and softmax with an optional sink.

Everything here works on numpy arrays whose last two axes are (query, key); leading axes, such as
(head,), broadcast. One implementation serves the pictures and the check of every capture.
"""

from collections.abc import Callable, Iterator, Mapping

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
    score = q @ np.swapaxes(k, -1, -2)
    return _staged("dot", score, _steps(scaling, softcap, biases, temperature, allowed))


def later_stages(
    score: Array,
    *,
    biases: Mapping[str, Array] | None = None,
    temperature: float = 1.0,
    allowed: Mask | None = None,
) -> dict[str, Array]:
    """The stages from bias to mask, for a (..., query, key) score taken any way."""
    stages = _staged("", score, _steps(None, None, biases, temperature, allowed))
    del stages[""]
    return stages


def last_stage(
    score: Array,
    *,
    scaling: float | None = None,
    softcap: float | None = None,
    biases: Mapping[str, Array] | None = None,
    allowed: Mask | None = None,
) -> Array:
    """The last stage alone, in the place of the array that is given: a product of queries and
    keys, or, without a scaling, a score taken any way."""
    for _, step in _steps(scaling, softcap, biases, 1.0, allowed):
        score = step(score, score)
    return score


_Step = Callable[[Array, Array | None], Array]
"""Makes the next stage of one, in the array given or in a new one."""


def _steps(
    scaling: float | None,
    softcap: float | None,
    biases: Mapping[str, Array] | None,
    temperature: float,
    allowed: Mask | None,
) -> Iterator[tuple[str, _Step]]:
    """Those that apply, in order."""
    if scaling is not None:
        yield "scaled", lambda score, out: np.multiply(score, np.float32(scaling), out=out)
    if softcap is not None:
        cap = np.float32(softcap)
        yield "capped", lambda score, out: cap * np.tanh(score / cap, out=out)
    if biases:
        added = sum(biases.values())
        yield "biased", lambda score, out: np.add(score, added, out=out)
    if temperature != 1.0:
        yield "tempered", lambda score, out: np.divide(score, np.float32(temperature), out=out)
    if allowed is not None and not allowed.all():
        yield "masked", lambda score, out: _masked(score, allowed, out)


def _staged(name: str, score: Array, steps: Iterator[tuple[str, _Step]]) -> dict[str, Array]:
    stages = {name: score}
    for name, step in steps:
        score = stages[name] = step(score, None)
    return stages


def _masked(score: Array, allowed: Mask, out: Array | None) -> Array:
    if out is None:
        return np.where(allowed, score, np.float32(-np.inf))
    some = ~allowed.all(axis=tuple(range(allowed.ndim - 1)))  # keys that some row may not look at
    first = int(some.argmax())
    np.copyto(out[..., first:], -np.inf, where=~allowed[..., first:])
    return out


def weigh(
    scores: Array, sink_logit: Array | float | None = None, *, out: Array | None = None
) -> tuple[Array, Array]:
    """Softmax over keys: (weights, sink).

    Args:
        scores: (..., query, key), -inf where masked.
        sink_logit: a learned logit that joins each row's softmax and takes no value (gpt-oss),
            broadcast to (..., query).
        out: where the weights go; it may be `scores` itself. A new array by default.

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
    weights, extra = np.subtract(scores, shift, out=out), np.exp(extra - shift)
    np.exp(weights, out=weights)
    total = weights.sum(axis=-1, keepdims=True) + extra
    total[total == 0] = 1
    weights /= total
    return weights, (extra / total)[..., 0]
