"""The verdict in plain sentences, with the numbers that were found."""

import numpy as np

from attnviz.matrix_check import verdict as v
from attnviz.matrix_check.judgement import COLUMNS, ROWS, Finding
from attnviz.matrix_check.mask_shape import above_diagonal
from attnviz.matrix_check.structure import Rank
from attnviz.matrix_check.temperature_fit import TemperatureFit

CAVEATS = [
    "A matrix of the right form need not come from a model. The numbers alone never prove where "
    "they were made.",
    "A weight says how much of a key's value vector goes into a head's output. It does not say "
    "that the key caused the answer.",
]


_ADD_UP = (v.WEIGHTS, v.ROUNDED_WEIGHTS, v.HEAD_MEAN, v.SOFTMAX_TWICE, v.UNIFORM_WEIGHTS)


def state_verdict(finding: Finding) -> str:
    """The verdict on one matrix."""
    return _SENTENCES[finding.kind](finding)


def state_fit(
    first: Finding, second: Finding, fit: TemperatureFit | None, scores_first: bool
) -> str:
    """What the two matrices have to do with each other."""
    if fit is None:
        return (
            "The two matrices have different shapes, so that neither is the softmax of the other."
        )
    scores, weights = ("first", "second") if scores_first else ("second", "first")
    made = second if scores_first else first
    if fit.any_temperature:
        return (
            f"The {weights} matrix is the softmax of the {scores} at any temperature: the scores "
            "of each row are all equal."
        )
    if fit.temperature is not None:
        return (
            f"The {weights} matrix is {_name_relation(made, fit)} of the {scores} at temperature "
            f"{fit.temperature:.3g}, with a largest difference of {fit.error:.1e}."
        )
    lead = "adds up to 1 and still is not" if made.kind in _ADD_UP else "is not"
    return (
        f"The {weights} matrix {lead} the softmax of the {scores} at any temperature."
        f"{_quote_contradiction(fit)}"
    )


def _name_relation(made: Finding, fit: TemperatureFit) -> str:
    if made.kind in _ADD_UP:
        return "the softmax"
    if fit.sink_logit is not None:
        return f"the softmax, with a sink of logit {format_number(fit.sink_logit)} in it,"
    return "row by row a multiple of the softmax"


def _quote_contradiction(fit: TemperatureFit) -> str:
    """The two pairs of keys that contradict each other the most."""
    pairs = [pair for pair in fit.pairs if np.isfinite(pair.temperature)]
    if len(pairs) < 2:
        return ""
    ends = [choose(pairs, key=lambda pair: pair.temperature) for choose in (min, max)]
    first, second = sorted(ends, key=lambda pair: (pair.query, pair.key))
    if first is second:
        return ""
    return (
        f" Keys {first.key} and {first.other_key} of row {first.query} would need a temperature "
        f"of about {format_temperature(first.temperature)}, keys {second.key} and "
        f"{second.other_key} of row {second.query} one of about "
        f"{format_temperature(second.temperature)}."
    )


def format_temperature(temperature: float) -> str:
    return f"{temperature:.2f}" if abs(temperature) < 2 else f"{temperature:.1f}"


def format_number(value: float) -> str:
    return f"{value:.6g}"


def explain_rank(rank: Rank, of: str) -> tuple[str, str]:
    value = f"{rank.rank} of at most {rank.most}, in a block of {rank.side[0]} x {rank.side[1]}"
    if rank.verdict == "low":
        return value, (
            f"So low a rank is what a product of queries and keys of size {rank.rank} leaves in "
            f"{of}; averaging or unrelated numbers would have filled it up."
        )
    if rank.verdict == "full":
        return value, (
            f"Full: no head of a size under {rank.most} makes {of} like these, unless it adds a "
            "position bias or caps its scores."
        )
    return value, "Too small, too coarse or too even to tell one head from a mean."


# One for each kind


def _state_axis(finding: Finding, unknown: str = "") -> str:
    """Which way the queries run, as one more sentence; `unknown` where that is not known."""
    if finding.axis == COLUMNS:
        return " The matrix is transposed: each column is a query."
    return " Each row is a query." if finding.axis == ROWS else unknown


def _name_line(finding: Finding) -> str:
    """What holds the keys of one query."""
    return "column" if finding.axis == COLUMNS else "row"


_BOTH_ADD_UP = " Rows and columns both add up to 1."


def _state_weights(finding: Finding) -> str:
    line = _name_line(finding)
    whose = ", of one head or the mean of several" if v.HEAD_MEAN in finding.could_be else ""
    text = (
        f"These are attention weights{whose}: nothing is below 0 and every {line} adds up to 1."
        f"{_state_axis(finding, _BOTH_ADD_UP)}"
    )
    count = int(finding.facts.zero_rows.sum())
    if count:
        lines = f"{line}s are" if count > 1 else f"{line} is"
        text += f" {count} {lines} all 0: a query that attends to nothing."
    return text


def _state_rounded(finding: Finding) -> str:
    return (
        f"These are attention weights rounded to {finding.facts.precision.name}: the "
        f"{_name_line(finding)}s add up to {format_range(finding.facts.sums)}, and each can have "
        f"been 1 before rounding.{_state_axis(finding, _BOTH_ADD_UP)}"
    )


def _state_uniform(finding: Finding) -> str:
    return (
        "These are uniform attention weights: every query gives all keys it may look at the same "
        f"share.{_state_axis(finding)} Softmax makes them of scores that are equal within a row, "
        "whatever they are."
    )


