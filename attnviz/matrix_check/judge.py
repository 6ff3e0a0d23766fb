"""The judgement: from the facts about a matrix to its kind, and to what else it could be."""

from dataclasses import dataclass, replace

import numpy as np

from attnviz.matrix_check import verdict as v
from attnviz.matrix_check.facts import Facts
from attnviz.matrix_check.mask_shape import Cells, Pattern, above
from attnviz.matrix_check.structure import (
    Rank,
    Twice,
    rank_of_logs,
    rank_of_scores,
    twice,
    uniform,
    uniform_when_rounded,
)

RARE = -3.0  # log10 of a chance that is left out of account
LARGEST_HEAD = 256  # the largest head size in common use
ROWS, COLUMNS = "rows", "columns"


@dataclass(frozen=True)
class Finding:
    """A kind, and what led to it. `facts` are by query: turned where the matrix is transposed."""

    kind: str
    axis: str | None
    facts: Facts
    could_be: tuple[str, ...] = ()
    mask: str | None = None
    pattern: Pattern | None = None
    rank: Rank | None = None
    twice: Twice | None = None
    base: str = "e"
    total: float | None = None
    note: str = ""


def judge(facts: Facts) -> Finding:
    """What the matrix is, by the first rule that applies."""
    if np.isposinf(facts.x).any():
        return Finding(v.SOMETHING_ELSE, None, facts, note="infinite")
    if not facts.values.size:
        return Finding(v.SOMETHING_ELSE, None, facts, mask=facts.mask.fill, note="all masked")
    if not facts.values.any() and facts.mask.fill is None:
        return Finding(v.SOMETHING_ELSE, None, facts, (v.SCORES,), note="all zero")
    below_zero = facts.values.min() < -(facts.precision.relative + 1e-9)
    if below_zero or facts.mask.fill not in (None, "NaN"):
        return _signed(facts)
    return _positive(facts)


# Numbers of both signs, or with a mask that no weights have


def _signed(facts: Facts) -> Finding:
    logs = _logs(facts)
    if logs is not None:
        return logs
    if facts.mask.fill is not None:
        pattern = facts.mask_pattern
        return Finding(
            v.SCORES, _axis_of(pattern), facts, mask=facts.mask.fill, pattern=pattern,
            rank=rank_of_scores(facts, np.zeros_like(facts.zeros)),
        )  # fmt: skip
    if len(facts.x) > 1 and facts.sum_to_one_with_signs:
        return Finding(v.SOMETHING_ELSE, ROWS, facts, (v.SCORES,), note="signed shares")
    return _zero_masked(facts) or Finding(
        v.SCORES, None, facts, (v.SOMETHING_ELSE,),
        rank=rank_of_scores(facts, np.zeros_like(facts.zeros)),
    )  # fmt: skip


def _logs(facts: Facts) -> Finding | None:
    turned = facts.turned()
    by_row, by_column = (side.log_base(_zeros_ahead(side)) for side in (facts, turned))
    if by_row is None and by_column is None:
        return None
    axis = ROWS if by_column is None else COLUMNS if by_row is None else None
    side = turned if axis == COLUMNS else facts
    base = by_row or by_column or "e"
    return Finding(v.LOG_WEIGHTS, axis, side, (v.SCORES,), mask=facts.mask.fill, base=base)


def _zeros_ahead(facts: Facts) -> Cells:
    """Zeros above the diagonal, where they stand for a mask."""
    if facts.mask.fill is None and facts.zero_pattern.causal:
        return above(facts.x.shape)
    return np.zeros_like(facts.zeros)


def _zero_masked(facts: Facts) -> Finding | None:
    pattern = facts.zero_pattern
    shaped = pattern.causal or pattern.transposed or pattern.structured
    # Numbers of full precision are hardly ever 0 by themselves.
    odd = pattern.count > 1 and facts.precision.decimals is None
    if not pattern.count or not (shaped or odd):
        return None
    return Finding(
        v.ZERO_MASKED_SCORES, _axis_of(pattern), facts, (v.SCORES,), mask="0", pattern=pattern,
        rank=rank_of_scores(facts, facts.zeros),
    )  # fmt: skip


def _axis_of(pattern: Pattern) -> str | None:
    return ROWS if pattern.causal else COLUMNS if pattern.transposed else None


# Numbers from 0 up


