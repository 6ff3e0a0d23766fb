"""check_matrix: the whole check of one matrix, or of two."""

from dataclasses import replace

import numpy as np

from attnviz.errors import BadInput
from attnviz.matrix_check import sentences
from attnviz.matrix_check import verdict as v
from attnviz.matrix_check.doubts import list_doubts
from attnviz.matrix_check.evidence import list_evidence, list_fit_evidence
from attnviz.matrix_check.facts import Facts
from attnviz.matrix_check.judgement import Finding, judge_matrix
from attnviz.matrix_check.temperature_fit import TemperatureFit, fit_temperature
from attnviz.matrix_check.verdict import MatrixVerdict


def check_matrix(
    array: object, other: object = None, *, tolerance: float | None = None
) -> MatrixVerdict:
    """What a matrix is: attention scores, attention weights, or something that is called so.

    Args:
        array: (query, key) or (key, query) real numbers; a flat list is one row. Masked cells may
            hold -inf, NaN, 0 or a large negative number.
        other: a second matrix of the same size, to say whether one is the softmax of the other
            and at what temperature.
        tolerance: how far from 1 the sum of a row of weights may be. By default what the
            precision of the numbers allows: their decimals, digits or float format.

    Returns:
        The verdict, with evidence line by line, what else the matrix could be, and what its
        numbers do not decide. Axes: rows are queries unless `axis` says "columns".

    Raises:
        BadInput: not a matrix of real numbers, or the tolerance is not a number from 0 up.
        TooLarge: more than 2,048 x 2,048 cells.

    >>> scores = [[2.1, 0.4, -0.7]]
    >>> verdict = check_matrix([[0.804, 0.147, 0.049]], scores)
    >>> verdict.kind, round(verdict.temperature, 2)
    ('rounded_weights', 1.0)
    >>> check_matrix([[0.75, 0.14, 0.11]], scores).temperature is None
    True
    """
    if tolerance is not None and not (np.isfinite(tolerance) and tolerance >= 0):
        raise BadInput(
            what=f"The tolerance {tolerance} cannot be used.",
            why="It is the largest distance of a row sum from 1.",
            todo="Give a number from 0 up, such as 0.001.",
        )
    # Sums and exponentials of numbers near the end of float64 are infinite, and rightly so.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _check(array, other, tolerance)


def _check(array: object, other: object, tolerance: float | None) -> MatrixVerdict:
    facts = Facts.from_array(array, tolerance)
    finding = judge_matrix(facts)
    if other is None:
        return _make_verdict(facts, finding)
    other_facts = Facts.from_array(other, tolerance)
    other_finding = judge_matrix(other_facts)
    fit, scores_first = _find_fit(facts, finding, other_facts, other_finding)
    if fit is not None and fit.holds:
        finding, other_finding = (
            _drop_doubts(finding, other_finding, fit, is_scores=scores_first),
            _drop_doubts(other_finding, finding, fit, is_scores=not scores_first),
        )
    lead = sentences.state_fit(finding, other_finding, fit, scores_first)
    alone = _make_verdict(facts, finding)
    return replace(
        alone,
        verdict=f"{lead} The first matrix: {alone.verdict}",
        evidence=[*alone.evidence, *list_fit_evidence(fit)],
        temperature=fit.temperature if fit else None,
        pairs=fit.pairs if fit else (),
        other=_make_verdict(other_facts, other_finding),
    )


def _find_fit(
    first: Facts, finding: Finding, second: Facts, other: Finding
) -> tuple[TemperatureFit | None, bool]:
    """How the two matrices go together, and whether the first of them holds the scores."""
    scores_first = finding.kind not in v.WEIGHTS_FAMILY
    either = scores_first == (other.kind not in v.WEIGHTS_FAMILY)
    tried: list[tuple[TemperatureFit, bool]] = []
    for order in (scores_first, not scores_first) if either else (scores_first,):
        scores, weights = (first, other) if order else (second, finding)
        sides = [weights.facts] + ([weights.facts.transpose()] if weights.axis is None else [])
        for side in sides:
            for source in (scores, scores.transpose()):
                if source.x.shape == side.x.shape:
                    tried.append((fit_temperature(source, side), order))
                    if tried[-1][0].holds:
                        return tried[-1]
    return tried[0] if tried else (None, scores_first)


def _drop_doubts(
    finding: Finding, other: Finding, fit: TemperatureFit, *, is_scores: bool
) -> Finding:
    """A finding without the doubts that the other matrix, its softmax or its scores, settles."""
    kind = finding.kind
    if is_scores:
        kind = v.SCORES if kind == v.POSITIVE_ROWS else kind
    elif kind == v.SINK_WEIGHTS and fit.sink_logit is None:
        return finding
    elif finding.undone is not None and other.kind in v.WEIGHTS_FAMILY:
        kind = v.SOFTMAX_TWICE
    elif kind in (v.HEAD_MEAN, v.SOFTMAX_TWICE):
        kind = v.WEIGHTS
    return replace(finding, kind=kind, could_be=())


def _make_verdict(facts: Facts, finding: Finding) -> MatrixVerdict:
    undone = finding.undone if finding.kind == v.SOFTMAX_TWICE else None
    return MatrixVerdict(
        kind=finding.kind,
        axis=finding.axis,
        verdict=sentences.state_verdict(finding),
        evidence=list_evidence(facts, finding),
        cannot_tell=list_doubts(finding),
        caveats=list(sentences.CAVEATS),
        could_be=finding.could_be,
        mask=finding.mask or facts.mask.fill,
        decimals=facts.precision.decimals,
        recovered=undone.recovered if undone else None,
    )
