"""Scene: what of a head is drawn, and under which labels."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from attnviz.charts import lettering
from attnviz.errors import BadInput
from attnviz.heads.contributions import MEASURES, Measure

if TYPE_CHECKING:
    from attnviz.heads.head import Head
    from attnviz.tokens import Token

Padding = Literal["hide", "show"]
WHOLE = 320  # texts up to here are drawn whole, as far as WHOLE_CELLS allows
WINDOW = 256  # rows and keys drawn of a longer one
WHOLE_CELLS = 70_000  # unmasked cells: what fits the budget of a picture


@dataclass(frozen=True, eq=False)
class Scene:
    """The rows and keys of a head that are drawn; every array below is already cut to them.

    Attributes:
        head: the head.
        query: position of the selected row.
        rows, keys: positions of the queries and keys drawn, ascending.
        stage: the score stage drawn, or a bias alone; None for what softmax received.
        measure_name: one of `attnviz.heads.contributions.MEASURES`.
        hidden_padding: how many padding positions are left out.
    """

    head: "Head"
    query: int
    rows: NDArray[np.int64]
    keys: NDArray[np.int64]
    stage: str | None
    measure_name: str
    hidden_padding: int = 0

    @cached_property
    def part(self) -> "Head":
        """The head's rows from the first to the last one drawn: all that is worked out of it."""
        return self.head.rows(int(self.rows[0]), int(self.rows[-1]) + 1)

    @cached_property
    def scores(self) -> NDArray[np.float32]:
        """(row, key): the stage drawn; -inf where a later mask has already struck."""
        part = self.part
        # rows that nothing is hidden from have no masked stage of their own
        return self._cut(part.panels.get(self.stage or "", part.scores))

    @cached_property
    def weights(self) -> NDArray[np.float32]:
        return self._cut(self.part.weights)

    @cached_property
    def reason(self) -> NDArray[np.uint8]:
        return self._cut(self.part.mask_reason)

    @cached_property
    def parts(self) -> NDArray[np.float32]:
        """(row, key): the contribution measure; NaN where it is out of reach."""
        return self._cut(self.part.contribution_matrix(self.measure_name))

    @cached_property
    def sink(self) -> NDArray[np.float32]:
        """(row,)"""
        return self.part.sink[self._places]

    @property
    def has_sink(self) -> bool:
        return bool((self.part.sink > 0).any())

    @cached_property
    def attends(self) -> NDArray[np.bool_]:
        """(row,): False where the row attends to nothing."""
        return self.part.attends[self._places]

    @cached_property
    def score_shown(self) -> NDArray[np.bool_]:
        """(row, key): cells that have a score to draw; a stage before the mask has them all."""
        scores = self.scores
        return ~np.isneginf(scores) & ((self.reason == 0) | self._before_the_mask)

    @property
    def _before_the_mask(self) -> bool:
        return self.stage is not None and self.stage != list(self.part.stages)[-1]

    @property
    def measure(self) -> Measure:
        return MEASURES[self.measure_name]

    @property
    def place(self) -> int:
        """Which of the drawn rows is the selected one."""
        return int(np.searchsorted(self.rows, self.query))

    @property
    def one_text(self) -> bool:
        """Whether queries and keys are the same tokens, so that a key can be selected."""
        return self.head.stack != "cross" and len(set(self.head.allowed.shape)) == 1

    @cached_property
    def query_labels(self) -> list[str]:
        return _labels(self.head.query_tokens, self.rows)

    @cached_property
    def key_labels(self) -> list[str]:
        return _labels(self.head.key_tokens, self.keys)

    @cached_property
    def query_special(self) -> list[bool]:
        return _special(self.head.query_tokens, self.rows)

    @cached_property
    def key_special(self) -> list[bool]:
        return _special(self.head.key_tokens, self.keys)

    @cached_property
    def outside(self) -> NDArray[np.float32]:
        """(row,): the share of each row's weight that lies on keys not drawn."""
        return self.all_weights.sum(axis=1) - self.weights.sum(axis=1)

    @cached_property
    def all_weights(self) -> NDArray[np.float32]:
        """(row, key): the weights of the rows drawn on every key, drawn or not."""
        return self.part.weights[self._places]

    @property
    def note(self) -> str:
        """What of the text is not drawn, in words; empty where all of it is."""
        queries, keys = self.head.allowed.shape
        notes = []
        if self.hidden_padding:
            noun = "position" if self.hidden_padding == 1 else "positions"
            notes.append(f"{self.hidden_padding} padding {noun} hidden")
        if len(self.rows) + self.hidden_padding < queries:
            notes.append(f"rows {self.rows[0]} to {self.rows[-1]} of {queries:,}")
        if len(self.keys) + self.hidden_padding < keys:
            notes.append(f"keys {self.keys[0]} to {self.keys[-1]} of {keys:,}")
        return ", ".join(notes)

    def _cut(self, matrix: NDArray) -> NDArray:
        return matrix[self._places][:, self.keys]

    @property
    def _places(self) -> NDArray[np.int64]:
        """(row,): where the rows drawn stand in `part`."""
        return self.rows - self.rows[0]


