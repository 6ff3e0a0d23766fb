"""One row of a head: its scores shifted, scaled and masked, and what each key adds to its output.

Every table has a row a key that the query may see: "Key" (position and label), then its numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from attnviz.heads.head import Head
from attnviz.heads.softmax import Mask, weigh
from attnviz.tokens.token import Token, number_labels

LOWS = (0.0, -10.0, -1e4)
"""Scores that are put in the place of a mask."""


def label_tokens(tokens: Sequence[Token], count: int) -> list[str]:
    """Names of so many tokens, for the first column of a table: positions where none are known."""
    return number_labels(tokens) or [str(place) for place in range(count)]


def tabulate_keys(head: Head, shown: Mask, columns: Mapping[str, Any]) -> pd.DataFrame:
    """A row for each of the keys `shown`, (key,) bool: its name, "Key", and its number in each
    column, which is as long as there are keys shown."""
    labels = label_tokens(head.key_tokens, len(shown))
    return pd.DataFrame({"Key": [labels[key] for key in np.flatnonzero(shown)], **columns})


def shift_scores(
    head: Head, query: int, *, shift: float, factor: float, of: str = "weights"
) -> pd.DataFrame:
    """One row "as they are", with a number added to every score, and with every score multiplied.

    `of`: "scores" (unit-less, as softmax receives them) or "weights" (0 to 1). The logit of a sink
    is one more score of the row and is shifted and multiplied too.

    >>> head = Head(q=[[2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    >>> shift_scores(head, 0, shift=3, factor=0).round(3).values.tolist()
    [['0', 0.881, 0.881, 0.5], ['1', 0.119, 0.119, 0.5]]
    """
    ways = {
        "as they are": (1.0, 0.0),
        f"all {shift:+g}": (1.0, shift),
        f"all times {factor:g}": (factor, 0.0),
    }
    columns, seen = {}, head.allowed[query]
    for name, (times, plus) in ways.items():
        scores = head.scores[query, seen] * np.float32(times) + np.float32(plus)
        sink = None if head.sink_logit is None else head.sink_logit * times + plus
        columns[name] = scores if of == "scores" else weigh(scores[None], sink)[0][0]
    return tabulate_keys(head, seen, columns)


def mask_key(head: Head, query: int, key: int) -> pd.DataFrame:
    """Weights, 0 to 1, of one row "as it is", with each of `LOWS` as the score of one key, and
    with that key "masked".

    >>> head = Head(q=[[2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    >>> table = mask_key(head, 0, key=1)
    >>> table["at a score of 0"].round(3).tolist(), table["masked"].tolist()
    ([0.881, 0.119], [1.0, 0.0])
    """
    from attnviz.interventions import HideKeys

    seen = head.allowed[query]
    columns = {"as it is": head.weights[query, seen]}
    for low in LOWS:
        scores = head.scores[query].copy()
        scores[key] = low
        columns[f"at a score of {low:,.0f}"] = weigh(scores[None], head.sink_logit)[0][0][seen]
    masked = HideKeys(keys=(key,), queries=(query,)).apply(head)
    return tabulate_keys(head, seen, columns | {"masked": masked.weights[query, seen]})


def share_row(head: Head, query: int) -> pd.DataFrame:
    """Each key's weight, "share of the weight", and the length of what it adds as a share of all
    such lengths, "share of the lengths added": 0 to 1, NaN where nothing is added or known.

    Lengths are through the output projection, or before it where that is out of reach. Source:
    Kobayashi et al. 2020, "Attention is Not Only a Weight".

    >>> head = Head(q=[[2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    >>> share_row(head, 0)["share of the lengths added"].round(3).tolist()
    [0.711, 0.289]
    """
    measure = "weighted_value_norm" if head.w_o is None else "contribution_norm"
    seen = head.allowed[query]
    lengths = head.contribution_matrix(measure)[query, seen].astype(float)
    total = np.nansum(lengths)
    columns = {
        "share of the weight": head.weights[query, seen],
        "share of the lengths added": lengths / total
        if total > 0
        else np.full_like(lengths, np.nan),
    }
    return tabulate_keys(head, seen, columns)


def decompose_output(head: Head, query: int) -> pd.DataFrame:
    """What each key adds to a head's output: "Score" (unit-less), "Weight" (0 to 1), "Length" and
    "Signed share" (see `attnviz.heads.contributions.MEASURES`; a row adds up to 1), through the
    output projection, or before it where that is out of reach; NaN where the values are.

    >>> head = Head(q=[[2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    >>> decompose_output(head, 0)[["Weight", "Length", "Signed share"]].round(3).values.tolist()
    [[0.881, 0.881, 0.711], [0.119, 0.358, 0.289]]
    """
    seen = head.allowed[query]
    frame = head.contributions(query, of="value" if head.w_o is None else "output")[seen]
    columns = {
        "Score": head.scores[query, seen],
        "Weight": head.weights[query, seen],
        "Length": frame["contribution_norm"].to_numpy(float),
        "Signed share": frame["signed_share"].to_numpy(float),
    }
    return tabulate_keys(head, seen, columns)
