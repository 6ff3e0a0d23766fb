"""The invented head of the page on how attention works, and how it is written in a link."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attnviz.experiments.invented_head import invent_head
from attnviz.heads.head import Head
from attnviz.matrix_check import EXAMPLES
from dashboard.session.link_fields import Field, decimal, listed, one_of, write_fields

DEPTHS = {"seconds": "Five seconds", "plain": "Plain words", "technical": "Technical"}
SENTENCE = ("Soup", "simmers", "on", "the", "stove")
FOCUS, CANDIDATES = "stove", ("Soup", "simmers", "the")
LOW, HIGH = -5.0, 5.0  # of a score, and of what is added to all of them
COLDEST, HOTTEST = 0.1, 5.0
PUBLISHED = EXAMPLES["published_triple"]
assert PUBLISHED.other is not None
START = tuple(PUBLISHED.other[0].round(3).tolist())


@dataclass(frozen=True)
class Toy:
    """What the reader has set.

    Attributes:
        scores: one a candidate, before anything is added.
        added: added to every score.
        temperature: divides the scores.
        masked: places of the candidates that are masked, from 0.
        depth: one of `DEPTHS`.
    """

    scores: tuple[float, ...] = START
    added: float = 0.0
    temperature: float = 1.0
    masked: tuple[int, ...] = ()
    depth: str = "plain"

    @property
    def settings(self) -> dict[str, Any]:
        """What `invent_head` makes the head of."""
        changed = {name: getattr(self, name) for name in ("added", "temperature", "masked")}
        return {"scores": self.scores, "words": CANDIDATES, "query_word": FOCUS, **changed}

    def head(self) -> Head:
        """One query, three keys, with these scores."""
        return invent_head(**self.settings)


def of_scores(scores: Sequence[float], candidates: Sequence[str], focus: str) -> Head:
    """A head with exactly these scores for these words, whatever its vectors."""
    given = {"scaled": np.array([scores], np.float32)}
    return replace(invent_head(scores, candidates, focus), q=None, k=None, given=given)


# In a link

_SCORE = decimal(LOW, HIGH, 1, rounds=True)  # one digit: the steps of the sliders
_PLACES = [str(place) for place in range(len(START))]
FIELDS = {
    "toy": listed(
        _SCORE,
        f"it is three scores from {LOW:g} to {HIGH:g}, with commas between",
        count=len(START),
        attribute="scores",
    ),
    "added": _SCORE,
    "temperature": decimal(COLDEST, HOTTEST, 1, rounds=True),
    "masked": listed(
        Field(lambda raw: int(one_of(_PLACES).read(raw)), ""),
        f"it is places from 0 to {len(START) - 1}, with commas between",
    ),
    "depth": one_of(DEPTHS),
}


def write_toy(toy: Toy) -> dict[str, str]:
    """The settings that differ from the start, as names and values of an address."""
    return write_fields(toy, Toy(), FIELDS)
