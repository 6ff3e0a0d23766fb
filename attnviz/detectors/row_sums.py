"""Sums: measures added up over the rows of all heads of a stack, with their nulls and ceilings."""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnviz.capture.row_chunks import BlockRows, RowChunk
from attnviz.detectors.baselines import Baselines, Rows, Targets
from attnviz.detectors.measures import HEAD_MEASURES, Cells
from attnviz.heads.softmax import Array, Mask

if TYPE_CHECKING:
    from attnviz.capture.result import Capture

Look = Callable[[BlockRows, NDArray[np.int_], RowChunk], None]
"""Takes the heads of a layer, the rows that are there, and the rows themselves."""
Lengths = MutableMapping[tuple[str, int], Array]
"""By stack and layer, what tells lengths after the output projection, once it is worked out."""
PERMUTATIONS = 4
"""How often tokens are permuted for a null; seeds 0, 1, ..."""
_KINDS = ("values", "even", "permuted", "ceilings", "counted", "permuted_counted")


@dataclass(frozen=True, eq=False)
class _Shared:
    """What layers share whose rows may look at the same keys.

    Attributes:
        base: what the rows can come to.
        sums: {kind: {measure: (1 | head,)}}, what they add to the sums whatever a head does.
    """

    base: Baselines
    sums: Mapping[str, Mapping[str, NDArray]]


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
        self._real = ~capture.query_padding(stack)
        self.names = [name for name in HEAD_MEASURES if name in measures]
        asked = {name: HEAD_MEASURES[name] for name in self.names}
        applies = {n: m for n, m in asked.items() if self.stack != "cross" or not m.square}
        self._shares = {n: m for n, m in applies.items() if m.target}
        self._numbers = {n: (m.numbers, m.counts) for n, m in applies.items() if m.numbers}
        self.by_token = [name for name, measure in self._shares.items() if measure.by_token]
        fixed = np.array([token.special for token in capture.key_tokens(stack)])
        seeds = range(PERMUTATIONS if self.by_token else 0)
        self._permuted = [permute_tokens(self.key_ids, fixed, seed) for seed in seeds]
        shape = (len(self.names), max(b.layer for b in blocks) + 1, self.most_heads)
        self._sums = {kind: np.zeros(shape) for kind in _KINDS}  # each (measure, layer, head)
        self._runs: dict[tuple[BlockRows, str], list[tuple[NDArray, NDArray, Mask]]] = {}

    def take(self, rows: NDArray[np.int_]) -> Iterator[None]:
        """Add these rows of every layer to the sums, a layer at a time."""
        targets = self._targets(rows)
        known: dict[Hashable, _Shared] = {}  # layers mostly share a mask
        picked = rows.tolist()
        for heads in self.heads:
            by = heads.block.mask_key
            if by not in known:
                allowed = heads.allowed(picked)
                # some models hand each layer a mask of its own that says the same
                same = np.packbits(allowed).tobytes(), allowed.shape
                known[by] = known[same] = known.get(same) or self._share(
                    Baselines(allowed, targets), heads
                )
            shared = known[by]
            chunk = heads.chunk(picked, shared.base.allowed)
            for kind, sums in shared.sums.items():
                self._add(heads, kind, sums)
            self._add_values(Rows(heads, chunk, shared.base))
            if self._look is not None:
                self._look(heads, rows, chunk)
            yield

    def _targets(self, rows: NDArray[np.int_]) -> Targets:
        cells = Cells(rows, self.query_ids[rows], self.key_ids)
        real, shares = self._real[rows], list(self._shares.values())
        asked = [(share, cells) for share in shares]
        permuted = [Cells(rows, ids[rows], ids) for ids in self._permuted]
        asked += [(share, one) for one in permuted for share in shares if share.by_token]
        sought = np.zeros((len(asked), len(rows), len(self.key_ids)), bool)  # (target, row, key)
        for number, (share, tokens) in enumerate(asked):
            assert share.target is not None
            later = real & (rows > 0) if share.counts == "after" else real
            np.logical_and(share.target(tokens), later[:, None], out=sought[number])
        counts = [share.counts for share in shares]
        return Targets(rows, real, counts, sought, cells.distance.astype(np.float32))

    def _share(self, base: Baselines, heads: BlockRows) -> _Shared:
        own, found = len(self._shares), base.sum_sought(base.weights)  # (target, 1 | head)
        counted = dict(zip(self._shares, base.counted, strict=True))
        even = dict(zip(self._shares, found[:own], strict=True))
        ceilings = dict(zip(self._shares, base.reached[:own], strict=True))
        for name, (numbers, counts) in self._numbers.items():
            if not numbers.by_layer:
                rows = base.counting(counts)
                counted[name] = rows.sum(axis=-1)
                even[name] = _sum(numbers.even(base, heads), rows)
                ceilings[name] = _sum(numbers.ceiling(base, heads), rows)
        permuted = self._by_token(base.reached[own:])
        sums = {"even": even, "ceilings": ceilings}
        return _Shared(base, sums | {"counted": counted, "permuted_counted": permuted})

    def _add_values(self, rows: Rows) -> None:
        heads, base, own = rows.heads, rows.base, len(self._shares)
        found = base.sum_sought(rows.chunk.weights)  # (target, head)
        values = dict(zip(self._shares, found[:own], strict=True))
        for name, (numbers, counts) in self._numbers.items():
            if numbers.by_layer and not heads.projects:
                continue
            counting = base.counting(counts)
            values[name] = _sum(numbers.values(rows), counting)
            if numbers.by_layer:
                self._add(heads, "counted", {name: _sum(counting, counting)})
                if numbers.by_runs is not None and base.runs is not None:
                    self._runs.setdefault((heads, name), []).append((*base.runs, counting))
                    continue
                self._add(heads, "even", {name: _sum(numbers.even(base, heads), counting)})
                self._add(heads, "ceilings", {name: _sum(numbers.ceiling(base, heads), counting)})
        self._add(heads, "values", values)
        self._add(heads, "permuted", self._by_token(found[own:]))

    def finish(self) -> None:
        """Add what rows that look at one run of keys may come to: of all rows of a layer at once,
        for it takes sums over all keys, too many to be kept for every layer."""
        for (heads, name), runs in self._runs.items():
            start, stop, counting = (np.concatenate(r, axis=-1) for r in zip(*runs, strict=True))
            by_runs = self._numbers[name][0].by_runs
            assert by_runs is not None
            for kind, of in zip(("even", "ceilings"), by_runs, strict=True):
                self._add(heads, kind, {name: _sum(of(heads, start, stop), counting)})
        self._runs.clear()

    def _add(self, heads: BlockRows, kind: str, sums: Mapping[str, NDArray]) -> None:
        """Add {measure: (1 | head,)} of a layer."""
        block = heads.block
        for name, of_heads in sums.items():
            self._sums[kind][self.names.index(name), block.layer, : block.heads] += of_heads

    def _by_token(self, sums: NDArray) -> dict[str, NDArray]:
        """{measure: (1 | head,)}: (permutation and measure, 1 | head), over permutations."""
        names = self.by_token
        return {name: sums[n :: len(names)].sum(axis=0) for n, name in enumerate(names)}

    def grids(self, kind: str) -> dict[str, NDArray]:
        """{measure: (layer, head)}: sums over rows."""
        return dict(zip(self.names, self._sums[kind], strict=True))

    def means(self, kind: str, by: str = "counted") -> dict[str, Array]:
        """{measure: (layer, head)}: a sum over the count of its rows, NaN where that is 0."""
        counts = self._sums[by]
        means = self._sums[kind] / np.where(counts > 0, counts, np.nan)
        return dict(zip(self.names, means.astype(np.float32), strict=True))


def permute_tokens(ids: NDArray, fixed: Mask, seed: int) -> NDArray:
    """The ids in another order; special ones stay where they are."""
    permuted = ids.copy()
    permuted[~fixed] = np.random.default_rng(seed).permutation(ids[~fixed])
    return permuted


def _sum(rows: NDArray | float, counts: Mask) -> NDArray:
    """(1 | head,): (1 | head, row) added up over the rows that count."""
    return np.where(counts, rows, 0).sum(axis=-1)
