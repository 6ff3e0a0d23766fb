"""MatrixVerdict: what a matrix is, on what evidence, and what cannot be told from it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.floating[Any]]

SCORES = "scores"
ZERO_MASKED_SCORES = "zero_masked_scores"
LOG_WEIGHTS = "log_weights"
WEIGHTS = "weights"
SINK_WEIGHTS = "sink_weights"
ROUNDED_WEIGHTS = "rounded_weights"
HEAD_MEAN = "head_mean"
SCALED_WEIGHTS = "scaled_weights"
SOFTMAX_TWICE = "softmax_twice"
UNIFORM_WEIGHTS = "uniform_weights"
POSITIVE_ROWS = "positive_rows"
SOMETHING_ELSE = "something_else"

KINDS = {
    SCORES: "Attention scores",
    ZERO_MASKED_SCORES: "Attention scores, masked cells set to 0",
    LOG_WEIGHTS: "Logarithms of attention weights",
    WEIGHTS: "Attention weights",
    SINK_WEIGHTS: "Attention weights with a part of each row missing",
    ROUNDED_WEIGHTS: "Attention weights, rounded",
    HEAD_MEAN: "The mean of several heads' attention weights",
    SCALED_WEIGHTS: "Attention weights times a number, or added up",
    SOFTMAX_TWICE: "Softmax applied twice",
    UNIFORM_WEIGHTS: "Uniform attention weights",
    POSITIVE_ROWS: "Positive numbers that are not attention weights",
    SOMETHING_ELSE: "Neither scores nor weights",
}
"""What each value of `MatrixVerdict.kind` means, in a few words."""
WEIGHTS_FAMILY = (
    WEIGHTS,
    SINK_WEIGHTS,
    ROUNDED_WEIGHTS,
    HEAD_MEAN,
    SCALED_WEIGHTS,
    SOFTMAX_TWICE,
    UNIFORM_WEIGHTS,
)


@dataclass(frozen=True)
class Evidence:
    """One thing that was looked at: its name, what was found, and what that says."""

    name: str
    value: str
    says: str = ""


@dataclass(frozen=True)
class PairTemperature:
    """The temperature that two cells of one row would need: the score difference of two keys
    over the difference of the logarithms of their weights. NaN where the weights are equal."""

    query: int
    key: int
    other_key: int
    temperature: float


@dataclass(frozen=True)
class MatrixVerdict:
    """What a matrix is.

    Attributes:
        kind: one of `attnviz.matrix_check.KINDS`, the best reading.
        axis: "rows" where a row is a query, "columns" where the matrix is transposed, None where
            the numbers do not tell.
        could_be: other kinds that this very matrix can be as well.
        temperature: T with softmax(scores / T) = weights, where two matrices were given and one
            T fits all rows within their precision; otherwise None.
        pairs: with two matrices, the temperature that neighbouring keys of a row would need, of
            the first rows.
        mask: how masked cells are written: "-inf", "NaN", "0", a large negative number such as
            "-10000", or None where no mask is seen.
        decimals: to how many decimals the numbers are rounded, None where they are not.
        recovered: (query, key), for `SOFTMAX_TWICE` the weights before the second softmax.
        evidence: what was looked at, line by line.
        verdict: plain words to quote.
        cannot_tell: what the numbers do not decide.
        caveats: what the verdict does not mean.
        other: the verdict on the second matrix, where one was given.

    >>> import attnviz
    >>> verdict = attnviz.check_matrix([[0.8, 0.15, 0.05], [0.3, 0.3, 0.4]])
    >>> verdict.kind, verdict.axis, verdict.decimals
    ('rounded_weights', 'rows', 2)
    """

    kind: str
    axis: str | None
    verdict: str
    evidence: list[Evidence]
    cannot_tell: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    could_be: tuple[str, ...] = ()
    temperature: float | None = None
    pairs: tuple[PairTemperature, ...] = ()
    mask: str | None = None
    decimals: int | None = None
    recovered: Matrix | None = field(default=None, repr=False, compare=False)
    other: "MatrixVerdict | None" = field(default=None, repr=False)

    def as_text(self) -> str:
        """The whole verdict as plain text, a line a piece of evidence."""
        parts = [f"{KINDS[self.kind]} ({self.kind})", "", self.verdict, "", "Evidence"]
        parts += [f"- {item.name}: {item.value}. {item.says}".rstrip() for item in self.evidence]
        for title, lines in (
            ("What this cannot tell", self.cannot_tell),
            ("Keep in mind", self.caveats),
        ):
            if lines:
                parts += ["", title, *(f"- {line}" for line in lines)]
        if self.other is not None:
            parts += ["", f"The second matrix: {KINDS[self.other.kind]} ({self.other.kind})"]
            parts += [self.other.verdict]
        return "\n".join(parts)
