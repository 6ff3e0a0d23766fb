"""What the numbers of a matrix do not decide, in plain sentences."""

from attnviz.matrix_check import verdict as v
from attnviz.matrix_check.judgement import Finding

BY_ROW = (*v.WEIGHTS_FAMILY, v.LOG_WEIGHTS)

_CANNOT: dict[tuple[str, str], str] = {
    (v.WEIGHTS, v.HEAD_MEAN): "Whether this is one head or the mean of several: both have rows "
    "that add up to 1, and any such matrix is the softmax of its own logarithms.",
    (v.ROUNDED_WEIGHTS, v.HEAD_MEAN): "Whether this is one head or the mean of several: both "
    "have rows that add up to 1.",
    (v.UNIFORM_WEIGHTS, v.HEAD_MEAN): "Whether this is one head or the mean of several uniform "
    "heads.",
    (v.WEIGHTS, v.SOFTMAX_TWICE): "Whether softmax was applied once or twice: the weights lie so "
    "close together that they can be the softmax of weights as well as of mild scores.",
    (v.ROUNDED_WEIGHTS, v.SOFTMAX_TWICE): "Whether softmax was applied once or twice: as far as "
    "the decimals show, the weights lie that close together.",
    (v.UNIFORM_WEIGHTS, v.SOFTMAX_TWICE): "Whether softmax was applied once or twice: a uniform "
    "row stays uniform.",
    (v.WEIGHTS, v.ROUNDED_WEIGHTS): "Whether the numbers are exact or rounded: all are 0 or 1.",
    (v.UNIFORM_WEIGHTS, v.ROUNDED_WEIGHTS): "Whether the numbers are exact or rounded: the "
    "decimals end in both cases.",
    (v.ROUNDED_WEIGHTS, v.UNIFORM_WEIGHTS): "Whether the rows were uniform before rounding.",
    (v.SOFTMAX_TWICE, v.WEIGHTS): "Whether these are weights of one softmax whose scores happened "
    "to lie that close together: with so few keys a row they may.",
    (v.SOFTMAX_TWICE, v.HEAD_MEAN): "Whether this is a mean of several mild heads.",
    (v.HEAD_MEAN, v.WEIGHTS): "Whether a single head made this by a position bias or a cap on its "
    "scores, which break the bound on the rank as a mean does.",
    (v.SINK_WEIGHTS, v.POSITIVE_ROWS): "Whether these are weights at all: any positive rows that "
    "add up to less than 1 can be read as weights with a part missing.",
    (v.SINK_WEIGHTS, v.SCORES): "Whether these are scores that all happen to lie between 0 and 1.",
    (v.SINK_WEIGHTS, v.ZERO_MASKED_SCORES): "Whether these are scores between 0 and 1 with the "
    "masked cells set to 0.",
    (v.POSITIVE_ROWS, v.SCORES): "Whether these are scores: a score may be any number, and all "
    "of these happen to be positive.",
    (v.POSITIVE_ROWS, v.SINK_WEIGHTS): "Whether these are transposed weights with a part of each "
    "column missing: no column adds up to more than 1.",
    (v.ZERO_MASKED_SCORES, v.POSITIVE_ROWS): "Whether these are scores at all, or other positive "
    "numbers, such as exponentials of scores: none is below 0.",
    (v.ZERO_MASKED_SCORES, v.SCORES): "Whether the zeros are a mask or scores that are exactly 0.",
    (v.SCORES, v.SOMETHING_ELSE): "Whether these are a model's scores: any real numbers can be.",
    (v.LOG_WEIGHTS, v.SCORES): "Which number the model's own scores had added to each row: "
    "softmax takes it away, and the logarithm does not bring it back.",
    (v.SCALED_WEIGHTS, v.SCORES): "Whether the equal row sums come from softmax.",
    (v.SOMETHING_ELSE, v.SCORES): "Whether these are scores: any real numbers can be.",
}


def list_doubts(finding: Finding) -> list[str]:
    """A sentence for each other kind that the matrix can be, and for what else stays open."""
    lines = [_CANNOT[finding.kind, kind] for kind in finding.could_be]
    if finding.kind in BY_ROW and finding.axis is None:
        lines.append(
            "Whether rows or columns are the queries: both fit, and no triangle of masked cells "
            "decides."
        )
    if finding.kind in (v.SCORES, v.ZERO_MASKED_SCORES) and finding.axis is None:
        lines.append("Whether rows or columns are the queries: scores have no fixed sum in either.")
    if finding.kind == v.SINK_WEIGHTS:
        lines.append(
            "Where the missing part of a row went: to a sink, to keys that were cut off, or to "
            "cells that were masked after softmax."
        )
    if finding.kind in (v.WEIGHTS, v.ROUNDED_WEIGHTS):
        lines.append(
            f"Whether a sink takes up to {_largest_unseen_sink(finding):.1g} of a row: sums that "
            "close to 1 cannot be told from 1."
        )
    if finding.kind == v.SCORES and finding.rank and finding.rank.verdict == "low":
        lines.append("At which stage before softmax these scores were taken.")
    return lines


def _largest_unseen_sink(finding: Finding) -> float:
    return float((finding.facts.most_sums - finding.facts.sums).max())
