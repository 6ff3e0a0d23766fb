"""Head: the scores, the mask and the weights of one attention head on one text."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnviz.display import draw_in_notebook
from attnviz.errors import BadInput
from attnviz.heads import contributions
from attnviz.heads.masks import ALLOWED, BLOCKED, FUTURE, PADDING, REMOVED, WINDOW, looks_ahead
from attnviz.heads.row_slices import row_slices
from attnviz.heads.softmax import Array, Mask, later_stages, score_stages, weigh

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.tokens import Token

CELLS = 2**21
"""Cells of a head that are worked out at a time, where not all are needed at once: 8 MB a stage."""
OUTPUT_CELLS = 2**22
"""The same, where only weights are."""


@dataclass(frozen=True, eq=False)
class Head:
    """One head of one layer on one text: every stage of its scores, its weights, its values.

    Rows are queries ("from"), columns are keys ("to"); layers and heads count from 0. All arrays
    are float32 and read-only.

    Attributes:
        q, k, v: (query, d_k), (key, d_k), (key, d_v), as the softmax met them: after rotary
            embedding, norms and the like. A head whose scores were watched rather than rebuilt
            has no q and k, and `given` instead.
        scaling, softcap, window: as the call had them; None where absent.
        biases: position biases by name, each (query, key).
        sink_logit: the learned logit of a sink, None for most models.
        w_o: (d_v, d_model), this head's slice of the output projection; None where something
            stands between the head's output and the projection.
        padding: (key,) bool, True where the key is padding.
        removed: (query, key) bool, True where an intervention took the cell out.
        replaced: (query, key) weights that an intervention put in the place of softmax's; NaN in
            rows that are left as they are.
        instead: (query, d_v) what an intervention puts out in the place of weights x values.
        first: the position of row 0 in the text, where only some rows are held; see `rows`.
        whole: the head that the rows are of, where only some are held.

    >>> head = Head(q=[[0], [2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0, allowed=[[1, 0], [1, 1]])
    >>> head.scores.tolist()
    [[0.0, -inf], [2.0, 0.0]]
    >>> head.weights.round(3).tolist()
    [[1.0, 0.0], [0.881, 0.119]]
    """

    q: Array | None
    k: Array | None
    v: Array | None
    _: KW_ONLY
    scaling: float | None = None
    allowed: Mask = None  # type: ignore[assignment]  # None means all, and is made an array below
    biases: Mapping[str, Array] | None = None
    softcap: float | None = None
    window: int | None = None
    sink_logit: float | None = None
    w_o: Array | None = None
    w_o_bias: Array | None = None
    given: Mapping[str, Array] | None = None
    temperature: float = 1.0
    padding: Mask | None = None
    removed: Mask | None = None
    replaced: Array | None = None
    instead: Array | None = None
    query_tokens: Sequence["Token"] = ()
    key_tokens: Sequence["Token"] = ()
    first: int = 0
    whole: "Head | None" = None
    layer: int = 0
    head: int = 0
    stack: str = "decoder"
    model: str = ""
    dtype: str = "float32"

    def __post_init__(self) -> None:
        for name in ("q", "k", "v", "w_o", "w_o_bias"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, np.asarray(value, np.float32))
        shape = self._shape()
        allowed = np.ones(shape, bool) if self.allowed is None else np.asarray(self.allowed, bool)
        object.__setattr__(self, "allowed", _frozen(np.broadcast_to(allowed, shape)))

    def _shape(self) -> tuple[int, int]:
        if self.q is not None and self.k is not None:
            return len(self.q), len(self.k)
        if self.given:
            queries, keys = next(iter(self.given.values())).shape
            return queries, keys
        raise BadInput(
            what="A head needs queries and keys, or scores that were watched.",
            todo="Give q and k, or given={'scaled': scores}.",
        )

    @cached_property
    def stages(self) -> dict[str, Array]:
        """{stage: (query, key)}, in order: "dot", "scaled", then what applies of "capped",
        "biased", "tempered", "masked". The last is what softmax received."""
        if self.q is not None and self.k is not None:
            scale = 1 / math.sqrt(self.q.shape[1]) if self.scaling is None else self.scaling
            stages = score_stages(
                self.q,
                self.k,
                scaling=scale,
                softcap=self.softcap,
                biases=self.biases,
                temperature=self.temperature,
                allowed=self.allowed,
            )
        else:
            watched = {name: np.asarray(a, np.float32) for name, a in (self.given or {}).items()}
            last = list(watched.values())[-1]
            stages = watched | later_stages(
                last, biases=self.biases, temperature=self.temperature, allowed=self.allowed
            )
        return {name: _frozen(stage) for name, stage in stages.items()}

    @cached_property
    def panels(self) -> dict[str, Array]:
        """{name: (query, key)}: the stages, and before "biased" each bias alone, by its name."""
        panels: dict[str, Array] = {}
        for name, stage in self.stages.items():
            if name == "biased":
                shape = self.allowed.shape
                for bias, term in (self.biases or {}).items():
                    panels[bias] = _frozen(np.broadcast_to(np.asarray(term, np.float32), shape))
            panels[name] = stage
        return panels

    @property
    def panel_names(self) -> list[str]:
        """The names of `panels`, in order, without working them out."""
        names = list(self.given or {}) if self.q is None or self.k is None else ["dot", "scaled"]
        applies = {
            "capped": self.softcap is not None and "scaled" in names and self.q is not None,
            **dict.fromkeys(self.biases or {}, True),
            "biased": bool(self.biases),
            "tempered": self.temperature != 1.0,
            "masked": not self.allowed.all(),
        }
        return list(dict.fromkeys([*names, *(name for name, does in applies.items() if does)]))

    @property
    def scores(self) -> Array:
        """(query, key): exactly what softmax received, unit-less, -inf where masked."""
        return list(self.stages.values())[-1]

    @cached_property
    def _softmax(self) -> tuple[Array, Array]:
        logit = None if self.sink_logit is None else self.sink_logit / self.temperature
        weights, sink = weigh(self.scores, logit)
        if self.replaced is not None:
            weights = np.where(np.isnan(self.replaced), weights, self.replaced)
        return _frozen(weights), _frozen(sink)

    @property
    def weights(self) -> Array:
        """(query, key): probabilities, 0 to 1, exactly 0 where masked. A row plus its sink is 1;
        a row that attends to nothing is all 0."""
        return self._softmax[0]

    @property
    def sink(self) -> Array:
        """(query,): the probability that the model gives to no token; 0 for most models."""
        return self._softmax[1]

    @cached_property
    def output(self) -> Array:
        """(query, d_v): what the head puts into the output projection: weights x values."""
        if self.instead is not None:
            return _frozen(self.instead)
        if self.v is None:
            raise BadInput(what="This head has no values.", todo="Give v.")
        if "_softmax" in self.__dict__:
            return _frozen(self.weights @ self.v)
        parts = [part.weights @ self.v for part in self.in_rows(OUTPUT_CELLS)]
        return _frozen(np.concatenate(parts) if len(parts) > 1 else parts[0])

    @property
    def attends(self) -> Mask:
        """(query,) bool: False where a query may look at no key and so attends to nothing."""
        return np.asarray(self.allowed.any(axis=1))

    @cached_property
    def mask_reason(self) -> NDArray[np.uint8]:
        """(query, key) uint8: why a cell is masked, by its place in `attnviz.MASK_REASONS`."""
        queries, keys = self.allowed.shape
        to, of = np.arange(keys)[None, :], self._positions[:, None]
        reason = np.full((queries, keys), BLOCKED, np.uint8)
        if self.window is not None:
            reason[np.abs(of - to) >= self.window] = WINDOW
        if self.causal:
            reason[np.broadcast_to(to > of, reason.shape)] = FUTURE
        if self.padding is not None:
            reason[:, self.padding] = PADDING
            if self.stack != "cross":  # some encoders mask the rows of padding as well
                reason[self.padding[self._positions]] = PADDING
        if self.removed is not None:
            reason[self.removed] = REMOVED
        reason[self.allowed] = ALLOWED
        return _frozen(reason)

    @cached_property
    def causal(self) -> bool:
        """Whether no query looks at a later key: decoders, and what is built like them."""
        if self.whole is not None:  # some rows may see nothing later where others do
            return self.whole.causal
        keys = self.allowed.shape[1]
        return self.stack != "cross" and keys > 1 and not looks_ahead(self.allowed, self.first)

    @property
    def _positions(self) -> NDArray[np.int_]:
        return self.first + np.arange(len(self.allowed))

    @cached_property
    def additivity_error(self) -> float | None:
        """Largest difference between a row's contributions added up and the row's own output
        through W_O; None where the output projection is out of reach."""
        if self.v is None or self.w_o is None:
            return None
        parts = self.weights @ (self.v @ self.w_o)
        return float(np.abs(parts - (self.weights @ self.v) @ self.w_o).max(initial=0))

    def contributions(self, query: int, of: str = "output") -> "pd.DataFrame":
        """What each key adds to one query's output; see `attnviz.heads.contributions.row`."""
        return contributions.row(self.rows(query, query + 1), 0, of=of)

    def contribution_matrix(self, measure: str = "contribution_norm") -> Array:
        """(query, key): one measure for every row; see `attnviz.heads.contributions.MEASURES`."""
        return contributions.matrix(self, measure)

    def temper(self, temperature: float) -> "Head":
        """This head with its scores divided by a temperature, before the mask.

        A sink logit is one more entry of the same softmax, and is divided too.

        Raises:
            BadInput: the temperature is not a positive finite number.
        """
        if not (math.isfinite(temperature) and temperature > 0):
            raise BadInput(
                what=f"Temperature {temperature} cannot be used.",
                why="Scores are divided by it.",
                todo="Give a positive number; 1 leaves the head as it is.",
            )
        return replace(self, temperature=self.temperature * temperature)

    def rows(self, start: int, stop: int) -> "Head":
        """The rows from position `start` up to but not `stop` alone, over all keys.

        Every row's numbers are as in the whole head, which need not be worked out for them: of a
        long text, scores are computed where they are looked at. Row 0 of the result is `start`.

        Raises:
            BadInput: no such rows.

        >>> head = Head(q=[[0], [2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
        >>> head.rows(1, 2).scores.tolist() == head.scores[1:].tolist()
        True
        """
        if stop <= start:
            raise BadInput(
                what=f"There are no rows from {start} up to {stop}.",
                why="The second position is left out.",
                todo="Give a second position after the first.",
            )
        start, stop = self._query(start) - self.first, self._query(stop - 1) - self.first + 1
        cut = {
            name: value[start:stop]
            for name in ("q", "allowed", "removed", "replaced", "instead", "query_tokens")
            if (value := getattr(self, name)) is not None
        }
        for name in ("biases", "given"):
            arrays = getattr(self, name)
            if arrays is not None:
                shape = self.allowed.shape
                cut[name] = {k: np.broadcast_to(a, shape)[start:stop] for k, a in arrays.items()}
        return replace(self, **cut, first=self.first + start, whole=self.whole or self)

    def in_rows(self, cells: int | None = None, *, multiple: int = 1) -> "Iterator[Head]":
        """This head some rows at a time, see `rows`: at most so many cells each, `CELLS` by
        default, and a multiple of so many rows. Itself, where it is no larger."""
        queries, keys = self.allowed.shape
        for part in row_slices(queries, keys, cells or CELLS, multiple=multiple):
            whole = part == slice(0, queries)
            yield self if whole else self.rows(self.first + part.start, self.first + part.stop)

    def _query(self, query: int) -> int:
        end = self.first + self.allowed.shape[0]
        if not self.first <= query < end:
            raise BadInput(
                what=f"There is no query {query}.",
                why=f"Queries here are {self.first} to {end - 1}, counted from 0.",
                todo="Choose one of them.",
            )
        return query

    def _repr_mimebundle_(self, **options: object) -> dict[str, str]:
        """A head draws itself in a notebook, offline too."""
        return draw_in_notebook(self)

    def __repr__(self) -> str:
        queries, keys = self.allowed.shape
        return (
            f"<Head {self.stack} layer {self.layer} head {self.head}, {queries} queries, "
            f"{keys} keys, {self.model or 'no model'}>"
        )


def _frozen(array: NDArray) -> NDArray:
    view = array.view()  # the caller's own array stays writeable
    view.flags.writeable = False
    return view
