"""Is this matrix attention scores or attention weights? And is it this model's?"""

from attnviz.matrix_check.check import check_matrix
from attnviz.matrix_check.match import Match, closest, describe, match
from attnviz.matrix_check.matrix_file import ManyMatrices, Reading, read, read_file
from attnviz.matrix_check.ready_examples import EXAMPLES, Example
from attnviz.matrix_check.verdict import (
    HEAD_MEAN,
    KINDS,
    LOG_WEIGHTS,
    POSITIVE_ROWS,
    ROUNDED_WEIGHTS,
    SCALED_WEIGHTS,
    SCORES,
    SINK_WEIGHTS,
    SOFTMAX_TWICE,
    SOMETHING_ELSE,
    UNIFORM_WEIGHTS,
    WEIGHTS,
    ZERO_MASKED_SCORES,
    Evidence,
    MatrixVerdict,
    PairTemperature,
)

__all__ = [
    "EXAMPLES",
    "Example",
    "ManyMatrices",
    "Match",
    "Reading",
    "closest",
    "describe",
    "match",
    "read",
    "read_file",
    "HEAD_MEAN",
    "KINDS",
    "LOG_WEIGHTS",
    "POSITIVE_ROWS",
    "ROUNDED_WEIGHTS",
    "SCALED_WEIGHTS",
    "SCORES",
    "SINK_WEIGHTS",
    "SOFTMAX_TWICE",
    "SOMETHING_ELSE",
    "UNIFORM_WEIGHTS",
    "WEIGHTS",
    "ZERO_MASKED_SCORES",
    "Evidence",
    "MatrixVerdict",
    "PairTemperature",
    "check_matrix",
]
