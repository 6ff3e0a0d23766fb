"""Words: a finding as plain sentences, with the numbers that were found."""

import numpy as np

from attnviz.matrix_check import verdict as v
from attnviz.matrix_check.judge import COLUMNS, Finding
from attnviz.matrix_check.mask_shape import above
from attnviz.matrix_check.structure import Rank
from attnviz.matrix_check.temperature_fit import Bridge

CAVEATS = [
    "A matrix of the right form need not come from a model. The numbers alone never prove where "
    "they were made.",
    "A weight says how much of a key's value vector goes into a head's output. It does not say "
    "that the key caused the answer.",
]


def verdict_words(found: Finding) -> str:
    """The verdict in plain words, without the second matrix."""
    return _SENTENCES[found.kind](found) + _mask_words(found)


_ADD_UP = (
    v.WEIGHTS,
    v.ROUNDED_WEIGHTS,
    v.HEAD_MEAN,
    v.SOFTMAX_TWICE,
    v.UNIFORM_WEIGHTS,
)


def bridge_words(first: Finding, second: Finding, link: Bridge | None, forward: bool) -> str:
    """What the two matrices have to do with each other."""
    if link is None:
        return (
            "The two matrices have different shapes, so that neither is the softmax of the other."
        )
    scores, weights = ("first", "second") if forward else ("second", "first")
    if link.any_temperature:
        return (
            f"The {weights} matrix is the softmax of the {scores} at any temperature: the scores "
            "of each row are all equal."
        )
    if link.temperature is not None:
        made = second if forward else first
        return (
            f"The {weights} matrix is {_made_how(made, link)} of the {scores} at temperature "
            f"{link.temperature:.3g}, with a largest difference of {link.error:.1e}."
        )
    adds_up = (second if forward else first).kind in _ADD_UP
    lead = "adds up to 1 and still is not" if adds_up else "is not"
    return (
        f"The {weights} matrix {lead} the softmax of the {scores} at any temperature. "
        f"{_clash(link)}"
    ).rstrip()


def _made_how(made: Finding, link: Bridge) -> str:
    if made.kind in _ADD_UP:
        return "the softmax"
    if link.sink_logit is not None:
        return f"the softmax, with a sink of logit {number(link.sink_logit)} in it,"
    return "row by row a multiple of the softmax"


def _clash(link: Bridge) -> str:
    """Two pairs that contradict each other the most."""
    told = [pair for pair in link.pairs if np.isfinite(pair.temperature)]
    if len(told) < 2:
        return ""
    least = min(told, key=lambda pair: pair.temperature)
    most = max(told, key=lambda pair: pair.temperature)
    if least is most:
        return ""
    first, second = sorted((least, most), key=lambda p: (p.query, p.key))
    return (
        f"Keys {first.key} and {first.other_key} of row {first.query} would need a temperature of "
        f"about {about(first.temperature)}, keys {second.key} and {second.other_key} of row "
        f"{second.query} one of about {about(second.temperature)}."
    )


def about(temperature: float) -> str:
    return f"{temperature:.2f}" if abs(temperature) < 2 else f"{temperature:.1f}"


def number(value: float) -> str:
    return f"{value:.6g}"


def rank_words(rank: Rank, of: str) -> tuple[str, str]:
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


def _mask_words(found: Finding) -> str:
    if found.kind == v.SCORES and found.mask is not None and found.pattern is not None:
        return f" Masked cells hold {found.mask}: {found.pattern.words}."
    return ""


def _way(found: Finding) -> str:
    return (
        "The matrix is transposed: each column is a query. "
        if found.axis == COLUMNS
        else "Each row is a query. "
        if found.axis is not None
        else "Rows and columns both add up to 1. "
    )


def _weights(found: Finding) -> str:
    line = "column" if found.axis == COLUMNS else "row"
    nothing = int(found.facts.empty.sum())
    empty = f" {nothing} {line}{'s are' if nothing > 1 else ' is'} all 0: a query that attends to "
    whose = ", of one head or the mean of several" if v.HEAD_MEAN in found.could_be else ""
    return (
        f"These are attention weights{whose}: nothing is below 0 and every {line} adds up to 1. "
        + _way(found).rstrip()
        + (empty + "nothing." if nothing else "")
    )


def _rounded(found: Finding) -> str:
    decimals = found.facts.precision.name
    sums = found.facts.sums
    line = "column" if found.axis == COLUMNS else "row"
    return (
        f"These are attention weights rounded to {decimals}: the {line}s add up to "
        f"{span(sums)}, and each can have been 1 before rounding. " + _way(found).rstrip()
    )


def _uniform(found: Finding) -> str:
    way = _way(found) if found.axis is not None else ""
    return (
        "These are uniform attention weights: every query gives all keys it may look at the same "
        f"share. {way}Softmax makes them of scores that are equal within a row, whatever they are."
    )


