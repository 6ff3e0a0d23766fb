"""Plain loop: what a survey measures, as one would write it by hand over output_attentions.

A text at a time: the weights that the model hands out, its values and the heads' outputs caught by
hooks, W_O cut into a slice a head. For each head the value of every measure, the nulls of even
attention and of tokens permuted, the ceiling, and the cell that adds most. Head by head, as
such loops are mostly written; or all heads of a layer at once, as fast as we could make it without
leaving `output_attentions`. Written for decoders of one kind of mask, where every earlier token may
be looked at: what a survey does for other masks, padding, and other models is not there.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

DEALS = 4
TINY = torch.finfo(torch.float32).tiny


@dataclass
class Found:
    """Of one text: {measure: (layer, head)} each, and the best cell of each head of a layer."""

    values: dict[str, Tensor]
    nulls: dict[str, Tensor]
    ceilings: dict[str, Tensor]
    best: list[tuple[Tensor, Tensor]]  # a layer: what is added, and where in (query, key)


Way = Callable[["Layer", "_Known"], list[Any]]


def measured(plain: Any, tokenizer: Any, text: str, way: Way) -> Found:
    """Every measure of every head of a Llama with plain attention, on one text; `way` is
    `head_by_head` or `heads_at_once`."""
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    layers = plain.model.layers
    outputs, values = _Caught(), _Caught()
    hooks = [layer.self_attn.o_proj.register_forward_pre_hook(outputs.given) for layer in layers]
    hooks += [layer.self_attn.v_proj.register_forward_hook(values.put_out) for layer in layers]
    try:
        with torch.no_grad():
            weights = plain(ids, output_attentions=True, use_cache=False, logits_to_keep=1)
            known = _Known(ids[0])
            each = [
                way(Layer(weights.attentions[n][0], outputs.all[n], values.all[n], layer), known)
                for n, layer in enumerate(layers)
            ]
    finally:
        for hook in hooks:
            hook.remove()
    grids = [
        {name: torch.stack([one[kind][name] for one in each]) for name in each[0][kind]}
        for kind in range(3)
    ]
    return Found(*grids, [one[3] for one in each])


class _Caught:
    """What hooks saw, a layer at a time."""

    def __init__(self) -> None:
        self.all: list[Tensor] = []

    def given(self, module: Any, args: Any) -> None:
        self.all.append(args[0][0])

    def put_out(self, module: Any, args: Any, output: Tensor) -> None:
        self.all.append(output[0])


class _Known:
    """What depends on the tokens alone: (target, query, key) what counts, and how many rows."""

    def __init__(self, ids: Tensor) -> None:
        count = len(ids)
        place = torch.arange(count)
        self.keys = place + 1.0
        self.earlier = place[None, :] < place[:, None]
        self.even = torch.tril(torch.ones(count, count)) / self.keys[:, None]
        self.after = place > 0
        previous = place[None, :] == place[:, None] - 1
        first = self.earlier & (place == 0)
        draws = map(np.random.default_rng, range(DEALS))  # seeds 0, 1, ...
        deals = [torch.from_numpy(draw.permutation(ids.numpy())) for draw in draws]
        masks = [first, previous, *self._pairs(ids)]
        masks += [pair for deal in deals for pair in self._pairs(deal)]
        self.masks = torch.stack([mask.float() for mask in masks])
        self.rows = self.masks.any(-1)
        self.far = (place[:, None] - place).clamp(min=0).float()
        self.even_sums = torch.einsum("qk,mqk->mq", self.even, self.masks)

    def _pairs(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """The earlier places of the same token, and those right after one."""
        before = torch.cat([torch.tensor([-1]), ids[:-1]])
        same, after = ids[:, None] == ids, ids[:, None] == before
        return same & self.earlier, after & self.earlier


class Layer:
    """One layer on one text: all that its heads are measured by."""

    def __init__(self, weights: Tensor, output: Tensor, values: Tensor, layer: Any) -> None:
        """weights (head, query, key); output (query, head x d); values (key, kv_head x d)."""
        heads = len(weights)
        self.weights = weights
        self.w_o = layer.self_attn.o_proj.weight.unflatten(1, (heads, -1))  # (d_model, head, d)
        self.output = output.unflatten(1, (heads, -1))  # (query, head, d)
        v = values.unflatten(1, (-1, self.w_o.shape[-1]))
        self.values = v.repeat_interleave(heads // v.shape[1], dim=1)  # (key, head, d)

    def head(self, head: int) -> "Layer":
        """The same of one head."""
        one, here = copy.copy(self), slice(head, head + 1)
        one.weights, one.w_o = self.weights[here], self.w_o[:, here]
        one.output, one.values = self.output[:, here], self.values[:, here]
        return one

    def lengths(self, vectors: Tensor) -> Tensor:
        """(head, position): of (position, head, d) vectors, after the output projection."""
        return torch.einsum("nhd,mhd->hnm", vectors, self.w_o).norm(dim=-1)


def head_by_head(layer: Layer, known: _Known) -> list[Any]:
    """(values, nulls, ceilings: {measure: (head,)}; the best cell of each head) of one layer."""
    heads = range(len(layer.weights))
    each = [_measured(layer.head(head), known, _sums_one_by_one) for head in heads]
    *grids, best = zip(*each, strict=True)
    joined = [{name: torch.cat([one[name] for one in kind]) for name in kind[0]} for kind in grids]
    return [*joined, tuple(map(torch.cat, zip(*best, strict=True)))]


def heads_at_once(layer: Layer, known: _Known) -> list[Any]:
    """The same, in as few steps as torch allows."""
    return _measured(layer, known, _sums_at_once)


def _sums_at_once(weights: Tensor, masks: Tensor) -> Tensor:
    """(target, head, query): the weights on what each target marks."""
    return torch.einsum("hqk,mqk->mhq", weights, masks)


def _sums_one_by_one(weights: Tensor, masks: Tensor) -> Tensor:
    return torch.stack([(weights * mask).sum(-1) for mask in masks])


def _measured(layer: Layer, known: _Known, add_up: Any) -> list[Any]:
    weights, heads = layer.weights, len(layer.weights)

    def mean(rows: Tensor, counts: Tensor) -> Tensor:
        return rows[..., counts].mean(-1)

    sums = add_up(weights, known.masks)
    found: dict[str, Tensor] = {}
    nulls: dict[str, Tensor] = {}
    ceilings: dict[str, Tensor] = {}
    names = ("first_token", "previous_token", "duplicate_token", "induction")
    for number, name in enumerate(names):
        rows = known.rows[number] if number > 1 else known.after
        found[name] = mean(sums[number], rows)
        nulls[name] = mean(known.even_sums[number], rows).expand(heads)
        ceilings[name] = torch.ones(heads)
    for number, name in enumerate(names[2:]):
        deals = range(4 + number, len(known.masks), 2)
        total = sum(sums[deal][:, known.rows[deal]].sum(-1) for deal in deals)
        dealt = total / sum(int(known.rows[deal].sum()) for deal in deals)
        nulls[name] = torch.maximum(nulls[name], dealt)
    for grids in (found, nulls, ceilings):  # in a decoder every other place is an earlier one
        grids["same_token"] = grids["duplicate_token"]
    entropy = -(weights * (weights + TINY).log()).sum(-1)
    most = known.keys.log()
    found["entropy"] = entropy.mean(-1)
    nulls["entropy"] = ceilings["entropy"] = most.mean().expand(heads)
    found["focus"] = mean(1 - entropy / most, known.after)
    nulls["focus"], ceilings["focus"] = torch.zeros(heads), torch.ones(heads)
    found["distance"] = torch.einsum("hqk,qk->hq", weights, known.far).mean(-1)
    nulls["distance"] = ((known.keys - 1) / 2).mean().expand(heads)
    ceilings["distance"] = (known.keys - 1).mean().expand(heads)
    found["output_norm"] = layer.lengths(layer.output).mean(-1)
    even = layer.values.cumsum(0) / known.keys[:, None, None]
    nulls["output_norm"] = layer.lengths(even).mean(-1)
    norms = layer.lengths(layer.values)  # (head, key)
    ceilings["output_norm"] = norms.cummax(dim=-1).values.mean(-1)
    best = (weights[:, 1:] * norms[:, None]).flatten(1).max(dim=1)
    return [found, nulls, ceilings, (best.values, best.indices)]
