"""Match: which head of a model, on a text, a matrix comes from."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from attnviz.matrix_check.facts import Facts
from attnviz.matrix_check.mask_shape import Cells
from attnviz.matrix_check.verdict import Matrix

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.heads.head import Head

NOISE = 1e-4
"""How far apart two machines may come, as a part of the largest number (of weights: of 1)."""
MEAN = "mean of the weights"


@dataclass(frozen=True)
class Match:
    """The head that a matrix comes from.

    Attributes:
        stack, layer: counted from 0.
        head: counted from 0; None for the mean over the layer's heads.
        which: "weights", "log_weights", `MEAN`, or the name of a stage of the scores, such as
            "scaled": the first at which the numbers agree.
        transposed: the matrix has its keys in rows.
        error: the largest difference.
        excess: the largest difference over what the precision of the numbers allows; at most 1.
        also: further heads that agree as well.
    """

    stack: str
    layer: int
    head: int | None
    which: str
    transposed: bool
    error: float
    excess: float
    also: list["Match"] = field(default_factory=list, repr=False)

    def as_text(self) -> str:
        """Where it comes from, in words."""
        what = {
            "weights": "the weights",
            "log_weights": "the logarithms of the weights",
            MEAN: "the mean of the weights of all heads",
        }.get(self.which, f"the scores (stage {self.which!r})")
        place = f"layer {self.layer}" + ("" if self.head is None else f", head {self.head}")
        turned = ", transposed" if self.transposed else ""
        off = f"with a largest difference of {self.error:.1e}"
        return f"{what} of {self.stack} {place}{turned}, {off}"


def find_head(
    matrix: object, capture: "Capture", *, tolerance: float | None = None
) -> Match | None:
    """The head of a capture that a matrix comes from, or None if it comes from none.

    Compared with every head of every layer: its weights, their logarithms, each stage of its
    scores on the cells that are not masked, and with the mean of each layer's weights; as it is
    and transposed.

    Args:
        matrix: as for `check_matrix`.
        capture: what `attnviz.capture` gave for the text that the matrix is said to be of.
        tolerance: the largest difference that counts as equal. By default what the precision of
            the numbers allows, and `NOISE` for the difference between machines.

    Raises:
        BadInput, TooLarge: as `check_matrix`.
    """
    best = find_closest_head(matrix, capture, tolerance=tolerance)
    return best if best is not None and best.excess <= 1 else None


def find_closest_head(
    matrix: object, capture: "Capture", *, tolerance: float | None = None
) -> Match | None:
    """The head that comes nearest, whether it agrees or not; None if no head has this shape."""
    facts = Facts.from_array(matrix)
    matches: list[Match] = []
    for side, transposed in ((facts, False), (facts.transpose(), True)):
        for stack in capture.stacks:
            if side.x.shape == _matrix_shape(capture, stack):
                matches += _match_stack(side, capture, stack, transposed, tolerance)
    if not matches:
        return None
    best, *others = sorted(matches, key=lambda match: match.excess)
    return replace(best, also=[match for match in others if match.excess <= 1])


def describe_match(matrix: object, capture: "Capture", *, tolerance: float | None = None) -> str:
    """Which head it comes from, or that it comes from none, in plain words."""
    best = find_closest_head(matrix, capture, tolerance=tolerance)
    whose = f"{_count_heads(capture)} heads of {capture.info.name} on this text"
    if best is None:
        shapes = {"{} x {}".format(*_matrix_shape(capture, stack)) for stack in capture.stacks}
        return (
            f"It matches none of the {whose}: their matrices are {' or '.join(sorted(shapes))}. "
            "Another text, or special tokens left out or put in, would explain it."
        )
    if best.excess > 1:
        return f"It matches none of the {whose}. The nearest is {best.as_text()}."
    more = f" {len(best.also)} more agree as well." if best.also else ""
    return f"It matches {best.as_text()}, out of the {whose}.{more}"


def _matrix_shape(capture: "Capture", stack: str) -> tuple[int, int]:
    """(queries, keys) of the matrices of a stack."""
    return len(capture.query_tokens(stack)), len(capture.key_tokens(stack))


def _count_heads(capture: "Capture") -> int:
    return sum(capture.heads(layer, s) for s in capture.stacks for layer in capture.layers(s))


def _match_stack(
    facts: Facts, capture: "Capture", stack: str, transposed: bool, tolerance: float | None
) -> Iterator[Match]:
    """The best candidate of every head, and the mean of every layer."""
    for layer in capture.layers(stack):
        mean = np.zeros(facts.x.shape)
        count = capture.heads(layer, stack)
        for number in range(count):
            head = capture.head(layer, number, stack)
            mean += head.weights / count
            errors = [
                (name, *_measure_difference(facts, candidate, head.allowed, tolerance))
                for name, candidate in _list_candidates(head)
            ]
            which, error, excess = min(errors, key=lambda error: error[2])
            yield Match(stack, layer, number, which, transposed, error, excess)
        if count > 1:
            everywhere = np.ones(facts.x.shape, bool)
            error, excess = _measure_difference(facts, mean, everywhere, tolerance)
            yield Match(stack, layer, None, MEAN, transposed, error, excess)


def _list_candidates(head: "Head") -> Iterator[tuple[str, Matrix]]:
    yield "weights", head.weights.astype(np.float64)
    with np.errstate(divide="ignore"):
        yield "log_weights", np.log(head.weights.astype(np.float64))
    for name, stage in head.stages.items():
        if name != "masked":  # on the cells compared it is the stage before
            yield name, stage.astype(np.float64)


def _measure_difference(
    facts: Facts, candidate: Matrix, allowed: Cells, tolerance: float | None
) -> tuple[float, float]:
    """The largest difference on the cells that the head may look at, and that over the bound."""
    compared = allowed & np.isfinite(candidate)
    if not compared.any() or not facts.unmasked[compared].all():
        return np.inf, np.inf
    off = np.abs(facts.filled - candidate)[compared]
    if tolerance is None:
        bound = facts.error[compared] + NOISE * max(float(np.abs(candidate[compared]).max()), NOISE)
    else:
        bound = np.full(off.shape, max(tolerance, np.finfo(np.float64).tiny))
    return float(off.max()), float((off / bound).max())
