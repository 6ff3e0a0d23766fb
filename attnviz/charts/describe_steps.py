"""The text alternative of the four-step picture: everything it shows, in words with numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attnviz.charts.lanes import Lane, Lanes
from attnviz.charts.scales import short

if TYPE_CHECKING:
    from attnviz.heads.head import Head

_SPELLED = 6  # numbers of a vector up to which they are all told


def describe_four_steps(head: "Head", *, query: int, keys: Sequence[int]) -> list[str]:
    """What `four_steps` shows: the finding in one sentence, then a text for each of the steps.

    >>> from attnviz.heads.head import Head
    >>> head = Head(q=[[2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    >>> for line in describe_four_steps(head, query=0, keys=[0, 1]):
    ...     print(line)
    query 0 gives its largest weight, 0.881, to key 0; the others followed: key 1 0.119.
    1. Query. query 0 reads with a vector of 1 number: 2.
    2. Scores. Against key 0 (vector 1): score 2. Against key 1 (vector 0): score 0.
    3. Weights. key 0: weight 0.881. key 1: weight 0.119. Together they are 1.
    4. New vector. 0.881 times 1, 0.119 times 3; added up, the new vector of query 0 is 1.24.
    """
    lanes = Lanes(head, query, keys)
    steps = [_query(lanes), _scores(lanes), _weights(lanes), _output(lanes)]
    return [_finding(lanes), *(f"{number}. {text}" for number, text in enumerate(steps, 1))]


def _finding(lanes: Lanes) -> str:
    followed = [lane for lane in lanes.lanes if lane.key is not None or lane.score is not None]
    if not lanes.head.attends[lanes.query]:
        return f"{lanes.word} attends to nothing: every key is masked for it."
    first, *rest = sorted(followed, key=lambda lane: -lane.weight)
    text = f"{lanes.word} gives its largest weight, {short(first.weight)}, to {first.word}"
    if len(lanes.lanes) > len(followed):
        text = f"Of the keys followed, {text}"
    if rest:
        others = ", ".join(f"{lane.word} {short(lane.weight)}" for lane in rest)
        text += f"; the others followed: {others}"
    return text + "."


def _query(lanes: Lanes) -> str:
    if lanes.head.q is None:
        return f"Query. {lanes.word} reads; its query vector was not recorded."
    query = lanes.head.q[lanes.query]
    return f"Query. {lanes.word} reads with {_vector(query)}."


def _scores(lanes: Lanes) -> str:
    told = [_score(lane, lanes.temperature) for lane in lanes.lanes if lane.score is not None]
    return "Scores. " + " ".join(told)


def _score(lane: Lane, temperature: float) -> str:
    known = "" if lane.key is None or len(lane.key) > _SPELLED else f" (vector {_spell(lane.key)})"
    if lane.masked:
        return f"{lane.word}{known} is masked ({lane.masked}) and has no score."
    text = f"Against {lane.word}{known}: score {short(lane.score or 0)}"
    if temperature != 1 and lane.received is not None:
        text += f", divided by temperature {short(temperature)}: {short(lane.received)}"
    return text + "."


def _weights(lanes: Lanes) -> str:
    told = [f"{lane.word}: weight {short(lane.weight)}." for lane in lanes.lanes]
    if lanes.sink > 0:
        told.append(f"The sink, no token at all: {short(lanes.sink)}.")
    total = sum(lane.weight for lane in lanes.lanes) + lanes.sink
    end = f"Together they are {short(round(total, 4))}." if total else "Nothing is shared out."
    return "Weights. " + " ".join([*told, end])


def _output(lanes: Lanes) -> str:
    parts = [
        f"{short(lane.weight)} times {_spell(lane.value)}"
        if len(lane.value) <= _SPELLED
        else f"{short(lane.weight)} times the value of {lane.word}"
        for lane in lanes.lanes
    ]
    new = lanes.output
    end = _spell(new) if len(new) <= _SPELLED else f"one of {len(new)} numbers, {_length(new)}"
    return f"New vector. {', '.join(parts)}; added up, the new vector of {lanes.word} is {end}."


def _vector(vector: np.ndarray) -> str:
    count = f"a vector of {len(vector)} number{'s' if len(vector) > 1 else ''}"
    if len(vector) > _SPELLED:
        return f"{count}, {_length(vector)}"
    return f"{count}: {_spell(vector)}"


def _spell(vector: np.ndarray) -> str:
    numbers = ", ".join(short(number) for number in vector.tolist())
    return numbers if len(vector) == 1 else f"({numbers})"


def _length(vector: np.ndarray) -> str:
    return f"of length {short(float(np.linalg.norm(vector)))}"