def _twice(found: Finding) -> str:
    assert found.twice is not None
    low, high = found.twice.recovered.min(), found.twice.recovered.max()
    return (
        "Softmax was applied twice: the rows add up to 1, and no weight in a row is more than e = "
        "2.718 times another, as the softmax of weights between 0 and 1 must be. Undoing one "
        f"softmax gives rows of weights again, from {number(max(low, 0))} to {number(high)}, that "
        "add up to 1. " + _way(found).rstrip() + _looked_ahead(found)
    )


def _looked_ahead(found: Finding) -> str:
    """A second softmax that knows of no mask gives weight to cells that had none."""
    assert found.twice is not None
    ahead = above(found.facts.x.shape)
    had_none = ahead.any() and (np.abs(found.twice.recovered[ahead]) < 1e-4).all()
    if not had_none or not (found.facts.x[ahead] > 0).all():
        return ""
    return " Keys ahead of their query had a weight of 0 and were given some by the second."


def _mean(found: Finding) -> str:
    assert found.rank is not None
    return (
        "This is most likely the mean of several heads' attention weights: rows add up to 1, and "
        f"the logarithms have a rank of {found.rank.rank}, more than one head of usual size can "
        "make. " + _way(found).rstrip()
    )


def _sink(found: Finding) -> str:
    are = "can be" if found.could_be else "are"
    missing = 1 - found.facts.sums[~found.facts.empty]
    line = "column" if found.axis == COLUMNS else "row"
    way = (
        "The matrix is transposed: each column is a query. "
        if found.axis == COLUMNS
        else "Each row is a query. "
        if found.axis
        else ""
    )
    return (
        f"These {are} attention weights with a part of each {line} missing: nothing is below 0, "
        f"and the {line}s lack {span(np.maximum(missing, 0))} of 1, as with a sink that takes "
        f"weight and gives nothing. {way}".rstrip()
    )


def _scaled(found: Finding) -> str:
    assert found.total is not None
    line = "column" if found.axis == COLUMNS else "row"
    total = number(found.total)
    whole = abs(found.total - round(found.total)) < 1e-3 and round(found.total) > 1
    hint = ""
    if abs(found.total - 100) < 1e-2:
        hint = " These are percent."
    elif whole:
        hint = f" The sum of {round(found.total)} heads, not divided by their number, looks so."
    return (
        f"Every {line} adds up to {total}: these are not attention weights as they stand, but "
        f"divided by {total} they have the form of weights.{hint}"
    )


def _scores(found: Finding) -> str:
    low, high = found.facts.values.min(), found.facts.values.max()
    sign = "some are below 0, and" if low < 0 else ""
    return (
        f"These are scores, not weights: they run from {number(low)} to {number(high)}, {sign} "
        "rows add up to nothing in particular. Softmax of each row would make weights of them."
    ).replace(",  rows", ", and rows")


def _zero_masked(found: Finding) -> str:
    assert found.pattern is not None
    return (
        "These are scores whose masked cells were set to 0, not weights: "
        f"{found.pattern.words} hold exactly 0. A 0 is an ordinary score. Softmax of these rows "
        "would give the masked cells weight; they have to be set to minus infinity first."
    )


def _logs(found: Finding) -> str:
    name = {"e": "natural logarithms", "2": "logarithms to base 2", "10": "logarithms to base 10"}
    line = "column" if found.axis == COLUMNS else "row"
    return (
        f"These are {name[found.base]} of attention weights: nothing is above 0, and taking them "
        f"back makes every {line} add up to 1 (the log-sum-exp of each {line} is 0). They are "
        "not the model's scores, though softmax of them gives the weights."
    )


def _positive(found: Finding) -> str:
    sums = found.facts.sums
    return (
        f"These are not attention weights: nothing is below 0, but the rows add up to {span(sums)} "
        "and the columns not to 1 either. Exponentials of scores that were never divided by "
        "their row sums look like this, and so do many other numbers."
    )


def _other(found: Finding) -> str:
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
    }[found.note]


_SENTENCES = {
    v.SCORES: _scores,
    v.ZERO_MASKED_SCORES: _zero_masked,
    v.LOG_WEIGHTS: _logs,
    v.WEIGHTS: _weights,
    v.SINK_WEIGHTS: _sink,
    v.ROUNDED_WEIGHTS: _rounded,
    v.HEAD_MEAN: _mean,
    v.SCALED_WEIGHTS: _scaled,
    v.SOFTMAX_TWICE: _twice,
    v.UNIFORM_WEIGHTS: _uniform,
    v.POSITIVE_ROWS: _positive,
    v.SOMETHING_ELSE: _other,
}


def span(values: np.ndarray) -> str:
    """From the least to the largest, in as many digits as tell them apart."""
    low, high = float(values.min()), float(values.max())
    if number(low) == number(high):
        return number(low)
    for digits in range(3 if abs(high) < 1000 else 6, 10):
        ends = f"{low:.{digits}g}", f"{high:.{digits}g}"
        if ends[0] != ends[1]:
            break
    return f"{ends[0]} to {ends[1]}"