def _state_twice(finding: Finding) -> str:
    assert finding.undone is not None
    low, high = max(finding.undone.recovered.min(), 0), finding.undone.recovered.max()
    return (
        "Softmax was applied twice: the rows add up to 1, and no weight in a row is more than e = "
        "2.718 times another, as the softmax of weights between 0 and 1 must be. Undoing one "
        f"softmax gives rows of weights again, from {format_number(low)} to {format_number(high)}, "
        f"that add up to 1.{_state_axis(finding, _BOTH_ADD_UP)}{_state_look_ahead(finding)}"
    )


def _state_look_ahead(finding: Finding) -> str:
    """A second softmax that knows of no mask gives weight to cells that had none."""
    assert finding.undone is not None
    ahead = above_diagonal(finding.facts.x.shape)
    had_none = ahead.any() and (np.abs(finding.undone.recovered[ahead]) < 1e-4).all()
    if not had_none or not (finding.facts.x[ahead] > 0).all():
        return ""
    return " Keys ahead of their query had a weight of 0 and were given some by the second."


def _state_mean(finding: Finding) -> str:
    assert finding.rank is not None
    return (
        "This is most likely the mean of several heads' attention weights: rows add up to 1, and "
        f"the logarithms have a rank of {finding.rank.rank}, more than one head of usual size can "
        f"make.{_state_axis(finding, _BOTH_ADD_UP)}"
    )


def _state_sink(finding: Finding) -> str:
    are = "can be" if finding.could_be else "are"
    missing = np.maximum(1 - finding.facts.sums[~finding.facts.zero_rows], 0)
    line = _name_line(finding)
    return (
        f"These {are} attention weights with a part of each {line} missing: nothing is below 0, "
        f"and the {line}s lack {format_range(missing)} of 1, as with a sink that takes weight and "
        f"gives nothing.{_state_axis(finding)}"
    )


def _state_scaled(finding: Finding) -> str:
    assert finding.total is not None
    total, heads = format_number(finding.total), round(finding.total)
    hint = ""
    if abs(finding.total - 100) < 1e-2:
        hint = " These are percent."
    elif abs(finding.total - heads) < 1e-3 and heads > 1:
        hint = f" The sum of {heads} heads, not divided by their number, looks so."
    return (
        f"Every {_name_line(finding)} adds up to {total}: these are not attention weights "
        f"as they stand, but divided by {total} they have the form of weights.{hint}"
    )


def _state_scores(finding: Finding) -> str:
    low, high = finding.facts.values.min(), finding.facts.values.max()
    signs = "some are below 0, " if low < 0 else ""
    text = (
        f"These are scores, not weights: they run from {format_number(low)} to "
        f"{format_number(high)}, {signs}and rows add up to nothing in particular. Softmax of each "
        "row would make weights of them."
    )
    if finding.mask is not None and finding.pattern is not None:
        text += f" Masked cells hold {finding.mask}: {finding.pattern.words}."
    return text


def _state_zero_masked(finding: Finding) -> str:
    assert finding.pattern is not None
    return (
        "These are scores whose masked cells were set to 0, not weights: "
        f"{finding.pattern.words} hold exactly 0. A 0 is an ordinary score. Softmax of these rows "
        "would give the masked cells weight; they have to be set to minus infinity first."
    )


def _state_logs(finding: Finding) -> str:
    name = {"e": "natural logarithms", "2": "logarithms to base 2", "10": "logarithms to base 10"}
    line = _name_line(finding)
    return (
        f"These are {name[finding.base]} of attention weights: nothing is above 0, and taking them "
        f"back makes every {line} add up to 1 (the log-sum-exp of each {line} is 0). They are "
        "not the model's scores, though softmax of them gives the weights."
    )


def _state_positive(finding: Finding) -> str:
    return (
        "These are not attention weights: nothing is below 0, but the rows add up to "
        f"{format_range(finding.facts.sums)} and the columns not to 1 either. "
        "Exponentials of scores that were never divided by their row sums look like this, and so "
        "do many other numbers."
    )


def _state_other(finding: Finding) -> str:
    return {
        "infinite": "Neither scores nor weights: a cell holds plus infinity, and softmax of its "
        "row is not defined.",
        "all masked": "Every cell is masked. There is no score and no weight in here.",
        "all zero": "Every cell is 0. As weights, no query attends to anything; as scores, "
        "softmax makes every row uniform.",
        "only 0 and 1": "This has the form of a mask, not of weights: all cells are 0 or 1, and "
        "rows do not add up to 1.",
        "signed shares": "Every row adds up to 1 with numbers below 0 in it. Weights are never "
        "below 0; shares that have a sign, such as contributions, look like this.",
    }[finding.note]


_SENTENCES = {
    v.SCORES: _state_scores,
    v.ZERO_MASKED_SCORES: _state_zero_masked,
    v.LOG_WEIGHTS: _state_logs,
    v.WEIGHTS: _state_weights,
    v.SINK_WEIGHTS: _state_sink,
    v.ROUNDED_WEIGHTS: _state_rounded,
    v.HEAD_MEAN: _state_mean,
    v.SCALED_WEIGHTS: _state_scaled,
    v.SOFTMAX_TWICE: _state_twice,
    v.UNIFORM_WEIGHTS: _state_uniform,
    v.POSITIVE_ROWS: _state_positive,
    v.SOMETHING_ELSE: _state_other,
}


def format_range(values: np.ndarray) -> str:
    """From the least to the largest, in as many digits as tell them apart."""
    low, high = float(values.min()), float(values.max())
    if format_number(low) == format_number(high):
        return format_number(low)
    for digits in range(3 if abs(high) < 1000 else 6, 10):
        ends = f"{low:.{digits}g}", f"{high:.{digits}g}"
        if ends[0] != ends[1]:
            break
    return f"{ends[0]} to {ends[1]}"
