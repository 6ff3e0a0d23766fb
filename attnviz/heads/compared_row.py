"""One row of two heads as a table: the numbers of a picture for those who read them."""

from typing import TYPE_CHECKING

import pandas as pd

from attnviz.heads.comparison import quantity, same_keys
from attnviz.heads.row_frame import frame_row

if TYPE_CHECKING:
    from attnviz.heads.head import Head

MINUS = "B \u2212 A"


def rows_of(a: "Head", b: "Head", query: int, other_query: int, of: str) -> pd.DataFrame:
    """Two rows in one table: a row a key where the keys are the same tokens, with the columns
    "Position", "Token", "A", "B" and B minus A; else the rows of `row_of`, A's and then B's, with
    the column "Side" before them. Why a key is masked stands beside it.

    >>> from attnviz.heads.head import Head
    >>> a, b = (Head(q=[[x]], k=[[1], [0]], v=None, scaling=1.0) for x in (0, 2))
    >>> rows_of(a, b, 0, 0, "scores")[["A", "B", MINUS]].values.tolist()
    [[0.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
    """
    first, second = row_of(a, query, of), row_of(b, other_query, of)
    if not same_keys(a, b):
        sides = [frame.assign(Side=name) for name, frame in (("A", first), ("B", second))]
        joined = pd.concat(sides, ignore_index=True)
        return joined[["Side", *(name for name in joined if name != "Side")]]
    both = first if len(first) >= len(second) else second  # a sink of either has a row
    frame = both[["Position", "Token"]].copy()
    for name, one in (("A", first), ("B", second)):
        frame[name] = one["Value"]
        if "Mask" in one:
            frame[f"Mask in {name}"] = one["Mask"]
    frame[MINUS] = frame["B"] - frame["A"]
    return frame


def row_of(head: "Head", query: int, of: str) -> pd.DataFrame:
    """A row a key: "Position", "Token", "Value", and "Mask" where a key is masked, which has no
    value and says why. A model with a sink has a last row for it: its weight, or its logit, which
    is a score that softmax receives beside those of the keys.

    Args:
        query: the row's position, from 0.
        of: a name in `attnviz.heads.comparison.QUANTITIES`.
    """
    row = head.rows(query, query + 1)
    sink = {} if row.sink_logit is None else {"Value": _sink(row, of)}
    return frame_row(head, query, {"Value": quantity(row, of)[0]}, sink)


def _sink(row: "Head", of: str) -> float:
    if of == "weights":
        return float(row.sink[0])
    assert row.sink_logit is not None
    largest = row.scores[0].max() if of == "relative" and row.allowed.any() else 0.0
    return float(row.sink_logit - largest)
