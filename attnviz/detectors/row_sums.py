"""Sums: measures added up over the rows of all heads of a stack, with their nulls and ceilings."""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnviz.capture.row_chunks import BlockRows, RowChunk
from attnviz.detectors.baselines import Baselines, Targets
from attnviz.detectors.measures import HEAD_MEASURES, Cells
from attnviz.heads.softmax import Array, Mask

if TYPE_CHECKING:
    from attnviz.capture.result import Capture

Look = Callable[[BlockRows, NDArray[np.int_], RowChunk], None]
"""Takes the heads of a layer, the rows that are there, and the rows themselves."""
Lengths = MutableMapping[tuple[str, int], Array]
"""By stack and layer, what tells lengths after the output projection, once it is worked out."""
PERMUTATIONS = 4
"""How often tokens are dealt out anew for a null; seeds 0, 1, ..."""
_KINDS = ("values", "even", "dealt", "ceilings", "counted", "dealt_counted")


@dataclass(frozen=True, eq=False)
class _Sight:
    """Rows that may look at the same keys in several layers.

    Attributes:
        allowed: (1 | head, row, key) bool.
        yard: what the rows can come to.
        sums: {kind: (measure, 1 | head)}, what they add to the sums whatever a head does.
    """

    allowed: Mask
    yard: Baselines
    sums: Mapping[str, NDArray]


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
        self.heads = [BlockRows(block, lengths) for block in blocks]
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
        deals = range(PERMUTATIONS if self.by_token else 0)
        self._ids = [permute_tokens(self.key_ids, fixed, seed) for seed in deals]
        shape = (len(self.names), max(b.layer for b in blocks) + 1, self.most_heads)
        self._sums = {kind: np.zeros(shape) for kind in _KINDS}
        self._runs: dict[BlockRows, list[tuple[NDArray, NDArray, Mask]]] = {}

    def take(self, rows: NDArray[np.int_]) -> Iterator[None]:
        """Add these rows of every layer to the sums, a layer at a time."""
        cells = Cells(rows, self.query_ids[rows], self.key_ids)
        targets = Targets.of(self._shares.values(), cells, self._real[rows], self._ids)
        known: dict[Hashable, _Sight] = {}  # layers mostly share a mask
        picked = rows.tolist()
        for heads in self.heads:
            by = heads.block.mask_key
            if by not in known:
                allowed = heads.allowed(picked)
                # some models hand each layer a mask of its own that says the same
                same = np.packbits(allowed).tobytes(), allowed.shape
                known[by] = known[same] = known.get(same) or self._sight(allowed, targets)
            sight = known[by]
            piece = heads.chunk(picked, sight.allowed)
            self._add(heads, piece, sight)
            if self._look is not None:
                self._look(heads, rows, piece)
            yield

    def _sight(self, allowed: Mask, targets: Targets) -> _Sight:
        yard = Baselines(allowed, targets)
        own, total = len(self._shares), yard.attends.sum(axis=-1)
        counted = dict(zip(self._shares, yard.counted, strict=True))
        even = dict(zip(self._shares, yard.even[:own], strict=True))
        ceilings = dict(zip(self._shares, yard.reached[:own], strict=True))
        if "distance" in self._measures:
            counted["distance"] = total
            even["distance"] = _sum(yard.even_away, yard.attends)
            ceilings["distance"] = _sum(yard.farthest, yard.attends)
        if "entropy" in self._measures:
            counted["entropy"] = total
            even["entropy"] = ceilings["entropy"] = _sum(yard.log_keys, yard.attends)
        if "focus" in self._measures:
            counted["focus"] = ceilings["focus"] = (yard.attends & yard.chooses).sum(axis=-1)
        dealt = self._by_token(yard.reached[own:])
        grids = {"counted": counted, "even": even, "ceilings": ceilings, "dealt_counted": dealt}
        return _Sight(allowed, yard, {k: self._grid(g, len(allowed)) for k, g in grids.items()})

    def _add(self, heads: BlockRows, piece: RowChunk, sight: _Sight) -> None:
        yard, count, own = sight.yard, heads.block.heads, len(self._shares)
        self._to(heads, sight.sums)
        found = yard.weighed(piece.weights)
        values = dict(zip(self._shares, found[:own], strict=True))
        if "distance" in self._measures:
            values["distance"] = _sum(yard.away(piece.weights), yard.attends)
        if "entropy" in self._measures or "focus" in self._measures:
            entropy = _entropy(piece.weights)
            values["entropy"] = _sum(entropy, yard.attends)
            part = 1 - entropy / np.where(yard.chooses, yard.log_keys, 1)
            values["focus"] = _sum(part, yard.attends & yard.chooses)
        if "output_norm" in self._measures and piece.output is not None and heads.projects:
            values["output_norm"] = _sum(heads.norms(piece.output), yard.attends)
            self._add_norms(heads, yard)
        dealt = self._by_token(found[own:])
        self._to(heads, {"values": self._grid(values, count), "dealt": self._grid(dealt, count)})

    def _add_norms(self, heads: BlockRows, yard: Baselines) -> None:
        """What output norms stand against; of rows that look at one run of keys, in the end."""
        self._norms(heads, "counted", yard.attends, yard.attends)
        if yard.runs is not None:
            self._runs.setdefault(heads, []).append((*yard.runs, yard.attends))
            return
        self._norms(heads, "even", yard.even_norms(heads), yard.attends)
        self._norms(heads, "ceilings", yard.longest(heads), yard.attends)

    def finish(self) -> None:
        """Add what rows that look at one run of keys may come to: of all rows of a layer at once,
        for it takes sums over all keys, too many to be kept for every layer."""
        for heads, runs in self._runs.items():
            start, stop, attends = (np.concatenate(one, axis=-1) for one in zip(*runs, strict=True))
            self._norms(heads, "even", heads.norms(heads.means(start, stop)), attends)
            self._norms(heads, "ceilings", heads.longest(start, stop), attends)
        self._runs.clear()

    def _norms(self, heads: BlockRows, kind: str, rows: NDArray, counts: Mask) -> None:
        self._to(heads, {kind: self._grid({"output_norm": _sum(rows, counts)}, heads.block.heads)})

    def _by_token(self, deals: NDArray) -> dict[str, NDArray]:
        """{measure: (1 | head,)}: (deal and measure, 1 | head) added up over the deals."""
        names = self.by_token
        return {name: deals[n :: len(names)].sum(axis=0) for n, name in enumerate(names)}

    def _grid(self, rows: Mapping[str, NDArray], heads: int) -> NDArray:
        """(measure, 1 | head): rows of the measures that are asked for, 0 in the others."""
        grid = np.zeros((len(self.names), heads))
        for number, name in enumerate(self.names):
            if name in rows:
                grid[number] = rows[name]
        return grid

    def _to(self, heads: BlockRows, grids: Mapping[str, NDArray]) -> None:
        """Add (measure, 1 | head) sums of a layer, by kind."""
        for kind, grid in grids.items():
            self._sums[kind][:, heads.block.layer, : heads.block.heads] += grid

    def grids(self, kind: str) -> dict[str, NDArray]:
        """{measure: (layer, head)}: sums over rows."""
        return dict(zip(self.names, self._sums[kind], strict=True))

    def means(self, kind: str, by: str = "counted") -> dict[str, Array]:
        """{measure: (layer, head)}: a sum over the count of its rows, NaN where that is 0."""
        counts = self._sums[by]
        means = self._sums[kind] / np.where(counts > 0, counts, np.nan)
        return dict(zip(self.names, means.astype(np.float32), strict=True))


def permute_tokens(ids: NDArray, fixed: Mask, seed: int) -> NDArray:
    """The ids with all but the special ones dealt out anew over their places."""
    dealt = ids.copy()
    dealt[~fixed] = np.random.default_rng(seed).permutation(ids[~fixed])
    return dealt


def _sum(rows: NDArray, counts: Mask) -> NDArray:
    """(1 | head,): (1 | head, row) added up over the rows that count."""
    return np.where(counts, rows, 0).sum(axis=-1)


def _entropy(weights: Array) -> Array:
    """(head, row), in nats, of what goes to tokens: a sink's share is no token's."""
    logs = weights + np.finfo(np.float32).tiny  # 0 ln 0 is 0
    np.log(logs, out=logs)
    total = weights.sum(axis=-1)
    whole = np.where(total > 0, total, np.float32(1))
    # the entropy of w / t is ln t - (sum of w ln w) / t
    return np.log(whole) - np.einsum("hrk,hrk->hr", weights, logs) / whole
