"""Examples: for each head the cells that add most, one a text, a few in all."""

from bisect import insort
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from attnviz.capture.result import Capture
    from attnviz.capture.row_chunks import BlockRows, RowChunk
    from attnviz.survey.corpus import Text
    from attnviz.tokens import Token

EXCERPT = 240  # characters of a text that are kept around an example, about


@dataclass(frozen=True)
class Example:
    """One cell of a head on one text.

    Attributes:
        text, name: the text's number in the corpus, and its name.
        query, key: positions of the tokens.
        query_token, key_token: their labels.
        weight: 0 to 1.
        contribution: the length of what the key adds to the residual stream.
        excerpt: the text around the two tokens; empty where the model wrote it itself.
    """

    text: int
    name: str
    query: int
    key: int
    query_token: str
    key_token: str
    weight: float
    contribution: float
    excerpt: str

    @property
    def order(self) -> tuple[float, int]:
        """The largest contribution first; of equal ones, the earlier text."""
        return -self.contribution, self.text


@dataclass
class Examples:
    """The best of each head: at most `most`, in order."""

    most: int
    heads: dict[tuple[int, int], list[Example]] = field(default_factory=dict)

    def offer(self, head: tuple[int, int], example: Example) -> None:
        kept = self.heads.setdefault(head, [])
        insort(kept, example, key=lambda one: one.order)
        del kept[self.most :]

    def wants(self, head: tuple[int, int], contribution: float, text: int) -> bool:
        """Whether a cell would be among the best, before anything is said about it."""
        kept = self.heads.get(head, [])
        return len(kept) < self.most or (-contribution, text) < kept[-1].order

    def add(self, other: "Examples") -> None:
        for head, kept in other.heads.items():
            for example in kept:
                self.offer(head, example)

    def to_json(self) -> list[list[Any]]:
        return [
            [layer, head, [asdict(one) for one in kept]]
            for (layer, head), kept in sorted(self.heads.items())
        ]

    @classmethod
    def from_json(cls, most: int, rows: Sequence[Any]) -> "Examples":
        return cls(most, {(la, h): [Example(**one) for one in kept] for la, h, kept in rows})


_NOTHING = 0.0, 0.0, -1, -1  # what is added, weight, query, key


class TopCells:
    """The cell of each head that adds most, found while its rows go by. A row of one key has no
    choice, and does not count."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int], tuple[float, float, int, int]] = {}

    def look(self, heads: "BlockRows", rows: NDArray[np.int_], piece: "RowChunk") -> None:
        """Take in some rows of every head of a layer."""
        if not heads.projects:
            return
        end = piece.weights.shape[-1]
        alone = piece.allowed.sum(axis=-1) < 2  # (1 | head, row)
        weights = np.where(alone[..., None], 0, piece.weights) if alone.any() else piece.weights
        most = weights.max(axis=1) * heads.value_norms[:, :end]  # (head, key)
        for head, key in enumerate(most.argmax(axis=1).tolist()):
            at, cell = (heads.block.layer, head), float(most[head, key])
            if cell > self._found.get(at, _NOTHING)[0]:
                row = int(weights[head, :, key].argmax())
                self._found[at] = (cell, float(weights[head, row, key]), int(rows[row]), key)

    def offer_to(
        self, examples: Examples, text: "Text", capture: "Capture", stack: str, source: str
    ) -> None:
        """Offer what was found on a text; `source` is what the tokens' places are counted in, or
        nothing."""
        of, to = capture.query_tokens(stack), capture.key_tokens(stack)
        for head, (added, weight, query, key) in self._found.items():
            if not examples.wants(head, added, text.number):
                continue
            around = excerpt(source, of[query] if stack != "cross" else to[key], to[key])
            labels = of[query].label, to[key].label
            example = Example(text.number, text.name, query, key, *labels, weight, added, around)
            examples.offer(head, example)


def excerpt(text: str, one: "Token", other: "Token") -> str:
    """The text around two tokens; where they are far apart, around each."""
    spans = [(t.start, t.end) for t in (one, other) if t.start is not None and t.end is not None]
    if not spans:
        return text[:EXCERPT]
    first, last = min(spans), max(spans)
    if last[1] - first[0] <= EXCERPT:
        return _around(text, first[0], last[1], EXCERPT)
    return " ... ".join(_around(text, *span, EXCERPT // 2) for span in (first, last))


def _around(text: str, start: int, end: int, room: int) -> str:
    spare = max(0, room - (end - start))
    begin = max(0, min(start - spare // 2, len(text) - room))
    return text[begin : max(end, begin + room)]
