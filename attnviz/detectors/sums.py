"""Sums: measures added up over the rows of all heads of a stack, with their nulls and ceilings."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnviz.capture.pieces import Heads, Piece, attending
from attnviz.detectors.measures import HEAD_MEASURES, Cells, HeadMeasure
from attnviz.softmax import Array, Mask

if TYPE_CHECKING:
    from attnviz.capture.result import Capture

Look = Callable[[Heads, NDArray[np.int_], Piece], None]
"""Takes the heads of a layer, the rows that are there, and the rows themselves."""
DEALS = 4
"""How often tokens are dealt out anew for a null; seeds 0, 1, ..."""


class Sums:
    """Sums of measures over rows, each (layer, head); rows are taken a few at a time."""

    def __init__(
        self,
        capture: "Capture",
        stack: str | None,
        measures: Collection[str],
        look: Look | None = None,
    ) -> None:
        self._look = look
        blocks = [capture.block(layer, stack) for layer in capture.layers(stack)]
        self.stack = blocks[0].stack
        self.heads = [Heads(block) for block in blocks]
        self.queries = blocks[0].queries
        self.most_heads = max(block.heads for block in blocks)
        self.query_ids = np.array([token.id for token in capture.query_tokens(stack)])
        self.key_ids = np.array([token.id for token in capture.key_tokens(stack)])
        padding = capture.padding.get("decoder" if self.stack == "cross" else self.stack)
        self._real = np.ones(self.queries, bool) if padding is None else ~padding
        square = self.stack != "cross"
        self.names = [name for name in HEAD_MEASURES if name in measures]
        asked = {name: HEAD_MEASURES[name] for name in self.names}
        self._measures = {n: m for n, m in asked.items() if square or not m.square}
        self._summed = {n: m for n, m in self._measures.items() if m.target is not None}
        self.by_token = {n: m for n, m in self._summed.items() if m.by_token}
        fixed = np.array([token.special for token in capture.key_tokens(stack)])
        self._ids = [_dealt(self.key_ids, fixed, seed) for seed in range(DEALS)]
        shape = (max(b.layer for b in blocks) + 1, self.most_heads)
        kinds = ("values", "even", "dealt", "ceilings", "counted", "dealt_counted")
        self.sums = {k: {n: np.zeros(shape) for n in self.names} for k in kinds}

    def take(self, rows: NDArray[np.int_]) -> Iterator[None]:
        """Add these rows of every layer to the sums, a layer at a time."""
        targets = _targets(self._summed.values(), rows, self.query_ids, self.key_ids)
        dealt = np.concatenate(
            [_targets(self.by_token.values(), rows, ids, ids) for ids in self._ids]
        ).reshape(len(self._ids), len(self.by_token), len(rows), len(self.key_ids))
        known: dict[bytes, _Yardstick] = {}  # layers mostly share a mask
        for heads in self.heads:
            piece = heads.piece(rows.tolist())
            key = bytes(np.packbits(piece.allowed)) + bytes(str(piece.allowed.shape), "ascii")
            if key not in known:
                known[key] = _Yardstick(piece.allowed, targets, dealt, rows, self._real[rows])
            self._add(heads, piece, known[key], targets, dealt)
            if self._look is not None:
                self._look(heads, rows, piece)
            yield

    def _add(
        self, heads: Heads, piece: Piece, yard: "_Yardstick", targets: Array, dealt: Array
    ) -> None:
        at = (heads.block.layer, slice(0, heads.block.heads))
        end = piece.weights.shape[-1]

        def add(name: str, counts: Mask, **rows: NDArray) -> None:
            if name in self.names:
                self.sums["counted"][name][at] += counts.sum(axis=-1)
                for kind, row in rows.items():
                    self.sums[kind][name][at] += np.where(counts, row, 0).sum(axis=-1)

        sums = weighed(piece.weights, targets[..., :end])
        for number, (name, measure) in enumerate(self._summed.items()):
            add(
                name,
                yard.counts(measure, number),
                values=sums[number],
                even=yard.even[number],
                ceilings=yard.most[number],
            )
        again = _weighed_deals(piece.weights, dealt)
        for number, name in enumerate(self.by_token):
            counts = yard.dealt_met[:, number]
            rows = np.where(counts, again[:, number], 0)
            self.sums["dealt"][name][at] += rows.sum(axis=(0, 2))
            self.sums["dealt_counted"][name][at] += counts.sum(axis=(0, 2))

        if "entropy" in self._measures or "focus" in self._measures:
            self._add_entropy(piece, yard, add)
        if "output_norm" in self._measures and piece.output is not None and heads.projects:
            add(
                "output_norm",
                yard.attends,
                values=heads.norms(piece.output),
                even=heads.norms(heads.mix(yard.weights)),
                ceilings=_largest(heads.value_norms[:, :end], piece.allowed),
            )

    def _add_entropy(self, piece: Piece, yard: "_Yardstick", add: Callable[..., None]) -> None:
        entropy, most = _entropy(piece.weights), yard.log_keys
        add("entropy", yard.attends, values=entropy, even=most, ceilings=most)
        part = entropy / np.where(most > 0, most, 1)
        several = yard.attends & (most > 0)
        add("focus", several, values=1 - part, ceilings=np.ones_like(part))

    def means(self, kind: str, names: Iterable[str], by: str = "counted") -> dict[str, Array]:
        """{measure: (layer, head)}: a sum over the count of its rows, NaN where that is 0."""
        return {name: _mean(self.sums[kind][name], self.sums[by][name]) for name in names}


class _Yardstick:
    """What some rows allow for, whatever a head does: the same for every head of one mask.

    Shapes: (measure, 1 | head, row), and (deal, measure, 1 | head, row).
    """

    def __init__(
        self, allowed: Mask, targets: Array, dealt: Array, rows: NDArray[np.int_], real: Mask
    ) -> None:
        keys, self.weights = attending(allowed)
        end = allowed.shape[-1]
        self.attends = (keys > 0) & real
        self.log_keys = np.log(np.maximum(keys, 1)).astype(np.float32)
        self.even = weighed(self.weights, targets[..., :end])
        self.most = np.where(allowed, targets[:, None, :, :end], 0).max(axis=-1)
        self.dealt_met = (_weighed_deals(self.weights, dealt) > 0) & self.attends
        self._after = self.attends & (rows > 0)

    def counts(self, measure: HeadMeasure, number: int) -> Mask:
        """(1 | head, row): the rows that count."""
        if measure.counts == "met":
            return np.asarray(self.attends & (self.most[number] > 0))
        return self._after if measure.counts == "after" else self.attends


def weighed(weights: Array, targets: Array) -> Array:
    """(target, head, row): each row's weights (head, row, key) times each target (target, row,
    key), added up over keys. One small matrix product a row."""
    found = np.matmul(weights.transpose(1, 0, 2), targets.transpose(1, 2, 0))
    return found.transpose(2, 1, 0)


def _weighed_deals(weights: Array, dealt: Array) -> Array:
    """(deal, measure, head, row): the same for targets (deal, measure, row, key)."""
    flat = dealt.reshape(-1, *dealt.shape[2:])[..., : weights.shape[-1]]
    found = weighed(weights, flat)
    return found.reshape(*dealt.shape[:2], *found.shape[1:])


def _targets(
    measures: Iterable[HeadMeasure], rows: NDArray, query_ids: NDArray, key_ids: NDArray
) -> Array:
    """(measure, row, key) float32."""
    chosen = list(measures)
    found = np.zeros((len(chosen), len(rows), len(key_ids)), np.float32)
    for number, measure in enumerate(chosen):
        assert measure.target is not None
        found[number] = measure.target(Cells(rows, query_ids[rows], key_ids))
    return found


def _dealt(ids: NDArray, fixed: Mask, seed: int) -> NDArray:
    """The ids with all but the special ones dealt out anew over their places."""
    dealt = ids.copy()
    dealt[~fixed] = np.random.default_rng(seed).permutation(ids[~fixed])
    return dealt


def _entropy(weights: Array) -> Array:
    """(head, row), in nats, of what goes to tokens: a sink's share is no token's."""
    total = weights.sum(axis=-1, keepdims=True)
    shares = weights / np.where(total > 0, total, np.float32(1))
    logs = np.log(shares + np.finfo(np.float32).tiny)  # 0 ln 0 is 0
    return -np.einsum("hrk,hrk->hr", shares, logs)


def _largest(lengths: Array, allowed: Mask) -> Array:
    """(head, row): the largest of (head, key) lengths among the keys of each row."""
    return np.where(allowed, lengths[:, None, :], 0).max(axis=-1)


def _mean(total: NDArray, count: NDArray) -> Array:
    mean = total / np.where(count > 0, count, np.nan)
    return mean.astype(np.float32)
