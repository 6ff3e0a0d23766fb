"""Sums: measures added up over the rows of all heads of a stack, with their nulls and ceilings."""

from collections.abc import Callable, Collection, Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnviz.capture.pieces import Heads, Piece
from attnviz.detectors.measures import HEAD_MEASURES, Cells
from attnviz.detectors.yardstick import Targets, Yardstick
from attnviz.softmax import Array, Mask

if TYPE_CHECKING:
    from attnviz.capture.result import Capture

Look = Callable[[Heads, NDArray[np.int_], Piece], None]
"""Takes the heads of a layer, the rows that are there, and the rows themselves."""
Lengths = MutableMapping[tuple[str, int], Array]
"""By stack and layer, what tells lengths after the output projection, once it is worked out."""
DEALS = 4
"""How often tokens are dealt out anew for a null; seeds 0, 1, ..."""
_KINDS = ("values", "even", "dealt", "ceilings", "counted", "dealt_counted")


class Sums:
    """Sums of measures over rows, each (layer, head); rows are taken a few at a time."""

    def __init__(
        self,
        capture: "Capture",
        stack: str | None,
        measures: Collection[str],
        look: Look | None = None,
        lengths: Lengths | None = None,
    ) -> None:
        self._look = look
        blocks = [capture.block(layer, stack) for layer in capture.layers(stack)]
        self.stack = blocks[0].stack
        self.heads = [Heads(block, lengths) for block in blocks]
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
        self._shares = {n: m for n, m in self._measures.items() if m.target and m.high == 1}
        self.by_token = [name for name, measure in self._shares.items() if measure.by_token]
        fixed = np.array([token.special for token in capture.key_tokens(stack)])
        deals = range(DEALS if self.by_token else 0)
        self._ids = [_dealt(self.key_ids, fixed, seed) for seed in deals]
        shape = (len(self.names), max(b.layer for b in blocks) + 1, self.most_heads)
        self._sums = {kind: np.zeros(shape) for kind in _KINDS}
        self._runs: dict[Heads, list[tuple[NDArray, NDArray, Mask]]] = {}

    def take(self, rows: NDArray[np.int_]) -> Iterator[None]:
        """Add these rows of every layer to the sums, a layer at a time."""
        cells = Cells(rows, self.query_ids[rows], self.key_ids)
        targets = Targets.of(self._shares.values(), cells, self._real[rows], self._ids)
        known: dict[bytes, Yardstick] = {}  # layers mostly share a mask
        picked = rows.tolist()
        for heads in self.heads:
            allowed = heads.allowed(picked)
            key = bytes(np.packbits(allowed)) + bytes(str(allowed.shape), "ascii")
            if key not in known:
                known[key] = Yardstick(allowed, targets)
            piece = heads.piece(picked, allowed)
            self._add(heads, piece, known[key])
            if self._look is not None:
                self._look(heads, rows, piece)
            yield

    def _add(self, heads: Heads, piece: Piece, yard: Yardstick) -> None:
        if self._shares:
            self._add_shares(heads, piece, yard)

        def add(name: str, counts: Mask, **rows: NDArray) -> None:
            if name in self.names:
                self._to("counted", [name], heads, counts.sum(axis=-1))
                for kind, row in rows.items():
                    self._to(kind, [name], heads, np.where(counts, row, 0).sum(axis=-1))

        if "distance" in self._measures:
            far = yard.away(piece.weights), yard.even_away, yard.farthest
            add("distance", yard.attends, values=far[0], even=far[1], ceilings=far[2])
        if "entropy" in self._measures or "focus" in self._measures:
            entropy, most = _entropy(piece.weights), yard.log_keys
            add("entropy", yard.attends, values=entropy, even=most, ceilings=most)
            part = entropy / np.where(most > 0, most, 1)
            add("focus", yard.attends & (most > 0), values=1 - part, ceilings=np.ones_like(part))
        if "output_norm" in self._measures and piece.output is not None and heads.projects:
            norms = {"values": heads.norms(piece.output)}
            if yard.runs is None:
                norms |= {"even": yard.even_norms(heads), "ceilings": yard.longest(heads)}
            else:
                self._runs.setdefault(heads, []).append((*yard.runs, yard.attends))
            add("output_norm", yard.attends, **norms)

    def _add_shares(self, heads: Heads, piece: Piece, yard: Yardstick) -> None:
        own, names = len(self._shares), list(self._shares)
        found = yard.weighed(piece.weights)
        self._to("values", names, heads, found[:own])
        self._to("even", names, heads, yard.even[:own])
        self._to("ceilings", names, heads, yard.reached[:own])
        self._to("counted", names, heads, yard.counted)
        for kind, deals in (("dealt", found[own:]), ("dealt_counted", yard.reached[own:])):
            by_deal = deals.reshape(len(self._ids), len(self.by_token), deals.shape[-1])
            self._to(kind, self.by_token, heads, by_deal.sum(axis=0))

    def finish(self) -> None:
        """Add what rows that look at one run of keys may come to: of all rows of a layer at once,
        for it takes sums over all keys, too many to be kept for every layer."""
        for heads, runs in self._runs.items():
            start, stop, attends = (np.concatenate(one, axis=-1) for one in zip(*runs, strict=True))
            even, longest = heads.norms(heads.means(start, stop)), heads.longest(start, stop)
            for kind, rows in (("even", even), ("ceilings", longest)):
                sums = np.where(attends, rows, 0).sum(axis=-1)
                self._to(kind, ["output_norm"], heads, sums)
        self._runs.clear()

    def _to(self, kind: str, names: Sequence[str], heads: Heads, sums: NDArray) -> None:
        """Add (name, 1 | head) sums of a layer."""
        places = [self.names.index(name) for name in names]
        self._sums[kind][places, heads.block.layer, : heads.block.heads] += sums

    def grids(self, kind: str) -> dict[str, NDArray]:
        """{measure: (layer, head)}: sums over rows."""
        return dict(zip(self.names, self._sums[kind], strict=True))

    def means(self, kind: str, by: str = "counted") -> dict[str, Array]:
        """{measure: (layer, head)}: a sum over the count of its rows, NaN where that is 0."""
        counts = self._sums[by]
        means = self._sums[kind] / np.where(counts > 0, counts, np.nan)
        return dict(zip(self.names, means.astype(np.float32), strict=True))


def _dealt(ids: NDArray, fixed: Mask, seed: int) -> NDArray:
    """The ids with all but the special ones dealt out anew over their places."""
    dealt = ids.copy()
    dealt[~fixed] = np.random.default_rng(seed).permutation(ids[~fixed])
    return dealt


def _entropy(weights: Array) -> Array:
    """(head, row), in nats, of what goes to tokens: a sink's share is no token's."""
    logs = weights + np.finfo(np.float32).tiny  # 0 ln 0 is 0
    np.log(logs, out=logs)
    total = weights.sum(axis=-1)
    whole = np.where(total > 0, total, np.float32(1))
    # the entropy of w / t is ln t - (sum of w ln w) / t
    return np.log(whole) - np.einsum("hrk,hrk->hr", weights, logs) / whole
