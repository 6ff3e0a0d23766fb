"""check_matrix: the whole check of one matrix, or of two."""

from dataclasses import replace

import numpy as np

from attnviz.errors import BadInput
from attnviz.matrix_check import sentences
from attnviz.matrix_check import verdict as v
from attnviz.matrix_check.doubts import cannot_tell
from attnviz.matrix_check.evidence import evidence_of, evidence_of_link
from attnviz.matrix_check.facts import Facts
from attnviz.matrix_check.judge import Finding, judge
from attnviz.matrix_check.temperature_fit import Bridge, bridge
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
    facts = Facts.of(array, tolerance)
    found = judge(facts)
    if other is None:
        return _verdict(facts, found)
    second_facts = Facts.of(other, tolerance)
    second = judge(second_facts)
    link, forward = _link(facts, found, second_facts, second)
    if link is not None and link.holds:
        found, second = (
            _proved(found, second, link, is_scores=forward),
            _proved(second, found, link, is_scores=not forward),
        )
    lead = sentences.bridge_words(found, second, link, forward)
    alone = _verdict(facts, found)
    return replace(
        alone,
        verdict=f"{lead} The first matrix: {alone.verdict}",
        evidence=[*alone.evidence, *evidence_of_link(link)],
        temperature=link.temperature if link else None,
        pairs=link.pairs if link else (),
        other=_verdict(second_facts, second),
    )


def _link(
    first: Facts, found: Finding, second: Facts, other: Finding
) -> tuple[Bridge | None, bool]:
    """The bridge between two matrices, and whether it leads from the first to the second."""
    forward = found.kind not in v.WEIGHTS_FAMILY
    both = forward == (other.kind not in v.WEIGHTS_FAMILY)
    tried: list[tuple[Bridge, bool]] = []
    for way in (forward, not forward) if both else (forward,):
        scores, weights = (first, other) if way else (second, found)
        sides = [weights.facts] + ([weights.facts.turned()] if weights.axis is None else [])
        for side in sides:
            for source in (scores, scores.turned()):
                if source.x.shape == side.x.shape:
                    tried.append((bridge(source, side), way))
                    if tried[-1][0].holds:
                        return tried[-1]
    return tried[0] if tried else (None, forward)


def _proved(found: Finding, other: Finding, link: Bridge, *, is_scores: bool) -> Finding:
    """A finding freed of doubts that the other matrix, its softmax or its scores, settles."""
    if is_scores:
        kind = v.SCORES if found.kind == v.POSITIVE_ROWS else found.kind
        return replace(found, kind=kind, could_be=())
    if found.kind == v.SINK_WEIGHTS and link.sink_logit is None:
        return found
    kind = v.WEIGHTS if found.kind in (v.HEAD_MEAN, v.SOFTMAX_TWICE) else found.kind
    if found.twice is not None and other.kind in v.WEIGHTS_FAMILY:
        kind = v.SOFTMAX_TWICE
    return replace(found, kind=kind, could_be=())


def _verdict(facts: Facts, found: Finding) -> MatrixVerdict:
    again = found.twice
    return MatrixVerdict(
        kind=found.kind,
        axis=found.axis,
        verdict=sentences.verdict_words(found),
        evidence=evidence_of(facts, found),
        cannot_tell=cannot_tell(found),
        caveats=list(sentences.CAVEATS),
        could_be=found.could_be,
        mask=found.mask or facts.mask.fill,
        decimals=facts.precision.decimals,
        recovered=again.recovered if again and found.kind == v.SOFTMAX_TWICE else None,
    )
