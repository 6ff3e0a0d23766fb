"""Evidence: what was looked at in a matrix, what was found, and what that says."""

import numpy as np

from attnviz.matrix_check.facts import Facts
from attnviz.matrix_check.judgement import Finding
from attnviz.matrix_check.sentences import (
    explain_rank,
    format_number,
    format_range,
    format_temperature,
)
from attnviz.matrix_check.temperature_fit import TemperatureFit
from attnviz.matrix_check.verdict import WEIGHTS_FAMILY, Evidence


def list_evidence(facts: Facts, finding: Finding) -> list[Evidence]:
    """What was looked at in the matrix, as it was given."""
    queries, keys = facts.x.shape
    lines = [Evidence("Shape", f"{queries} x {keys}")]
    if not facts.values.size or not np.isfinite(facts.values).all():
        return lines
    lines += [
        _range_evidence(facts),
        _sums_evidence("Row sums", facts),
        _sums_evidence("Column sums", facts.transpose()),
        _triangle_evidence(facts),
        _mask_evidence(facts),
        _precision_evidence(facts),
        Evidence("Distinct values", f"{len(np.unique(facts.values))} in {facts.values.size} cells"),
    ]
    if finding.rank is not None and min(finding.rank.side) > 3:
        logs = finding.kind in WEIGHTS_FAMILY
        of = "the logarithms of weights" if logs else "scores"
        name = "Rank of the logarithms" if logs else "Rank"
        lines.append(Evidence(name, *explain_rank(finding.rank, of)))
    if finding.undone is not None:
        lines.append(_undone_evidence(finding))
    return lines


def _range_evidence(facts: Facts) -> Evidence:
    low, high = float(facts.values.min()), float(facts.values.max())
    value = f"{format_number(low)} to {format_number(high)}"
    if low < 0:
        return Evidence("Range", value, "Weights are never below 0.")
    if high > 1 + facts.precision.error(np.ones(1))[0]:
        return Evidence("Range", value, "Weights are never above 1.")
    return Evidence("Range", value, "Within 0 to 1, as weights are.")


def _sums_evidence(name: str, facts: Facts) -> Evidence:
    value = format_range(facts.sums)
    if facts.values.min() < 0:
        return Evidence(name, value, "With numbers below 0 in it, a sum says nothing.")
    if facts.rows_sum_to_one:
        says = "Every one is 1 within the precision of the numbers."
    elif facts.rows_sum_below_one:
        says = "None is above 1, and some are below."
    elif facts.common_sum:
        says = "All the same, and not 1."
    else:
        says = "Not 1."
    return Evidence(name, value, says)


def _triangle_evidence(facts: Facts) -> Evidence:
    pattern = facts.zero_pattern
    if pattern.causal:
        return Evidence("Triangle", "empty above the diagonal", "No query looks ahead.")
    if pattern.transposed:
        says = "A causal matrix that was transposed looks like this."
        return Evidence("Triangle", "empty below the diagonal", says)
    return Evidence("Triangle", "none", "No causal mask is seen.")


def _mask_evidence(facts: Facts) -> Evidence:
    if facts.mask.fill is not None:
        count = int(facts.mask.cells.sum())
        note = f" ({facts.mask.note})" if facts.mask.note else ""
        where = _capitalize(facts.mask_pattern.words)
        return Evidence("Masked cells", f"{count} hold {facts.mask.fill}{note}", where)
    count = int(facts.zeros.sum())
    if count:
        return Evidence("Zeros", f"{count} cells", _capitalize(facts.zero_pattern.words))
    return Evidence("Masked cells", "none seen", "No -inf, NaN, 0 or large negative number.")


def _capitalize(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _precision_evidence(facts: Facts) -> Evidence:
    decimals = facts.precision.decimals
    says = "Rounded." if decimals else "" if decimals == 0 else "Not rounded to a few decimals."
    return Evidence("Precision", facts.precision.name, says)


def _undone_evidence(finding: Finding) -> Evidence:
    assert finding.undone is not None
    low, high = max(finding.undone.recovered.min(), 0), finding.undone.recovered.max()
    chance = finding.undone.log10_chance
    likely = "less than 1 in 1,000" if chance < -3 else f"about {10**chance:.0%}"
    return Evidence(
        "One softmax undone",
        f"{format_number(low)} to {format_number(high)}",
        "Weights again. Scores of the same spread would look so by accident with a chance of "
        f"{likely}, if rows are independent.",
    )


def list_fit_evidence(fit: TemperatureFit | None) -> list[Evidence]:
    """What two matrices say about the temperature between them."""
    if fit is None:
        return []
    lines = []
    for pair in fit.pairs[:6]:
        name = f"Temperature from keys {pair.key} and {pair.other_key} of row {pair.query}"
        if np.isnan(pair.temperature):
            lines.append(Evidence(name, "none", "Equal weights of unequal scores."))
        else:
            lines.append(Evidence(name, f"about {format_temperature(pair.temperature)}"))
    if fit.temperature is not None:
        bounds = f"{format_number(fit.low)} to {format_number(fit.high)}"
        says = f"Left open by the precision: {bounds}."
        lines.insert(0, Evidence("Temperature", format_number(fit.temperature), says))
    elif not fit.any_temperature:
        says = "Rounding of either matrix is taken into account."
        if len(fit.by_row) > 1 and not np.isnan(fit.by_row).any():
            says = f"Each row by itself has one, {format_range(fit.by_row)}."
        lines.insert(0, Evidence("Temperature", "none fits", says))
    if fit.sink_logit is not None:
        says = "One logit accounts for what every row lacks: a learned sink."
        lines.append(Evidence("Sink logit", format_number(fit.sink_logit), says))
    return lines
