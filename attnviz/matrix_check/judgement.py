"""The judgement: from the facts about a matrix to its kind, and to what else it could be."""

from dataclasses import dataclass, replace

import numpy as np

from attnviz.matrix_check import verdict as v
from attnviz.matrix_check.facts import Facts
from attnviz.matrix_check.mask_shape import Cells, Pattern, above_diagonal
from attnviz.matrix_check.structure import (
    Rank,
    UndoneSoftmax,
    is_uniform,
    is_uniform_when_rounded,
    rank_of_logs,
    rank_of_scores,
    undo_softmax,
)

RARE = -3.0  # log10 of a chance that is left out of account
LARGEST_HEAD = 256  # the largest head size in common use
ROWS, COLUMNS = "rows", "columns"


@dataclass(frozen=True)
class Finding:
    """A kind, and what led to it. `facts` have queries as rows, whichever way the matrix was."""

    kind: str
    axis: str | None
    facts: Facts
    could_be: tuple[str, ...] = ()
    mask: str | None = None
    pattern: Pattern | None = None
    rank: Rank | None = None
    undone: UndoneSoftmax | None = None
    base: str = "e"
    total: float | None = None
    note: str = ""


def judge_matrix(facts: Facts) -> Finding:
    """What the matrix is, by the first rule that applies."""
    if np.isposinf(facts.x).any():
        return Finding(v.SOMETHING_ELSE, None, facts, note="infinite")
    if not facts.values.size:
        return Finding(v.SOMETHING_ELSE, None, facts, mask=facts.mask.fill, note="all masked")
    if not facts.values.any() and facts.mask.fill is None:
        return Finding(v.SOMETHING_ELSE, None, facts, (v.SCORES,), note="all zero")
    below_zero = facts.values.min() < -(facts.precision.relative + 1e-9)
    if below_zero or facts.mask.fill not in (None, "NaN"):
        return _judge_signed(facts)
    return _judge_positive(facts)


# Numbers of both signs, or with a mask that no weights have


def _judge_signed(facts: Facts) -> Finding:
    logs = _judge_logs(facts)
    if logs is not None:
        return logs
    if facts.mask.fill is not None:
        pattern, rank = facts.mask_pattern, rank_of_scores(facts)
        axis = _triangle_axis(pattern)
        return Finding(v.SCORES, axis, facts, mask=facts.mask.fill, pattern=pattern, rank=rank)
    if len(facts.x) > 1 and facts.signed_rows_sum_to_one:
        return Finding(v.SOMETHING_ELSE, ROWS, facts, (v.SCORES,), note="signed shares")
    return _judge_zero_masked(facts) or Finding(
        v.SCORES, None, facts, (v.SOMETHING_ELSE,), rank=rank_of_scores(facts)
    )


def _judge_logs(facts: Facts) -> Finding | None:
    columns = facts.transpose()
    by_row, by_column = (side.log_base(_zeros_ahead(side)) for side in (facts, columns))
    if by_row is None and by_column is None:
        return None
    axis = ROWS if by_column is None else COLUMNS if by_row is None else None
    side = columns if axis == COLUMNS else facts
    base = by_row or by_column or "e"
    return Finding(v.LOG_WEIGHTS, axis, side, (v.SCORES,), mask=facts.mask.fill, base=base)


def _zeros_ahead(facts: Facts) -> Cells:
    """Zeros above the diagonal, where they stand for a mask."""
    if facts.mask.fill is None and facts.zero_pattern.causal:
        return above_diagonal(facts.x.shape)
    return np.zeros_like(facts.zeros)


def _judge_zero_masked(facts: Facts) -> Finding | None:
    pattern = facts.zero_pattern
    shaped = pattern.causal or pattern.transposed or pattern.structured
    # Numbers of full precision are hardly ever 0 by themselves.
    odd = pattern.count > 1 and facts.precision.decimals is None
    if not pattern.count or not (shaped or odd):
        return None
    return Finding(
        v.ZERO_MASKED_SCORES, _triangle_axis(pattern), facts, (v.SCORES,), mask="0",
        pattern=pattern, rank=rank_of_scores(facts, zeros_are_masked=True),
    )  # fmt: skip


def _triangle_axis(pattern: Pattern) -> str | None:
    return ROWS if pattern.causal else COLUMNS if pattern.transposed else None


# Numbers from 0 up


