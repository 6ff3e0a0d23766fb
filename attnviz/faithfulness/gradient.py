"""The gradient of one logit, as it reaches one attention block's output."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from attnviz.capture.block import Block
from attnviz.capture.block_locator import BlockLocator
from attnviz.capture.forward import run_forward
from attnviz.capture.recording import Recording
from attnviz.capture.result import Capture
from attnviz.heads.softmax import Array
from attnviz.interventions import engine

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
    strategy = engine.strategy_of(model, capture)
    recording = leaf_recorder(strategy.recorder)(BlockLocator(model.hf, capture.info.kind), at)
    hf = engine.start_at_layer(model.hf, capture, at[1])

    def run(hf: nn.Module, forward: Any) -> Tensor:
        output = run_forward(hf, forward, gradients=True)
        return output.logits[0, logit_row(capture, output.logits), token_id]

    logit = strategy.run_recorded(recording, hf, run, capture.forward)
    (gradient,) = torch.autograd.grad(logit, recording.leaf)
    return np.asarray(gradient.float().cpu().numpy())


def logit_row(capture: Capture, logits: Tensor) -> int:
    """The row of a run's logits that is of the last position kept."""
    return -1 if logits.shape[1] == 1 else capture.logit_positions[-1]


def leaf_recorder(recorder: type[Recording]) -> Any:
    """A recorder that makes one block's output a leaf, so that a gradient by it can be taken."""

    class Leaf(recorder):  # type: ignore[valid-type, misc]
        leaf: Tensor

        def __init__(self, locator: BlockLocator, at: tuple[str, int]) -> None:
            super().__init__(locator)
            self._at = at

        def open_call(self, block: Block, mixed: Tensor) -> Tensor:
            if (block.stack, block.layer) != self._at:
                return mixed
            self.leaf = mixed.detach().clone().requires_grad_()
            return self.leaf

    return Leaf
