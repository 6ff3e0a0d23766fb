"""Distances between distributions, logits and states, and agreement between rankings.

What takes logits says so in its name; the rest takes probabilities.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]


def softmax(logits: ArrayLike) -> Numbers:
    """A row of logits as probabilities."""
    row = np.asarray(logits, np.float64)
    exp = np.exp(row - row.max(axis=-1, keepdims=True))
    return exp / exp.sum(axis=-1, keepdims=True)


def total_variation(p: ArrayLike, q: ArrayLike) -> float:
    """Half the summed absolute difference of two distributions, 0 to 1.

    >>> total_variation([0.5, 0.5], [0.9, 0.1])
    0.4
    """
    return float(np.abs(np.asarray(p, float) - np.asarray(q, float)).sum() / 2)


def entropy(p: NDArray) -> Numbers:
    """Of distributions along the last axis, in nats."""
    logs = np.log(np.where(p > 0, p, 1))  # 0 ln 0 is 0
    return -(p * logs).sum(axis=-1)


def row_divergences(p: NDArray, q: NDArray) -> tuple[Numbers, Numbers]:
    """Total variation and Jensen-Shannon divergence, in nats, along the last axis of two arrays of
    distributions that broadcast; NaN where either holds one."""
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    total = np.abs(p - q).sum(axis=-1) / 2
    nats = entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2
    return total, np.maximum(nats, 0)  # rounding may leave a hair less than nothing


def js_divergence(p: ArrayLike, q: ArrayLike) -> float:
    """Jensen-Shannon divergence of two distributions, in nats, 0 to ln 2 = 0.693147.

    >>> round(js_divergence([1, 0], [0, 1]), 6)
    0.693147
    """
    one, other = np.asarray(p, np.float64), np.asarray(q, np.float64)
    middle = (one + other) / 2
    return max(0.0, (_kl(one, middle) + _kl(other, middle)) / 2)


def _kl(p: Numbers, q: Numbers) -> float:
    seen = p > 0
    return float((p[seen] * np.log(p[seen] / np.maximum(q[seen], 1e-300))).sum())


def logit_kl(before: NDArray | None, after: NDArray | None) -> float:
    """KL(before || after), in nats, of the distributions that the last rows of two arrays of
    logits stand for; NaN where there is none."""
    if before is None or after is None or not len(before):
        return float("nan")
    return max(0.0, _kl(softmax(before[-1]), softmax(after[-1])))


def logit_variation(before: NDArray | None, after: NDArray | None) -> float:
    """The total variation, 0 to 1, of the distributions that the last rows of two arrays of
    logits stand for; NaN where there is none."""
    if before is None or after is None or not len(before):
        return float("nan")
    return total_variation(softmax(before[-1]), softmax(after[-1]))


def cosine_distance(before: NDArray, after: NDArray) -> NDArray[np.float32]:
    """(position,) 1 minus the cosine between rows, 0 to 2."""
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    return 1 - (before * after).sum(axis=1) / np.maximum(lengths, 1e-12)


def ranks(values: ArrayLike) -> Numbers:
    """1 for the largest; equal values share the mean of their ranks."""
    row = np.asarray(values, np.float64)
    larger = (row[None, :] > row[:, None]).sum(axis=1)
    equal = (row[None, :] == row[:, None]).sum(axis=1)
    return larger + (equal + 1) / 2


def spearman(one: ArrayLike, other: ArrayLike) -> float:
    """Rank correlation, -1 to 1; NaN where either side does not vary.

    >>> spearman([1, 2, 3], [10, 20, 25])
    1.0
    """
    a, b = ranks(one), ranks(other)
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a * a).sum() * (b * b).sum())
    return float((a * b).sum() / size) if size > 0 else float("nan")


def kendall(one: ArrayLike, other: ArrayLike) -> float:
    """Kendall's tau-b, -1 to 1: pairs in the same order against pairs in the opposite one, with
    ties left out of both sides' counts; NaN where either side does not vary.

    >>> round(kendall([1, 2, 3], [1, 3, 2]), 4)
    0.3333
    """
    a, b = _pairs(one), _pairs(other)
    size = np.sqrt((a * a).sum() * (b * b).sum())
    return float((a * b).sum() / size) if size > 0 else float("nan")


def _pairs(values: ArrayLike) -> Numbers:
    row = np.asarray(values, np.float64)
    return np.sign(row[:, None] - row[None, :])
