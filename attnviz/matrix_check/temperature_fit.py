"""Bridge: whether one matrix is the softmax of another, and at what temperature."""

from dataclasses import dataclass

import numpy as np

from attnviz.matrix_check.facts import Facts
from attnviz.matrix_check.mask_shape import Cells
from attnviz.matrix_check.verdict import Matrix, PairTemperature

LOG_ERROR = 2e-6  # of the logarithm of a float32 weight
_TINY = 1e-30  # weights below it have lost digits
_PAIRS = 12


@dataclass(frozen=True)
class Bridge:
    """What was found between scores and weights.

    temperature: T with softmax(scores / T) = weights in every row, None if no T fits or any does.
    low, high: the temperatures that the precision of the numbers leaves open.
    own: (query,) the temperature of each row by itself, NaN where it has none.
    error: the largest difference from the weights at that temperature.
    sink_logit: the one logit that accounts for what the rows lack, None if there is none.
    any_temperature: the scores of each row are all equal, and so are its weights.
    """

    holds: bool
    temperature: float | None = None
    low: float | None = None
    high: float | None = None
    own: Matrix | None = None
    error: float | None = None
    sink_logit: float | None = None
    any_temperature: bool = False
    pairs: tuple[PairTemperature, ...] = ()


def bridge(scores: Facts, weights: Facts) -> Bridge:
    """Look for a temperature. Both are (query, key), of one shape.

    With w_j = exp(s_j / T) / Z, two keys of a row give (s_a - s_b) / T = ln w_a - ln w_b. Each
    number is known within its precision, so each pair leaves T an interval; one T must lie in
    all of them. Pairs are taken with the key of the largest weight in the row.
    """
    used = scores.seen & weights.seen & np.isfinite(scores.filled) & (weights.filled > _TINY)
    lows, highs, parts = _inverse_temperatures(scores, weights, used)
    pairs = _pairs(scores.filled, weights.filled, used)
    low, high = lows.max(initial=0.0), highs.min(initial=np.inf)
    own = _own(lows, highs, parts)
    above, below = (float(part.sum()) for part in parts)
    if below == 0:
        fits = bool(low <= high)
        return Bridge(fits, any_temperature=fits, own=own, pairs=pairs)
    if low > high * (1 + 1e-9) or high <= 0:
        return Bridge(False, own=own, pairs=pairs)
    inverse = min(max(above / below, low), high)
    if inverse <= 0:
        return Bridge(False, own=own, pairs=pairs)
    made = _softmax(scores.filled * inverse, used) * weights.filled.sum(axis=1, keepdims=True)
    return Bridge(
        True,
        temperature=1 / inverse,
        low=1 / high,
        high=1 / low if low > 0 else float("inf"),
        own=own,
        error=float(np.abs(made - weights.filled)[used].max(initial=0)),
        sink_logit=_sink_logit(scores.filled, weights, used, 1 / inverse),
        pairs=pairs,
    )


def _inverse_temperatures(
    scores: Facts, weights: Facts, used: Cells
) -> tuple[Matrix, Matrix, tuple[Matrix, Matrix]]:
    """Per row, the least and the largest 1/T, and the two sums of a weighted fit of it."""
    s, w = scores.filled, np.where(used, weights.filled, 1.0)
    rows = np.arange(len(s))
    top = np.where(used, weights.filled, -1).argmax(axis=1)
    step = np.where(used, s[rows, top][:, None] - s, 0.0)
    step_error = scores.error + scores.error[rows, top][:, None]
    off = weights.error if weights.tolerance is None else weights.error + weights.tolerance
    off_top, w_top = off[rows, top][:, None], w[rows, top][:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_low = np.log(np.maximum(w_top - off_top, 0) / (w + off)) - LOG_ERROR
        log_high = np.log((w_top + off_top) / np.maximum(w - off, 0)) + LOG_ERROR
        low, high = _bounds(step - step_error, step + step_error, log_low, log_high)
    others = used & (np.arange(s.shape[1])[None, :] != top[:, None])
    low, high = np.where(others, low, 0.0), np.where(others, high, np.inf)
    weight = np.where(others, 1 / ((off / w) ** 2 + LOG_ERROR**2), 0.0)
    fit = (weight * step * np.log(w_top / w)).sum(axis=1), (weight * step**2).sum(axis=1)
    return low.max(axis=1), high.min(axis=1), fit


def _bounds(
    step_low: Matrix, step_high: Matrix, log_low: Matrix, log_high: Matrix
) -> tuple[Matrix, Matrix]:
    """The b >= 0 with b x step = log for some step and log within their bounds: those with
    b x step_low <= log_high and b x step_high >= log_low."""
    high = np.full(step_low.shape, np.inf)
    low = np.zeros(step_low.shape)
    high = np.where(step_low > 0, log_high / step_low, high)
    low = np.where((step_low < 0) & (log_high < 0), log_high / step_low, low)
    high = np.where((step_low == 0) & (log_high < 0), -1.0, high)
    low = np.maximum(low, np.where(step_high > 0, log_low / step_high, 0.0))
    high = np.minimum(high, np.where(step_high < 0, log_low / step_high, np.inf))
    high = np.where((step_high == 0) & (log_low > 0), -1.0, high)
    return low, high


def _own(lows: Matrix, highs: Matrix, parts: tuple[Matrix, Matrix]) -> Matrix:
    above, below = parts
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.clip(above / below, lows, np.maximum(highs, lows))
        return np.where((lows <= highs * (1 + 1e-9)) & (inverse > 0), 1 / inverse, np.nan)


def _pairs(s: Matrix, w: Matrix, used: Cells) -> tuple[PairTemperature, ...]:
    found: list[PairTemperature] = []
    for query in range(len(s)):
        keys = np.flatnonzero(used[query])
        for key, other in zip(keys, keys[1:], strict=False):
            ratio = float(np.log(w[query, key] / w[query, other]))
            step = float(s[query, key] - s[query, other])
            t = step / ratio if ratio else float("nan")
            found.append(PairTemperature(query, int(key), int(other), t))
            if len(found) == _PAIRS:
                return tuple(found)
    return tuple(found)


def _softmax(s: Matrix, used: Cells) -> Matrix:
    top = np.where(used, s, -np.inf).max(axis=1, keepdims=True)
    shares = np.where(used, np.exp(s - np.where(np.isfinite(top), top, 0)), 0.0)
    total = shares.sum(axis=1, keepdims=True)
    return shares / np.where(total == 0, 1, total)


def _sink_logit(s: Matrix, weights: Facts, used: Cells, temperature: float) -> float | None:
    """The logit that takes what each row lacks, if it is the same for all rows."""
    missing = 1 - weights.sums
    clear = missing > np.maximum(100 * weights.error.sum(axis=1), 1e-4)
    if not clear.any():
        return None
    top = np.where(used, weights.filled, -1).argmax(axis=1)
    rows = np.flatnonzero(clear)
    w_top = weights.filled[rows, top[rows]]
    logits = s[rows, top[rows]] - temperature * np.log(w_top / missing[rows])
    off = weights.error.sum(axis=1)[rows] / missing[rows] + 1e-4
    if (np.abs(logits - np.median(logits)) > temperature * off + 1e-5 * np.abs(logits)).any():
        return None
    return float(np.median(logits))