def _judge_positive(facts: Facts) -> Finding:
    columns = facts.transpose()
    if facts.rows_sum_to_one or columns.rows_sum_to_one:
        axis = _choose_axis(facts, columns, facts.rows_sum_to_one, columns.rows_sum_to_one)
        return _judge_weights(columns if axis == COLUMNS else facts, axis)
    if facts.rows_sum_below_one or columns.rows_sum_below_one:
        axis = _choose_axis(facts, columns, facts.rows_sum_below_one, columns.rows_sum_below_one)
        sink = _judge_sink(columns if axis == COLUMNS else facts, axis)
        # Columns of any small numbers may stay below 1; without a triangle that says little.
        if axis != COLUMNS or facts.zero_pattern.transposed or not sink.could_be:
            return sink
        return Finding(v.POSITIVE_ROWS, None, facts, (v.SINK_WEIGHTS, v.SCORES), rank=sink.rank)
    if set(np.unique(facts.values)) <= {0.0, 1.0}:
        return Finding(v.SOMETHING_ELSE, None, facts, (v.SCORES,), note="only 0 and 1")
    if facts.common_sum or columns.common_sum:
        axis = _choose_axis(facts, columns, bool(facts.common_sum), bool(columns.common_sum))
        side = columns if axis == COLUMNS else facts
        return Finding(v.SCALED_WEIGHTS, axis, side, (v.SCORES,), total=side.common_sum)
    if facts.zero_pattern.structured and (masked := _judge_zero_masked(facts)):
        low = masked.rank is not None and masked.rank.verdict == "low"
        return replace(masked, could_be=() if low else (v.POSITIVE_ROWS, v.SCORES))
    rank = rank_of_scores(facts)
    if rank.verdict == "low":
        return Finding(v.SCORES, None, facts, rank=rank)
    return Finding(v.POSITIVE_ROWS, None, facts, (v.SCORES,), rank=rank)


def _choose_axis(facts: Facts, columns: Facts, rows_fit: bool, columns_fit: bool) -> str | None:
    """Whether rows or columns are the queries, where only one of them fits or where a triangle or
    closer sums decide."""
    if rows_fit != columns_fit:
        return ROWS if rows_fit else COLUMNS
    axis = _triangle_axis(facts.zero_pattern)
    if axis is not None or facts.precision.decimals is None:
        return axis
    # After rounding both may fit: then the axis is the one whose sums are much closer to 1.
    by_row, by_column = (float(np.sqrt(((side.sums - 1) ** 2).mean())) for side in (facts, columns))
    if max(by_row, by_column) <= 2 * min(by_row, by_column):
        return None
    return ROWS if by_row < by_column else COLUMNS


def _judge_weights(facts: Facts, axis: str | None) -> Finding:
    rounded = facts.precision.decimals
    undone = undo_softmax(facts)
    maybe_twice = () if undone is None else (v.SOFTMAX_TWICE,)
    if is_uniform(facts):
        grid = (v.ROUNDED_WEIGHTS,) if rounded is not None else ()
        could_be = (v.HEAD_MEAN, *maybe_twice, *grid)
        return Finding(v.UNIFORM_WEIGHTS, axis, facts, could_be, pattern=facts.zero_pattern)
    if undone is not None and undone.log10_chance < np.log10(0.05):
        could_be = (v.WEIGHTS, v.HEAD_MEAN) if undone.log10_chance > RARE else ()
        return Finding(v.SOFTMAX_TWICE, axis, facts, could_be, undone=undone)
    rank = rank_of_logs(facts)
    averaged = () if rank.verdict == "low" else (v.HEAD_MEAN,)
    if rounded is not None:
        even = (v.UNIFORM_WEIGHTS,) if is_uniform_when_rounded(facts) else ()
        could_be = (*averaged, *even, *maybe_twice)
        return Finding(v.ROUNDED_WEIGHTS, axis, facts, could_be, rank=rank, undone=undone)
    if rank.verdict == "full" and rank.most > LARGEST_HEAD:
        return Finding(v.HEAD_MEAN, axis, facts, (v.WEIGHTS,), rank=rank)
    whole = (v.ROUNDED_WEIGHTS,) if facts.precision.name == "only 0 and 1" else ()
    could_be = (*averaged, *maybe_twice, *whole)
    return Finding(v.WEIGHTS, axis, facts, could_be, rank=rank, undone=undone)


def _judge_sink(facts: Facts, axis: str | None) -> Finding:
    rank = rank_of_logs(facts)
    could_be: tuple[str, ...] = ()
    if rank.verdict != "low":
        triangle = facts.zero_pattern.causal
        could_be = (v.ZERO_MASKED_SCORES if triangle else v.SCORES, v.POSITIVE_ROWS)
    return Finding(v.SINK_WEIGHTS, axis, facts, could_be, rank=rank, pattern=facts.zero_pattern)
