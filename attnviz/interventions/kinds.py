"""The kinds of intervention. Each is data, and says what becomes of a head.

The same code makes the picture of a changed head and the changed head's output in the run: an
intervention takes a `Head` and gives back the `Head` it becomes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from attnviz.errors import BadInput
from attnviz.heads.head import Head
from attnviz.heads.intervention import BlockShape, Intervention
from attnviz.heads.softmax import Array, Mask
from attnviz.interventions.positions import check_keys, local_rows


@dataclass(frozen=True)
class Temper(Intervention):
    """Divide a head's scores by a temperature, after any cap and bias, before the mask.

    This is not the temperature of sampling, which divides the logits of the next token.
    """

    temperature: float = 1.0

    def check(self, block: BlockShape) -> None:
        Head([[0]], [[0]], None).temper(self.temperature)  # type: ignore[arg-type]

    def apply(self, head: Head, offset: int = 0) -> Head:
        return head.temper(self.temperature)


@dataclass(frozen=True)
class HideKeys(Intervention):
    """Hide keys from queries, as a mask does: one cell, a column, or a token everywhere.

    Hidden keys still ask as queries, and positions are not renumbered. A row with no key left
    attends to nothing and puts out zeros.
    """

    keys: Sequence[int] = ()
    queries: Sequence[int] | None = None  # None: from every query

    @property
    def first_query(self) -> int:
        """A key can be seen from its own place on."""
        return max(min(self.keys, default=0), min(self.queries or (0,)))

    @property
    def hides_alike(self) -> bool:
        return self.head is None

    def hidden(self, queries: int, keys: int, offset: int = 0) -> Mask:
        hidden = np.zeros((queries, keys), bool)
        rows = range(offset, offset + queries) if self.queries is None else self.queries
        local = [row - offset for row in rows if row >= offset]
        hidden[np.ix_(local, list(self.keys))] = True
        return hidden

    def check(self, block: BlockShape) -> None:
        local_rows(block.queries, self.queries)
        check_keys(block.keys, self.keys)

    def apply(self, head: Head, offset: int = 0) -> Head:
        queries, keys = head.allowed.shape
        local_rows(queries, self.queries, offset)
        check_keys(keys, self.keys)
        hidden = self.hidden(queries, keys, offset) & head.allowed
        removed = hidden if head.removed is None else head.removed | hidden
        return replace(head, allowed=head.allowed & ~hidden, removed=removed)


@dataclass(frozen=True)
class _RowChange(Intervention):
    """Changes one row, or every row where `query` is None."""

    query: int | None = 0

    @property
    def first_query(self) -> int:
        return self.query or 0

    def check(self, block: BlockShape) -> None:
        self._rows(block.queries)

    def _rows(self, count: int, offset: int = 0) -> list[int]:
        return local_rows(count, None if self.query is None else [self.query], offset)


@dataclass(frozen=True)
class AddToScore(_RowChange):
    """Add a number to one score, before the mask."""

    key: int = 0
    amount: float = 0.0

    def check(self, block: BlockShape) -> None:
        super().check(block)
        check_keys(block.keys, [self.key])

    def apply(self, head: Head, offset: int = 0) -> Head:
        check_keys(head.allowed.shape[1], [self.key])
        added = np.zeros(head.allowed.shape, np.float32)  # (query, key)
        added[self._rows(len(head.allowed), offset), self.key] = self.amount
        biases = dict(head.biases or {})
        biases["added by you"] = biases.get("added by you", np.float32(0)) + added
        return replace(head, biases=biases)


@dataclass(frozen=True)
class SetWeights(_RowChange):
    """Put other weights in the place of one row. They must be a share of what the row may see."""

    weights: Sequence[float] = ()

    def check(self, block: BlockShape) -> None:
        rows = self._rows(block.queries)
        for head in self.heads(block.heads):
            self._row(block.allowed(head, rows)[0])

    def apply(self, head: Head, offset: int = 0) -> Head:
        rows = self._rows(len(head.allowed), offset)
        return _with_rows(head, {local: self._row(head.allowed[local]) for local in rows})

    def _row(self, allowed: Mask) -> Array:
        row = np.asarray(self.weights, np.float32)
        if row.shape != allowed.shape or not np.isfinite(row).all() or (row < 0).any():
            raise BadInput(
                what=f"The weights for query {self.query} cannot be used.",
                why=f"A row of this head is {len(allowed)} numbers of 0 or more.",
                todo="Give one weight for each key.",
            )
        if abs(float(row.sum()) - 1) > 1e-3:
            raise BadInput(
                what=f"The weights for query {self.query} add up to {row.sum():.4g}.",
                why="A row of weights is a share and adds up to 1.",
                todo="Divide them by their sum.",
            )
        if (row[~allowed] > 0).any():
            raise BadInput(
                what=f"Query {self.query} was given weight on a masked key.",
                why="The model does not let this query look there.",
                todo="Give masked keys 0.",
            )
        return row


@dataclass(frozen=True)
class Permute(_RowChange):
    """Permute a row's weights at random over the keys it may see (Jain and Wallace 2019)."""

    query: int | None = None  # None: every row
    seed: int = 0

    def apply(self, head: Head, offset: int = 0) -> Head:
        rows = {}
        for local, weights, _ in _weigh_rows(head, self._rows(len(head.allowed), offset)):
            rng = np.random.default_rng([self.seed, local + offset, head.head])
            row, seen = weights.copy(), np.flatnonzero(head.allowed[local])
            row[seen] = row[rng.permutation(seen)]
            rows[local] = row
        return _with_rows(head, rows)


