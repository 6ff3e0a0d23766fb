"""The gradient of one logit, as it reaches one attention block's output."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from attnviz.capture.block import Block
from attnviz.capture.block_locator import BlockLocator
from attnviz.capture.forward import run_forward
from attnviz.capture.result import Capture
from attnviz.heads.softmax import Array
from attnviz.interventions import engine
from attnviz.interventions.shortcut import later_positions

if TYPE_CHECKING:
    from attnviz.models import LoadedModel


def weight_gradient(
    model: "LoadedModel",
    capture: Capture,
    layer: int,
    head: int,
    query: int,
    token_id: int,
    *,
    stack: str | None = None,
) -> Array:
    """(key,): how fast a token's logit at the last position kept grows with each weight of a row.

    The head's output is the sum of weights times values, so the gradient by a weight is the
    gradient by the head's output at the query, along the key's value.
    """
    shown = capture.head(layer, head, stack)
    mixed = _gradient(model, capture, (shown.stack, layer), token_id)  # (query, head, d_v)
    values = shown.v
    assert values is not None
    return np.asarray(values @ mixed[query, head])


def _gradient(model: "LoadedModel", capture: Capture, at: tuple[str, int], token_id: int) -> Array:
    leaves: list[Tensor] = []

    def make_leaf(mixed: Tensor) -> Tensor:
        leaves.append(mixed.detach().clone().requires_grad_())
        return leaves[-1]

    logits = logits_with(model, capture, at, make_leaf)
    (gradient,) = torch.autograd.grad(logits[token_id], leaves)
    return np.asarray(gradient.float().cpu().numpy())


def logits_with(
    model: "LoadedModel",
    capture: Capture,
    at: tuple[str, int],
    change: Callable[[Tensor], Tensor],
    first: int = 0,
) -> Tensor:
    """(vocabulary,): the logits at the last position kept, with a gradient, of a run in which one
    block's output, (query, head, d_v) from position `first` on, is changed.

    Args:
        at: the block's stack and layer.
    """
    strategy = engine.strategy_of(model, capture)

    class Changed(strategy.recorder):  # type: ignore[name-defined]
        def open_call(self, block: Block, mixed: Tensor) -> Tensor:
            return change(mixed) if (block.stack, block.layer) == at else mixed

    hf = engine.start_at_layer(model.hf, capture, at[1], first)
    forward = later_positions(model.hf, capture, first, 1) if first else capture.forward
    recording = Changed(BlockLocator(model.hf, capture.info.kind), offset=first)

    def run(hf: nn.Module, forward: Any) -> Tensor:
        logits = run_forward(hf, forward, gradients=True).logits
        return logits[0, -1 if logits.shape[1] == 1 else capture.logit_positions[-1]]

    return strategy.run_recorded(recording, hf, run, forward)
