"""One head before and after a change, or two heads: rows, contributions and cells side by side."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from attnviz.experiments.one_row import label_tokens, tabulate_keys
from attnviz.heads.compared_row import MINUS
from attnviz.heads.head import Head
from attnviz.heads.softmax import Array, Mask


def compare_rows(before: Head, after: Head, query: int) -> pd.DataFrame:
    """The weights of one row, 0 to 1: a row a key that the query could see: "Key", "Before",
    "After", "Difference". The heads are whole, or the same rows of both.

    >>> head = Head(q=[[2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    >>> compare_rows(head, head.temper(2.0), 0)["Difference"].round(3).tolist()
    [-0.15, 0.15]
    """
    at = query - before.first
    return _tabulate_pair(before, before.allowed[at], before.weights[at], after.weights[at])


def compare_contributions(before: Head, after: Head, query: int, measure: str) -> pd.DataFrame:
    """What each key adds to one row by a measure of `attnviz.heads.contributions.MEASURES`, with
    the columns of `compare_rows`; keys without such a number before are left out.

    >>> head = Head(q=[[2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    >>> table = compare_contributions(head, head.temper(2.0), 0, "weighted_value_norm")
    >>> table["After"].round(3).tolist()
    [0.731, 0.807]
    """
    at = query - before.first
    first, second = (head.contribution_matrix(measure)[at] for head in (before, after))
    return _tabulate_pair(before, before.allowed[at] & np.isfinite(first), first, second)


def _tabulate_pair(head: Head, shown: Mask, first: Array, second: Array) -> pd.DataFrame:
    table = tabulate_keys(head, shown, {"Before": first[shown], "After": second[shown]})
    table["Difference"] = table["After"] - table["Before"]
    return table


def tabulate_added(heads: Mapping[str, Head], queries: Sequence[int], measure: str) -> pd.DataFrame:
    """What each key adds to one row of one head, or of two over the same keys, by a measure of
    `attnviz.heads.contributions.MEASURES`: "Key", a column a head by its name, and of two their
    difference. A masked key has NaN; keys without a number in any column are left out.

    >>> head = Head(q=[[2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    >>> tabulate_added({"A": head, "B": head.temper(2.0)}, [0, 0], "weight").round(
    ...     3
    ... ).values.tolist()
    [['0', 0.881, 0.731, -0.15], ['1', 0.119, 0.269, 0.15]]
    """
    columns = {}
    for (name, head), query in zip(heads.items(), queries, strict=True):
        row = head.rows(query, query + 1)
        columns[name] = np.where(row.allowed[0], row.contribution_matrix(measure)[0], np.nan)
    shown = np.isfinite(np.stack(list(columns.values()))).any(axis=0)
    one = next(iter(heads.values()))
    table = tabulate_keys(one, shown, {name: values[shown] for name, values in columns.items()})
    if len(heads) == 2:
        first, second = heads
        table[MINUS] = table[second] - table[first]
    return table


def list_changed_cells(
    before: Head,
    after: Head,
    of: str = "weights",
    *,
    rows: tuple[int, int],
    keys: tuple[int, int],
    most: int = 1000,
) -> pd.DataFrame:
    """A row a cell whose "weights" (0 to 1) or "scores" (unit-less) changed, the largest change
    first, `most` of them: "From" (query), "To" (key), "Before", "After", "Difference".

    `rows` and `keys`: the first position that is looked at, and the one after the last. A cell
    that was hidden has a weight after as before, which is 0, but no score.

    >>> head = Head(q=[[2], [0]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    >>> table = list_changed_cells(head, head.temper(2.0), rows=(0, 2), keys=(0, 2))
    >>> table[["From", "To", "Difference"]].round(3).values.tolist()
    [['0', '1', 0.15], ['0', '0', -0.15]]
    """
    sides, columns = [head.rows(*rows) for head in (before, after)], slice(*keys)
    seen, still_seen = (side.allowed[:, columns] for side in sides)
    first, second = (getattr(side, of)[:, columns] for side in sides)
    compared = seen if of == "weights" else seen & still_seen
    query, key = np.nonzero(compared & (first != second))
    names = [
        label_tokens(*side)
        for side in zip((before.query_tokens, before.key_tokens), before.allowed.shape, strict=True)
    ]
    frame = pd.DataFrame(
        {
            "From": [names[0][rows[0] + q] for q in query],
            "To": [names[1][keys[0] + k] for k in key],
            "Before": first[query, key],
            "After": second[query, key],
        }
    )
    frame["Difference"] = frame["After"] - frame["Before"]
    order = frame["Difference"].abs().sort_values(ascending=False, kind="stable").index
    return frame.loc[order[:most]]
