"""Rollout: weights multiplied through the layers, and the same for attention that knows nothing.

Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers": heads averaged, the identity
added for the residual path, rows renormalised, layers multiplied. It leaves out values, output
projections, feed-forward layers and every sign.
"""

from typing import TYPE_CHECKING

import numpy as np

from attnviz.heads.softmax import Array
from attnviz.progress import Step

if TYPE_CHECKING:
    from attnviz.capture.result import Capture


def rollout(
    capture: "Capture",
    stack: str | None = None,
    layers: int | None = None,
    *,
    progress: Step | None = None,
) -> Array:
    """(query, key): how much of each input token reaches each output place, by rollout.

    Rows are probabilities and add up to 1. `layers` stops after that many layers. `progress` is
    called with (done, total) after each.
    """
    result: Array | None = None
    chosen = capture.layers(stack)[:layers]
    for done, layer in enumerate(chosen, start=1):
        block = capture.block(layer, stack)
        mean = np.mean([block.head(h).weights for h in range(block.heads)], axis=0)  # (query, key)
        step = _step(mean)
        result = step if result is None else step @ result
        if progress:
            progress(done, len(chosen))
    assert result is not None  # a capture has at least one block
    return result


def uniform_rollout(tokens: int, layers: int, *, causal: bool) -> Array:
    """(query, key): the rollout of attention that is even over every key it may see.

    >>> uniform_rollout(3, 2, causal=True).round(4).tolist()[1]
    [0.4375, 0.5625, 0.0]
    """
    even = np.tri(tokens, dtype=np.float32) if causal else np.ones((tokens, tokens), np.float32)
    step = _step(even / even.sum(axis=1, keepdims=True))
    return np.asarray(np.linalg.matrix_power(step, layers))


def _step(weights: Array) -> Array:
    """One layer: the weights, the residual path beside them, each row a share again."""
    with_residual = weights + np.eye(*weights.shape, dtype=np.float32)
    return with_residual / with_residual.sum(axis=1, keepdims=True)
