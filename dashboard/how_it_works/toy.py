"""The invented head of the page on how attention works, and how it is written in a link."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz.matrix_check import EXAMPLES
from dashboard.session.link_fields import Field, decimal, listed, one_of, write_fields

if TYPE_CHECKING:
    from attnviz.heads.head import Head

DEPTHS = {"seconds": "Five seconds", "plain": "Plain words", "technical": "Technical"}
SENTENCE = ("Soup", "simmers", "on", "the", "stove")
FOCUS, CANDIDATES = "stove", ("Soup", "simmers", "the")
LOW, HIGH = -5.0, 5.0  # of a score, and of what is added to all of them
COLDEST, HOTTEST = 0.1, 5.0
PUBLISHED = EXAMPLES["published_triple"]
assert PUBLISHED.other is not None
START = tuple(PUBLISHED.other[0].round(3).tolist())

_SCALE = 0.5  # one over the square root of the four numbers of a query
_QUERY = np.array([1, -1, 1, 1], np.float32)
# What a key holds besides its match with the query: at right angles to it, so it adds no score.
_OWN = np.array([[0.5, 0.5, 0, 0], [0, 0.6, 0.6, 0], [0.4, 0, 0, -0.4]], np.float32)
_VALUES = np.array(
    [[1.2, -0.4, 0.8, 0.2], [-0.6, 1.0, 0.3, -0.9], [0.3, 0.7, -1.1, 0.6]], np.float32
)


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

    def head(self) -> "Head":
        """One query, three keys. Each key is turned towards the query as far as its score says,
        so that the scores come out of the products of the vectors."""
        scores = np.array(self.scores, np.float32) + np.float32(self.added)
        keys = _OWN + scores[:, None] * _QUERY / (_SCALE * (_QUERY @ _QUERY))
        return invented(CANDIDATES, FOCUS, keys, self.masked).temper(self.temperature)


def invented(
    candidates: Sequence[str], focus: str, keys: Any, masked: Sequence[int] = ()
) -> "Head":
    """A head of one query and as many keys as there are candidates, from vectors of our own."""
    from attnviz.heads.head import Head

    allowed = np.ones((1, len(candidates)), bool)
    allowed[0, list(masked)] = False
    return Head(
        _QUERY[None],
        keys,
        _VALUES,
        scaling=_SCALE,
        allowed=allowed,
        removed=~allowed,
        query_tokens=[_token(focus, 0)],
        key_tokens=[_token(word, place) for place, word in enumerate(candidates)],
        stack="cross",  # the query is none of the keys
    )


def of_scores(scores: Sequence[float], candidates: Sequence[str], focus: str) -> "Head":
    """A head with these scores for these words."""
    return replace(
        invented(candidates, focus, np.zeros_like(_OWN)),
        q=None,
        k=None,
        given={"scaled": np.array([scores], np.float32)},
    )


def _token(word: str, place: int) -> Any:
    from attnviz.tokens import Token

    return Token(place, word, word, place, None, None, special=False)


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
