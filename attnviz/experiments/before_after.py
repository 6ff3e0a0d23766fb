"""One head before and after a change, or two heads: rows, contributions and maps side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attnviz.experiments.one_row import tabulate_keys
from attnviz.heads.compared_row import MINUS
from attnviz.heads.head import Head
from attnviz.heads.softmax import Array, Mask
from attnviz.tokens.token import number_labels


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


@dataclass(frozen=True, eq=False)
class MapChange:
    """The cells of a head before and after a change, over some of its rows and keys.

    Attributes:
        before, after: (query, key), masked scores 0.
        seen, still_seen: (query, key) bool, what was not masked before and is not after.
        compared: (query, key) bool, where there are numbers of both. A hidden cell has a weight
            after as before, which is 0, but no score.
        queries, keys: labels of the rows and of the keys.
        most: how many cells the table holds.
    """

    before: Array
    after: Array
    seen: Mask
    still_seen: Mask
    compared: Mask
    queries: list[str]
    keys: list[str]
    most: int

    @property
    def difference(self) -> Array:
        """(query, key): after minus before, 0 where they are not compared."""
        first, second = (np.where(self.compared, one, 0) for one in (self.before, self.after))
        return second - first

    @property
    def table(self) -> pd.DataFrame:
        """A row a cell that changed, the largest change first: "From" (query), "To" (key),
        "Before", "After", "Difference"."""
        query, key = np.nonzero(self.compared & (self.before != self.after))
        frame = pd.DataFrame(
            {
                "From": [self.queries[q] for q in query],
                "To": [self.keys[k] for k in key],
                "Before": self.before[query, key],
                "After": self.after[query, key],
            }
        )
        frame["Difference"] = frame["After"] - frame["Before"]
        order = frame["Difference"].abs().sort_values(ascending=False, kind="stable").index
        return frame.loc[order[: self.most]]


def compare_maps(
    before: Head,
    after: Head,
    *,
    of: str = "weights",
    rows: tuple[int, int],
    keys: tuple[int, int],
    most: int = 1000,
) -> MapChange:
    """The "weights" (0 to 1) or "scores" (unit-less) of a whole head before and after a change.
    `rows` and `keys`: the first position that is looked at, and the one after the last.

    >>> head = Head(q=[[2], [0]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    >>> change = compare_maps(head, head.temper(2.0), rows=(0, 2), keys=(0, 2))
    >>> change.table[["From", "To", "Difference"]].round(3).values.tolist()
    [['0', '1', 0.15], ['0', '0', -0.15]]
    """
    columns = slice(*keys)
    sides = [head.rows(*rows) for head in (before, after)]
    seen, still = (side.allowed[:, columns] for side in sides)
    first, second = (
        (side.weights if of == "weights" else np.where(side.allowed, side.scores, 0))[:, columns]
        for side in sides
    )
    queries, names = (
        number_labels(tokens) or [str(place) for place in range(size)]
        for tokens, size in zip(
            (before.query_tokens, before.key_tokens), before.allowed.shape, strict=True
        )
    )
    compared = seen if of == "weights" else seen & still
    labels = queries[slice(*rows)], names[columns]
    return MapChange(first, second, seen, still, compared, *labels, most)
