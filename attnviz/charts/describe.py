"""The text alternative of the pictures: what the row says, in plain words with numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attnviz.charts.scales import short
from attnviz.charts.scene import check_query

if TYPE_CHECKING:
    from attnviz.charts.scene import Scene
    from attnviz.heads.head import Head
    from attnviz.tokens import Token

NOTHING, UNDEFINED = "", "?"  # rows without a largest weight


def describe_pair(head: "Head", query: int) -> str:
    """What the picture of one row shows, as sentences: the alt text of `explore` and `pair`.

    >>> from attnviz.heads.head import Head
    >>> head = Head(q=[[0], [2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0, allowed=[[1, 0], [1, 1]])
    >>> print(describe_pair(head, 1))
    Scores and weights of layer 0, head 0: 2 queries by 2 keys. Token 1 gives its largest weight, \
0.881, to token 0, whose score is 2; next comes token 1 with 0.119. No key is masked for it.
    """
    check_query(head, query)
    queries, keys = head.allowed.shape
    opening = (
        f"Scores and weights of layer {head.layer}, head {head.head}: "
        f"{_count(queries, 'query', 'queries')} by {_count(keys, 'key', 'keys')}."
    )
    return " ".join([opening, *_finding(head, query)])


def findings(scene: "Scene") -> list[str]:
    """What each drawn row attends to most: `"cat" (3), weight 0.42`, or NOTHING, or UNDEFINED."""
    weights, tokens = scene.all_weights, scene.head.key_tokens
    found = []
    for place, key in enumerate(weights.argmax(axis=1).tolist()):
        weight, sink = float(weights[place, key]), float(scene.sink[place])
        if not scene.attends[place] or np.isnan(weight):
            found.append(UNDEFINED if scene.attends[place] else NOTHING)
            continue
        text = f"{_name(tokens, key)}, weight {short(weight)}"
        if sink > 0:
            text += f"; the sink takes {short(sink)}"
        if scene.outside[place] >= 0.0005:
            text += f"; {short(float(scene.outside[place]))} lies on keys not shown"
        found.append(text)
    return found


def _finding(head: "Head", query: int) -> list[str]:
    name = _name(head.query_tokens, query)
    row = head.rows(query, query + 1)
    if not row.attends[0]:
        return [f"{name[0].upper()}{name[1:]} attends to nothing: every key is masked for it."]
    weights, scores = row.weights[0], row.scores[0]
    if np.isnan(weights).any():
        return [f"The weights of {name} are undefined: one of its scores is not a number."]
    first, *rest = np.argsort(-weights, kind="stable").tolist()
    text = (
        f"{name[0].upper()}{name[1:]} gives its largest weight, {short(weights[first])}, to "
        f"{_name(head.key_tokens, first)}, whose score is {short(scores[first])}"
    )
    if rest and weights[rest[0]] > 0:
        text += f"; next comes {_name(head.key_tokens, rest[0])} with {short(weights[rest[0]])}"
    found = [text + "."]
    if row.sink[0] > 0:
        found.append(f"The sink, no token at all, takes {short(row.sink[0])}.")
    masked = int((~row.allowed).sum())
    noun = "key is" if masked < 2 else "keys are"
    found.append(f"{masked or 'No'} {noun} masked for it.")
    return found


def _name(tokens: "Sequence[Token]", position: int) -> str:
    return f'"{tokens[position].label}" ({position})' if tokens else f"token {position}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
