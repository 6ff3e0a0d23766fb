"""The lanes of the four-step picture: what one query makes of a few keys, each with its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnviz.charts import lettering
from attnviz.charts.scene import check_query
from attnviz.errors import BadInput
from attnviz.heads.masks import MASK_REASONS

if TYPE_CHECKING:
    from attnviz.heads.head import Head

MOST = 6  # keys that stay readable one below the other
_LEFT_OVER = 5e-4  # a share of the row that is worth a lane of its own


@dataclass(frozen=True)
class Lane:
    """One key, or all the others together, on its way from score to output.

    Attributes:
        word: the token's label, or how many others there are.
        score: as it is before temperature and mask; None for the others together.
        received: what softmax received; None where masked and for the others together.
        masked: why the key is masked; empty where it is not.
        weight: its share of the row.
        key, value: (d_k,) or None, (d_v,); of the others, the value is their mean by weight.
    """

    word: str
    score: float | None
    received: float | None
    masked: str
    weight: float
    key: NDArray[np.float32] | None
    value: NDArray[np.float32]

    @property
    def part(self) -> NDArray[np.float32]:
        """(d_v,): weight times value."""
        return np.float32(self.weight) * self.value


@dataclass(frozen=True, eq=False)
class Lanes:
    """One query of a head and the keys that are followed, in the order given.

    Raises:
        BadInput: no such query or key, no key or more than `MOST`, or a head without values.
    """

    head: "Head"
    query: int
    keys: Sequence[int]

    def __post_init__(self) -> None:
        check_query(self.head, self.query)
        count = self.head.allowed.shape[1]
        if not 1 <= len(set(self.keys)) == len(self.keys) <= MOST:
            raise BadInput(
                what=f"{len(self.keys)} keys cannot be followed.",
                todo=f"Choose 1 to {MOST} different ones.",
            )
        for key in self.keys:
            if not 0 <= key < count:
                raise BadInput(
                    what=f"There is no key {key}.",
                    why=f"This text has {count} keys, counted from 0.",
                )
        if self.head.v is None:
            raise BadInput(what="This head has no values.", todo="Give v.")

    @property
    def word(self) -> str:
        """The label of the query's token."""
        tokens = self.head.query_tokens
        return lettering.shorten(tokens[self.query].label, 16) if tokens else f"query {self.query}"

    @cached_property
    def lanes(self) -> list[Lane]:
        """The keys, and a last lane for all others where they have a share."""
        own = [self._of(key) for key in self.keys]
        return [*own, self._others] if self.rest >= _LEFT_OVER else own

    @property
    def rest(self) -> float:
        """The share of the row that lies on other keys."""
        weights = self.head.weights[self.query]
        return float(np.delete(weights, list(self.keys)).sum())

    @property
    def sink(self) -> float:
        return float(self.head.sink[self.query])

    @property
    def temperature(self) -> float:
        return self.head.temperature

    @property
    def output(self) -> NDArray[np.float32]:
        """(d_v,): the new vector."""
        return self.head.output[self.query]

    @property
    def compared_vectors(self) -> list[NDArray[np.float32]]:
        """Query and keys, which share their colours."""
        keys = [lane.key for lane in self.lanes if lane.key is not None]
        return keys if self.head.q is None else [self.head.q[self.query], *keys]

    @property
    def largest_score(self) -> float:
        """The largest size of a score, 1 where all are 0."""
        return max((abs(lane.score or 0) for lane in self.lanes), default=0) or 1.0

    @property
    def added_vectors(self) -> list[NDArray[np.float32]]:
        """Values and output, which share their colours."""
        return [*(lane.value for lane in self.lanes), self.output]

    def _of(self, key: int) -> Lane:
        head, at = self.head, (self.query, key)
        allowed = bool(head.allowed[at])
        return Lane(
            word=lettering.shorten(head.key_tokens[key].label, 16)
            if head.key_tokens
            else f"key {key}",
            score=_before(head)[at].item(),
            received=head.scores[at].item() if allowed else None,
            masked="" if allowed else MASK_REASONS[head.mask_reason[at]],
            weight=head.weights[at].item(),
            key=None if head.k is None else head.k[key],
            value=self._values[key],
        )

    @property
    def _others(self) -> Lane:
        shares = self.head.weights[self.query].copy()
        shares[list(self.keys)] = 0
        count = int((shares > 0).sum())
        mean = (shares @ self._values) / shares.sum()
        noun = "other" if count == 1 else "others"
        return Lane(f"{count} {noun}", None, None, "", float(shares.sum()), None, mean)

    @property
    def _values(self) -> NDArray[np.float32]:
        assert self.head.v is not None  # checked above
        return np.asarray(self.head.v, np.float32)


def _before(head: "Head") -> NDArray[np.float32]:
    """(query, key): the scores before temperature and mask."""
    stages = [name for name in head.stages if name not in ("tempered", "masked")]
    return head.stages[stages[-1]]