def scene(
    head: "Head",
    *,
    query: int,
    stage: str | None = None,
    measure: str = "weight",
    padding: Padding = "show",
    near: int | None = None,
    window: int | None = None,
) -> Scene:
    """The scene of a head around one row; of a long text, around one key.

    Args:
        window: rows and keys to draw, 0 for all of them; by default a text that is too long to be
            drawn whole is cut to `WINDOW`.

    Raises:
        BadInput: no such query, stage or measure.
    """
    check_query(head, query)
    _check_choice("score stage", stage, head.panel_names)
    _check_choice("contribution measure", measure, MEASURES)
    queries, keys = head.allowed.shape
    rows, columns = np.arange(queries), np.arange(keys)
    hidden = 0
    real = None if head.padding is None else ~np.asarray(head.padding, bool)
    if padding == "hide" and real is not None and real.any() and not real.all():
        hidden = int((~real).sum())
        columns = columns[real]
        if head.stack != "cross":  # the same padding as rows; a row asked for is shown all the same
            rows = rows[real | (rows == query)]
    if window is None:
        window = WINDOW if _is_long(head, rows, columns) else 0
    if window:
        near = facing(query, queries, keys) if near is None or near >= keys else near
        rows, columns = _around(rows, query, window), _around(columns, near, window)
    return Scene(head, query, rows, columns, stage, measure, hidden)


def facing(query: int, queries: int, keys: int) -> int:
    """The key that a window stands around by itself: of two texts, at the same share of each."""
    return round(query / max(queries - 1, 1) * (keys - 1))


def window_of(middle: int, count: int, size: int = WINDOW) -> tuple[int, int]:
    """(first, last) of the `size` of `count` places around one of them, or as near as the ends
    allow."""
    first = max(0, min(middle - size // 2, count - size))
    return first, min(first + size, count) - 1


def drawn_whole(head: "Head") -> bool:
    """Whether a head's cells are all drawn; of a longer text, a window of them is."""
    queries, keys = head.allowed.shape
    return not _is_long(head, np.arange(queries), np.arange(keys))


def _is_long(head: "Head", rows: NDArray[np.int64], keys: NDArray[np.int64]) -> bool:
    if len(rows) > WHOLE or len(keys) > WHOLE:
        return True
    return int(head.allowed[np.ix_(rows, keys)].sum()) > WHOLE_CELLS


def check_query(head: "Head", query: int) -> None:
    queries = head.allowed.shape[0]
    if not 0 <= query < queries:
        raise BadInput(
            what=f"There is no query {query}.",
            why=f"This text has {queries} queries, counted from 0.",
            todo=f"Choose one from 0 to {queries - 1}.",
        )


def _check_choice(kind: str, name: str | None, options: Iterable[str]) -> None:
    if name is not None and name not in options:
        raise BadInput(
            what=f"There is no {kind} {name!r}.", todo=f"Choose one of {', '.join(options)}."
        )


def nice_top(values: NDArray) -> float:
    """The largest finite number, rounded up to two significant digits; 1 where there is none."""
    finite = np.abs(np.asarray(values)[np.isfinite(values)])
    top = float(finite.max()) if finite.size else 0.0
    if top == 0:
        return 1.0
    unit = 10.0 ** (math.floor(math.log10(top)) - 1)
    return math.ceil(top / unit - 1e-9) * unit


def _around(positions: NDArray[np.int64], middle: int, size: int) -> NDArray[np.int64]:
    """The positions in the window around one of them."""
    first, last = window_of(int(np.searchsorted(positions, middle)), len(positions), size)
    return positions[first : last + 1]


def _labels(tokens: Sequence["Token"], positions: NDArray) -> list[str]:
    if not tokens:
        return [str(position) for position in positions.tolist()]
    return [lettering.shorten(tokens[p].label, 24) for p in positions.tolist()]


def _special(tokens: Sequence["Token"], positions: NDArray) -> list[bool]:
    return [bool(tokens) and tokens[p].special for p in positions.tolist()]
