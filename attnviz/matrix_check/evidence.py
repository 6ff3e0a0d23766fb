"""Evidence: what was looked at in a matrix, what was found, and what that says."""

import numpy as np

from attnviz.matrix_check import sentences
from attnviz.matrix_check.facts import Facts
from attnviz.matrix_check.judge import Finding
from attnviz.matrix_check.temperature_fit import Bridge
from attnviz.matrix_check.verdict import WEIGHTS_FAMILY, Evidence


def evidence_of(facts: Facts, found: Finding) -> list[Evidence]:
    """What was looked at in the matrix as it was given, line by line."""
    queries, keys = facts.x.shape
    lines = [Evidence("Shape", f"{queries} x {keys}", "")]
    if not facts.values.size or not np.isfinite(facts.values).all():
        return lines
    turned = facts.turned()
    lines += [_range(facts), _sums("Row sums", facts), _sums("Column sums", turned)]
    lines += [_triangle(facts), _mask(facts), _precision(facts), _distinct(facts)]
    if found.rank is not None and min(found.rank.side) > 3:
        logs = found.kind in WEIGHTS_FAMILY
        of = "the logarithms of weights" if logs else "scores"
        name = "Rank of the logarithms" if logs else "Rank"
        lines.append(Evidence(name, *sentences.rank_words(found.rank, of)))
    if found.twice is not None:
        lines.append(_undone(found))
    return lines


def _range(facts: Facts) -> Evidence:
    low, high = float(facts.values.min()), float(facts.values.max())
    value = f"{sentences.number(low)} to {sentences.number(high)}"
    if low < 0:
        return Evidence("Range", value, "Weights are never below 0.")
    if high > 1 + facts.precision.error(np.ones(1))[0]:
        return Evidence("Range", value, "Weights are never above 1.")
    return Evidence("Range", value, "Within 0 to 1, as weights are.")


def _sums(name: str, facts: Facts) -> Evidence:
    value = sentences.span(facts.sums)
    if facts.values.min() < 0:
        return Evidence(name, value, "With numbers below 0 in it, a sum tells nothing.")
    if facts.sum_to_one:
        says = "Every one is 1 within the precision of the numbers."
    elif facts.sum_below_one:
        says = "None is above 1, and some are below."
    elif facts.same_sum:
        says = "All the same, and not 1."
    else:
        says = "Not 1."
    return Evidence(name, value, says)


def _triangle(facts: Facts) -> Evidence:
    pattern = facts.zero_pattern
    if pattern.causal:
        return Evidence("Triangle", "empty above the diagonal", "No query looks ahead.")
    if pattern.transposed:
        says = "A causal matrix that was transposed looks like this."
        return Evidence("Triangle", "empty below the diagonal", says)
    return Evidence("Triangle", "none", "No causal mask is seen.")


def _mask(facts: Facts) -> Evidence:
    if facts.mask.fill is not None:
        count = int(facts.mask.cells.sum())
        note = f" ({facts.mask.note})" if facts.mask.note else ""
        where = _sentence(facts.mask_pattern.words)
        return Evidence("Masked cells", f"{count} hold {facts.mask.fill}{note}", where)
    count = int(facts.zeros.sum())
    if count:
        return Evidence("Zeros", f"{count} cells", _sentence(facts.zero_pattern.words))
    return Evidence("Masked cells", "none seen", "No -inf, NaN, 0 or large negative number.")


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _precision(facts: Facts) -> Evidence:
    decimals = facts.precision.decimals
    says = "Rounded." if decimals else "" if decimals == 0 else "Not rounded to a few decimals."
    return Evidence("Precision", facts.precision.name, says)


def _distinct(facts: Facts) -> Evidence:
    distinct, cells = len(np.unique(facts.values)), facts.values.size
    return Evidence("Distinct values", f"{distinct} in {cells} cells", "")


def _undone(found: Finding) -> Evidence:
    assert found.twice is not None
    chance = found.twice.log10_chance
    likely = "less than 1 in 1,000" if chance < -3 else f"about {10**chance:.0%}"
    return Evidence(
        "One softmax undone",
        f"{sentences.number(max(found.twice.recovered.min(), 0))} to "
        f"{sentences.number(found.twice.recovered.max())}",
        "Weights again. Scores of the same spread would look so by accident with a chance of "
        f"{likely}, if rows are independent.",
    )


def evidence_of_link(link: Bridge | None) -> list[Evidence]:
    """What two matrices say about the temperature between them."""
    if link is None:
        return []
    lines = [
        Evidence(
            f"Temperature from keys {pair.key} and {pair.other_key} of row {pair.query}",
            "none" if np.isnan(pair.temperature) else f"about {sentences.about(pair.temperature)}",
            "Equal weights of unequal scores." if np.isnan(pair.temperature) else "",
        )
        for pair in link.pairs[:6]
    ]
    if link.temperature is not None:
        value = sentences.number(link.temperature)
        says = f"Left open by the precision: {_open(link)}."
        lines.insert(0, Evidence("Temperature", value, says))
    elif not link.any_temperature:
        lines.insert(0, Evidence("Temperature", "none fits", _by_row(link)))
    if link.sink_logit is not None:
        says = "One logit accounts for what every row lacks: a learned sink."
        lines.append(Evidence("Sink logit", sentences.number(link.sink_logit), says))
    return lines


def _open(link: Bridge) -> str:
    return f"{sentences.number(link.low or 0)} to {sentences.number(link.high or np.inf)}"


def _by_row(link: Bridge) -> str:
    own = link.own
    if own is not None and len(own) > 1 and not np.isnan(own).any():
        return f"Each row by itself has one, {sentences.span(own)}."
    return "Rounding of either matrix is taken into account."