def _positive(facts: Facts) -> Finding:
    turned = facts.turned()
    if facts.sum_to_one or turned.sum_to_one:
        axis = _axis(facts, turned, facts.sum_to_one, turned.sum_to_one)
        return _weights(turned if axis == COLUMNS else facts, axis)
    if facts.sum_below_one or turned.sum_below_one:
        axis = _axis(facts, turned, facts.sum_below_one, turned.sum_below_one)
        sink = _sink(turned if axis == COLUMNS else facts, axis)
        # Columns of any small numbers may stay below 1; without a triangle that says little.
        if axis != COLUMNS or facts.zero_pattern.transposed or not sink.could_be:
            return sink
        return Finding(v.POSITIVE_ROWS, None, facts, (v.SINK_WEIGHTS, v.SCORES), rank=sink.rank)
    if set(np.unique(facts.values)) <= {0.0, 1.0}:
        return Finding(v.SOMETHING_ELSE, None, facts, (v.SCORES,), note="only 0 and 1")
    if facts.same_sum or turned.same_sum:
        axis = _axis(facts, turned, bool(facts.same_sum), bool(turned.same_sum))
        side = turned if axis == COLUMNS else facts
        return Finding(v.SCALED_WEIGHTS, axis, side, (v.SCORES,), total=side.same_sum)
    if facts.zero_pattern.structured and (masked := _zero_masked(facts)):
        low = masked.rank is not None and masked.rank.verdict == "low"
        return replace(masked, could_be=() if low else (v.POSITIVE_ROWS, v.SCORES))
    rank = rank_of_scores(facts, np.zeros_like(facts.zeros))
    if rank.verdict == "low":
        return Finding(v.SCORES, None, facts, rank=rank)
    return Finding(v.POSITIVE_ROWS, None, facts, (v.SCORES,), rank=rank)


def _axis(facts: Facts, turned: Facts, rows: bool, columns: bool) -> str | None:
    """Which way the sums run, where one way fits or a triangle or closeness tells."""
    if rows != columns:
        return ROWS if rows else COLUMNS
    told = _axis_of(facts.zero_pattern)
    if told is not None or facts.precision.decimals is None:
        return told
    # After rounding both may fit: then the axis is the one whose sums are much closer to 1.
    by_row, by_column = (float(np.sqrt(((side.sums - 1) ** 2).mean())) for side in (facts, turned))
    if max(by_row, by_column) <= 2 * min(by_row, by_column):
        return None
    return ROWS if by_row < by_column else COLUMNS


def _weights(facts: Facts, axis: str | None) -> Finding:
    rounded = facts.precision.decimals
    again = twice(facts)
    maybe_twice = (v.SOFTMAX_TWICE,) if again.fits else ()
    undone = again if again.fits else None
    if uniform(facts):
        grid = (v.ROUNDED_WEIGHTS,) if rounded is not None else ()
        could_be = (v.HEAD_MEAN, *maybe_twice, *grid)
        return Finding(v.UNIFORM_WEIGHTS, axis, facts, could_be, pattern=facts.zero_pattern)
    if again.fits and again.log10_chance < np.log10(0.05):
        could_be = (v.WEIGHTS, v.HEAD_MEAN) if again.log10_chance > RARE else ()
        return Finding(v.SOFTMAX_TWICE, axis, facts, could_be, twice=again)
    rank = rank_of_logs(facts)
    averaged = () if rank.verdict == "low" else (v.HEAD_MEAN,)
    if rounded is not None:
        even = (v.UNIFORM_WEIGHTS,) if uniform_when_rounded(facts) else ()
        could_be = (*averaged, *even, *maybe_twice)
        return Finding(v.ROUNDED_WEIGHTS, axis, facts, could_be, rank=rank, twice=undone)
    if rank.verdict == "full" and rank.most > LARGEST_HEAD:
        return Finding(v.HEAD_MEAN, axis, facts, (v.WEIGHTS,), rank=rank)
    whole = (v.ROUNDED_WEIGHTS,) if facts.precision.name == "only 0 and 1" else ()
    could_be = (*averaged, *maybe_twice, *whole)
    return Finding(v.WEIGHTS, axis, facts, could_be, rank=rank, twice=undone)


def _sink(facts: Facts, axis: str | None) -> Finding:
    rank = rank_of_logs(facts)
    could_be: tuple[str, ...] = ()
    if rank.verdict != "low":
        triangle = facts.zero_pattern.causal
        could_be = (v.ZERO_MASKED_SCORES if triangle else v.SCORES, v.POSITIVE_ROWS)
    return Finding(v.SINK_WEIGHTS, axis, facts, could_be, rank=rank, pattern=facts.zero_pattern)
