"""Intervention: a change to what heads do, as data. Their kinds are in `attnviz.interventions`."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attnviz.heads.head import Head
from attnviz.heads.softmax import Mask


class BlockShape(Protocol):
    """What an intervention asks of an attention block before it is done."""

    @property
    def queries(self) -> int: ...

    @property
    def keys(self) -> int: ...

    @property
    def heads(self) -> int: ...

    def allowed(self, head: int, rows: list[int]) -> Mask: ...


@dataclass(frozen=True)
class Intervention:
    """Where an intervention acts. None means everywhere: every stack, every layer, every head.

    Positions are places in the text, from 0.
    """

    layer: int | None = None
    head: int | None = None
    stack: str | None = None

    def touches(self, stack: str, layer: int) -> bool:
        return self.stack in (None, stack) and self.layer in (None, layer)

    def heads(self, count: int) -> list[int]:
        return list(range(count)) if self.head is None else [self.head]

    @property
    def first_query(self) -> int:
        """The first row it can change, where no query looks ahead."""
        return 0

    @property
    def hides_alike(self) -> bool:
        """Whether a mask for every head says it all; then there is `hidden`."""
        return False

    def hidden(self, queries: int, keys: int, offset: int = 0) -> Mask:
        """(query, key) bool: what it hides, where it hides anything."""
        return np.zeros((queries, keys), bool)

    def apply(self, head: Head, offset: int = 0) -> Head:
        """What the head becomes. Row 0 of `head` is the query at place `offset`."""
        raise NotImplementedError

    def check(self, block: BlockShape) -> None:
        """Raise BadInput where it cannot be done to a block. Costs no scores and no weights."""
