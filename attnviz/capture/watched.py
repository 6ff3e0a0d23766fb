"""Softmax, watched: one call, from the score that went in to the block that it makes."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attnviz.capture.block import Block
from attnviz.capture.expression import Expression
from attnviz.capture.recording import is_masked, refuse_pieces

ROUNDING = {torch.float32: 1e-5, torch.float64: 1e-5}
"""How far a rebuilt score may be from the real one, as a part of the largest; 2e-2 in half
precision."""


@dataclass(eq=False)
class Softmax:
    """One softmax call: its input, its output, and how the input came about if that is known."""

    scores: Tensor
    weights: Tensor
    expression: Expression | None
    module: nn.Module

    def block(self, stack: str, layer: int, name: str, values: Tensor) -> Block:
        """The block, with its stages where the score could be followed, else with the score."""
        lead, queries, keys = self.weights.shape[:-2], *self.weights.shape[-2:]
        heads = lead.numel()
        if heads != max(lead):
            raise refuse_pieces(name)
        block = Block(stack, layer, name, q=None, k=None, v=_flat(values, lead, values.shape[-2:]))
        if self._rebuild(block, lead, (queries, keys)) and self._agrees(block):
            return block
        away = is_masked(self.scores) | (self.scores == -torch.inf)
        mask = ~away.reshape(heads, queries, keys) if bool(away.any()) else None
        scores = self.scores.reshape(heads, queries, keys)
        return Block(stack, layer, name, None, None, block.v, given={"watched": scores}, mask=mask)

    def _rebuild(self, block: Block, lead: torch.Size, shape: Sequence[int]) -> bool:
        """Fill in a block from the terms of its score; False where that cannot be done."""
        expression = self.expression
        if expression is None or len(expression.core.products) != 1:
            return False
        if expression.inner and expression.core.biases:
            return False  # biases under the cap are no stage of their own
        (q, k, block.scaling), block.softcap = expression.core.products[0], expression.softcap
        biases = expression.biases if expression.inner else expression.core.biases
        try:
            block.q, block.k = _flat(q, lead, q.shape[-2:]), _flat(k, lead, k.shape[-2:])
            block.biases = _by_name(biases, lead, shape)
            for allowed in expression.masks:
                flat = _flat(allowed, lead, shape)
                block.mask = flat if block.mask is None else block.mask & flat
        except RuntimeError:  # shapes that do not line up
            return False
        return True

    def _agrees(self, block: Block) -> bool:
        """Whether the score rebuilt from its terms is the score that softmax received."""
        if block.q is None or block.k is None or block.scale is None:
            return False
        group = block.heads // block.kv_heads
        rebuilt = block.q @ block.k.repeat_interleave(group, 0).mT * block.scale
        if block.softcap is not None:
            rebuilt = block.softcap * torch.tanh(rebuilt / block.softcap)
        for bias in block.biases.values():
            rebuilt = rebuilt + bias
        real = self.scores.reshape(rebuilt.shape)
        allowed = torch.ones_like(real, dtype=torch.bool) if block.mask is None else block.mask
        allowed = allowed.expand(real.shape)
        difference = torch.where(allowed, rebuilt - real, 0).abs().max()
        size = torch.where(allowed, real, 0).abs().max().clamp(min=1)
        return bool(difference <= ROUNDING.get(real.dtype, 2e-2) * size)


def _by_name(
    biases: Sequence[tuple[str, Tensor]], lead: torch.Size, shape: Sequence[int]
) -> dict[str, Tensor]:
    """Biases by what they are, numbered where two are the same thing."""
    named: dict[str, Tensor] = {}
    for name, bias in biases:
        same = sum(other.startswith(name) for other in named)
        named[f"{name} {same + 1}" if same else name] = _flat(bias, lead, shape)
    return named


def _flat(tensor: Tensor, lead: torch.Size, last: Sequence[int]) -> Tensor:
    """(..., a, b) -> (1 | head, a, b), where the model's leading axes are batch 1 and heads."""
    size = tensor.shape[:-2].numel()
    if size == 1:
        return tensor.reshape(1, *tensor.shape[-2:]).expand(1, *last)
    if size == lead.numel():
        return tensor.reshape(size, *tensor.shape[-2:]).expand(size, *last)
    return tensor.expand(*lead, *tensor.shape[-2:]).reshape(lead.numel(), *last)
