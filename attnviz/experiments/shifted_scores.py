"""All scores of a head with another constant added to each row, which changes no weight.

Source: Goodfellow et al. 2016, "Deep Learning", section 4.1.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from attnviz.experiments.one_row import label_tokens
from attnviz.heads.head import Head
from attnviz.heads.softmax import Array, weigh


class ShiftedScores(NamedTuple):
    """A head's scores as they are and with each row shifted.

    scores, shifted: (query, key), unit-less, 0 where masked.
    error: the largest difference between the weights of the two: rounding.
    table: a row a query: "Query", "Largest score" and "Largest score, shifted", -inf where every
        key is masked.
    """

    scores: Array
    shifted: Array
    error: float
    table: pd.DataFrame


def shift_rows(head: Head) -> ShiftedScores:
    """A head's scores, and the same with a random number added to each row, as large as the largest
    score at most. The logit of a sink is one more score of the row and is shifted too.

    >>> shift_rows(Head(q=[[2], [1]], k=[[1], [0]], v=None, scaling=1.0)).error < 1e-6
    True
    """
    plain = np.where(head.allowed, head.scores, 0)
    size = float(np.abs(plain).max()) or 1.0
    rng = np.random.default_rng(0)
    shift = rng.uniform(-size, size, (len(plain), 1)).astype(np.float32)
    sink = moved_sink = None
    if head.sink_logit is not None:
        sink, moved_sink = head.sink_logit, np.float32(head.sink_logit) + shift[:, 0]
    weights, moved = weigh(head.scores, sink)[0], weigh(head.scores + shift, moved_sink)[0]
    scores, shifted = (np.where(head.allowed, plain + by, 0) for by in (0, shift))
    columns = {"Largest score": scores, "Largest score, shifted": shifted}
    largest = {
        name: np.where(head.allowed, one, -np.inf).max(axis=1) for name, one in columns.items()
    }
    table = pd.DataFrame({"Query": label_tokens(head.query_tokens, len(plain)), **largest})
    return ShiftedScores(scores, shifted, float(np.abs(weights - moved).max()), table)
