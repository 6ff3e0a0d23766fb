"""The row of How it works: a head of one query and three keys, and the keys that are followed."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from attnviz.heads.head import Head
from attnviz.heads.softmax import Array
from attnviz.tokens import Token

_SCALE = 0.5  # one over the square root of the four numbers of a query
_QUERY = np.array([1, -1, 1, 1], np.float32)
# What a key holds besides its match with the query: at right angles to it, so it adds no score.
_OWN = np.array([[0.5, 0.5, 0, 0], [0, 0.6, 0.6, 0], [0.4, 0, 0, -0.4]], np.float32)
_VALUES = np.array(
    [[1.2, -0.4, 0.8, 0.2], [-0.6, 1.0, 0.3, -0.9], [0.3, 0.7, -1.1, 0.6]], np.float32
)


def invent_head(
    scores: Sequence[float],
    words: Sequence[str],
    query_word: str,
    *,
    added: float = 0.0,
    temperature: float = 1.0,
    masked: Sequence[int] = (),
) -> Head:
    """A head of one query and three keys, with these words as tokens.

    Each key is turned towards the query as far as its score says, so that the scores (and what is
    `added` to each) come out of the products of the vectors. `masked`: positions of keys.

    >>> head = invent_head((2.0, 1.0, 0.0), ("Soup", "simmers", "the"), "stove", masked=(2,))
    >>> head.weights.round(3).tolist()
    [[0.731, 0.269, 0.0]]
    """
    shifted = np.array(scores, np.float32) + np.float32(added)
    keys: Array = _OWN + shifted[:, None] * _QUERY / (_SCALE * (_QUERY @ _QUERY))
    allowed = np.ones((1, len(words)), bool)
    allowed[0, list(masked)] = False
    query, *tokens = (
        Token(place, word, word, place, None, None, special=False)
        for place, word in [(0, query_word), *enumerate(words)]
    )
    head = Head(
        _QUERY[None],
        keys,
        _VALUES,
        scaling=_SCALE,
        allowed=allowed,
        removed=~allowed,
        query_tokens=[query],
        key_tokens=tokens,
        stack="cross",  # the query is none of the keys
    )
    return head.temper(temperature)


def follow_keys(head: Head, query: int, keys: Sequence[int]) -> pd.DataFrame:
    """A row a key that is followed: "Key" (position), "Token", its "Score" (unit-less, NaN where
    masked) and its "Weight" (0 to 1, over all keys of the row). No other row is worked out.

    >>> head = invent_head((2.0, 1.0, 0.0), ("Soup", "simmers", "the"), "stove")
    >>> follow_keys(head, 0, [0, 2]).round(3).values.tolist()
    [[0, 'Soup', 2.0, 0.665], [2, 'the', 0.0, 0.09]]
    """
    row, columns = head.rows(query, query + 1), list(keys)
    scores = np.where(row.allowed[0, columns], row.scores[0, columns], np.float32(np.nan))
    return pd.DataFrame(
        {
            "Key": columns,
            "Token": [head.key_tokens[key].label for key in columns],
            "Score": scores,
            "Weight": row.weights[0, columns],
        }
    )