@dataclass(frozen=True)
class Flatten(_RowChange):
    """Make a row even over the keys it may see; a sink keeps its share."""

    query: int | None = None  # None: every row

    def apply(self, head: Head, offset: int = 0) -> Head:
        rows = {}
        for local, _, sink in _weigh_rows(head, self._rows(len(head.allowed), offset)):
            seen = head.allowed[local]
            share = (1 - sink) / max(int(seen.sum()), 1)
            rows[local] = np.where(seen, np.float32(share), np.float32(0))
        return _with_rows(head, rows)


@dataclass(frozen=True)
class ZeroValue(Intervention):
    """Take the value of one token away from a head: the weight stays, and brings nothing."""

    key: int = 0

    @property
    def first_query(self) -> int:
        return self.key

    def check(self, block: BlockShape) -> None:
        check_keys(block.keys, [self.key])

    def apply(self, head: Head, offset: int = 0) -> Head:
        check_keys(head.allowed.shape[1], [self.key])
        if head.v is None:
            return head
        v = head.v.copy()  # (key, d_v)
        v[self.key] = 0
        return replace(head, v=v)


@dataclass(frozen=True)
class Ablate(Intervention):
    """Put something else in the place of a head's output, at the input of the output projection.

    how: "zero" takes it away, which the model never saw in training; "mean" puts the head's own
    mean over the text; "resample" puts the head's outputs in a random permutation.
    queries: the places where it is put; None for all.
    """

    how: str = "zero"
    queries: Sequence[int] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.how not in ("zero", "mean", "resample"):
            raise BadInput(
                what=f"A head cannot be ablated by {self.how!r}.",
                todo="Choose 'zero', 'mean' or 'resample'.",
            )

    @property
    def first_query(self) -> int:
        # the mean and the permutation need the head's output at every place
        return min(self.queries or (0,)) if self.how == "zero" else 0

    def check(self, block: BlockShape) -> None:
        local_rows(block.queries, self.queries)

    def known(self, heads: Mapping[int, Head]) -> "PutOutput":
        """The same, where nothing else changes these heads: what it puts in the place of their
        outputs is in the baseline, and need not be waited for."""
        queries = tuple(range(len(next(iter(heads.values())).allowed)))
        queries = queries if self.queries is None else tuple(self.queries)
        outputs = {number: self.apply(head).output[list(queries)] for number, head in heads.items()}
        return PutOutput(self.layer, self.head, self.stack, queries=queries, outputs=outputs)

    def apply(self, head: Head, offset: int = 0) -> Head:
        rows = local_rows(len(head.allowed), self.queries, offset)
        output = head.output.copy()  # (query, d_v)
        if self.how == "zero":
            output[rows] = 0
        elif self.how == "mean":
            output[rows] = head.output[head.attends].mean(axis=0)
        else:
            order = np.random.default_rng([self.seed, head.head]).permutation(len(output))
            output[rows] = head.output[order][rows]
        return replace(head, instead=output)


@dataclass(frozen=True, eq=False)
class PutOutput(Intervention):
    """Put vectors that are at hand in the place of a head's output at some places."""

    queries: Sequence[int] = ()
    outputs: Mapping[int, Array] = field(default_factory=dict)  # {head: (query, d_v)}

    @property
    def first_query(self) -> int:
        return min(self.queries)

    def apply(self, head: Head, offset: int = 0) -> Head:
        output = head.output.copy()
        for query, vector in zip(self.queries, self.outputs[head.head], strict=True):
            if query >= offset:
                output[query - offset] = vector
        return replace(head, instead=output)


def _weigh_rows(head: Head, rows: Sequence[int]) -> Iterator[tuple[int, Array, np.float32]]:
    """(row, its weights, its sink); a head of a long text is weighed some rows at a time."""
    for part in head.in_rows():
        start = part.first - head.first
        for row in rows:
            if start <= row < start + len(part.allowed):
                yield row, part.weights[row - start], part.sink[row - start]


def _with_rows(head: Head, rows: dict[int, Array]) -> Head:
    """The head with some rows of weights replaced."""
    replaced = np.full(head.allowed.shape, np.nan, np.float32)  # (query, key)
    if head.replaced is not None:
        replaced[:] = head.replaced
    for row, weights in rows.items():
        replaced[row] = weights
    return replace(head, replaced=replaced)
