"""Is this matrix attention scores or attention weights? And is it this model's?"""

from attnviz.matrix_check.check import check_matrix
from attnviz.matrix_check.match import Match, describe_match, find_closest_head, find_head
from attnviz.matrix_check.matrix_file import (
    ManyMatrices,
    Reading,
    read_matrix,
    read_matrix_file,
)
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
    "describe_match",
    "find_closest_head",
    "find_head",
    "read_matrix",
    "read_matrix_file",
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
