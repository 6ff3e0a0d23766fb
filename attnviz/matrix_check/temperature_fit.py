"""Whether one matrix is the softmax of another, and at what temperature."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attnviz.heads.distances import softmax
from attnviz.matrix_check.facts import Facts
from attnviz.matrix_check.mask_shape import Cells
from attnviz.matrix_check.verdict import Matrix, PairTemperature

LOG_ERROR = 2e-6  # of the logarithm of a float32 weight
_TINY = 1e-30  # weights below it have lost digits
_PAIRS = 12


@dataclass(frozen=True)
class TemperatureFit:
    """How scores and weights go together.

    temperature: T with softmax(scores / T) = weights in every row, None if no T fits or any does.
    low, high: the temperatures that the precision of the numbers leaves open.
    by_row: (query,) the temperature of each row by itself, NaN where it has none.
    error: the largest difference from the weights at that temperature.
    sink_logit: the one logit that accounts for what the rows lack, None if there is none.
    any_temperature: the scores of each row are all equal, and so are its weights.
    pairs: the temperature that neighbouring keys would need, in the first rows.
    """

    holds: bool
    by_row: Matrix
    pairs: tuple[PairTemperature, ...]
    temperature: float | None = None
    low: float = 0.0
    high: float = float("inf")
    error: float | None = None
    sink_logit: float | None = None
    any_temperature: bool = False


def fit_temperature(scores: Facts, weights: Facts) -> TemperatureFit:
    """Look for a temperature. Both are (query, key), of one shape.

    With w_j = exp(s_j / T) / Z, two keys of a row give (s_a - s_b) / T = ln w_a - ln w_b. Each
    number is known within its precision, so each pair leaves T an interval; one T must lie in
    all of them. Pairs are taken with the key of the largest weight in the row.
    """
    s, w = scores.filled, weights.filled
    used = scores.unmasked & weights.unmasked & np.isfinite(s) & (w > _TINY)
    lows, highs, above, below = _bound_inverse(scores, weights, used)
    by_row = _fit_rows(lows, highs, above, below)
    pairs = tuple(itertools.islice(_list_pairs(s, w, used), _PAIRS))
    low, high = lows.max(initial=0.0), highs.min(initial=np.inf)
    if below.sum() == 0:
        fits = bool(low <= high)
        return TemperatureFit(fits, by_row, pairs, any_temperature=fits)
    inverse = min(max(float(above.sum()) / float(below.sum()), low), high)
    if low > high * (1 + 1e-9) or inverse <= 0:
        return TemperatureFit(False, by_row, pairs)
    made = softmax(np.where(used, s * inverse, -np.inf)) * w.sum(axis=1, keepdims=True)
    return TemperatureFit(
        True,
        by_row,
        pairs,
        temperature=1 / inverse,
        low=1 / high,
        high=1 / low if low > 0 else float("inf"),
        error=float(np.abs(made - w)[used].max(initial=0)),
        sink_logit=_find_sink_logit(s, weights, used, 1 / inverse),
    )


def _bound_inverse(
    scores: Facts, weights: Facts, used: Cells
) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """For each row the least and the largest 1/T, and numerator and denominator of a weighted
    least-squares fit of it."""
    s, w = scores.filled, np.where(used, weights.filled, 1.0)
    rows = np.arange(len(s))
    top = np.where(used, weights.filled, -1).argmax(axis=1)
    step = np.where(used, s[rows, top][:, None] - s, 0.0)
    step_error = scores.error + scores.error[rows, top][:, None]
    off = weights.error if weights.tolerance is None else weights.error + weights.tolerance
    off_top, w_top = off[rows, top][:, None], w[rows, top][:, None]
    log_low = np.log(np.maximum(w_top - off_top, 0) / (w + off)) - LOG_ERROR
    log_high = np.log((w_top + off_top) / np.maximum(w - off, 0)) + LOG_ERROR
    low, high = _bound_factor(step - step_error, step + step_error, log_low, log_high)
    others = used & (np.arange(s.shape[1])[None, :] != top[:, None])
    low, high = np.where(others, low, 0.0), np.where(others, high, np.inf)
    weight = np.where(others, 1 / ((off / w) ** 2 + LOG_ERROR**2), 0.0)
    above, below = weight * step * np.log(w_top / w), weight * step**2
    return low.max(axis=1), high.min(axis=1), above.sum(axis=1), below.sum(axis=1)


def _bound_factor(
    step_low: Matrix, step_high: Matrix, log_low: Matrix, log_high: Matrix
) -> tuple[Matrix, Matrix]:
    """The b >= 0 with b x step = log for some step and log within their bounds: those with
    b x step_low <= log_high and b x step_high >= log_low. No log_high is below 0, as the logarithms
    are of the largest weight over another."""
    low = np.where(step_high > 0, log_low / step_high, 0.0)
    high = np.minimum(
        np.where(step_low > 0, log_high / step_low, np.inf),
        np.where(step_high < 0, log_low / step_high, np.inf),
    )
    return low, np.where((step_high == 0) & (log_low > 0), -1.0, high)


def _fit_rows(lows: Matrix, highs: Matrix, above: Matrix, below: Matrix) -> Matrix:
    inverse = np.clip(above / below, lows, np.maximum(highs, lows))
    return np.where((lows <= highs * (1 + 1e-9)) & (inverse > 0), 1 / inverse, np.nan)


def _list_pairs(s: Matrix, w: Matrix, used: Cells) -> Iterator[PairTemperature]:
    for query in range(len(s)):
        for key, other in itertools.pairwise(np.flatnonzero(used[query]).tolist()):
            ratio = float(np.log(w[query, key] / w[query, other]))
            step = float(s[query, key] - s[query, other])
            yield PairTemperature(query, key, other, step / ratio if ratio else float("nan"))


def _find_sink_logit(s: Matrix, weights: Facts, used: Cells, temperature: float) -> float | None:
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
