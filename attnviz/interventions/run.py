"""One run under interventions: what they changed in the model, against the baseline."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from attnviz.capture.block import Block
from attnviz.capture.block_locator import BlockLocator
from attnviz.capture.forward import capture as capture_model
from attnviz.capture.forward import outputs_kept, run_forward
from attnviz.capture.receipt import verify
from attnviz.capture.recording import Call
from attnviz.capture.result import Capture
from attnviz.errors import BadInput
from attnviz.heads.distances import cosine_distance, logit_kl, logit_variation
from attnviz.heads.softmax import Array
from attnviz.interventions import engine
from attnviz.interventions.kinds import Intervention
from attnviz.interventions.shortcut import later_positions

if TYPE_CHECKING:
    from attnviz.models import LoadedModel


@dataclass(frozen=True, eq=False)
class Run:
    """A run under interventions.

    Attributes:
        baseline, capture: without and with. `capture.head(...)` is a head as the interventions left
            it; layers and positions that nothing could change are the baseline's.
        interventions: what was done.
        from_layer, from_position: where the run began.
    """

    baseline: Capture
    capture: Capture
    interventions: tuple[Intervention, ...]
    from_layer: int
    from_position: int

    @property
    def logits(self) -> Array | None:
        """(position, vocabulary), unit-less, of the positions that the capture keeps."""
        return self.capture.logits

    @cached_property
    def kl(self) -> float:
        """KL(without || with) of the output distribution at the last position kept, in nats, 0 or
        more; NaN for a model without a language-modelling head."""
        return logit_kl(self.baseline.logits, self.capture.logits)

    @cached_property
    def total_variation(self) -> float:
        """Half the summed change of the output distribution at the last position kept, 0 to 1."""
        return logit_variation(self.baseline.logits, self.capture.logits)

    @cached_property
    def state_change(self) -> Array:
        """(position,) 1 minus the cosine of the last hidden state before and after, 0 to 2; empty
        for a model that puts out logits."""
        before, after = self.baseline.states, self.capture.states
        if before is None or after is None:
            return np.zeros(0, np.float32)
        return cosine_distance(before, after)

    def logit_change(self, token_id: int) -> float:
        """How far one token's logit moves at the last position kept, unit-less."""
        before, after = self.baseline.logits, self.capture.logits
        if before is None or after is None or not len(before):
            raise BadInput(
                what="This model gives no logits.",
                why="It has no language-modelling head, or the text no masked place.",
                todo="Load a model that predicts tokens.",
            )
        return float(after[-1, token_id] - before[-1, token_id])


def run(
    model: "LoadedModel",
    text: str | None = None,
    interventions: Sequence[Intervention] = (),
    *,
    baseline: Capture | None = None,
    layers: Collection[int] | None = None,
    **options: Any,
) -> Run:
    """Run a model on a text with interventions, and compare with the run without.

    Only what can change is run: the layers from the first one touched, and, where no query looks
    ahead, the positions from the first one affected. Nothing stays on the model.

    Args:
        interventions: any number, from `attnviz.interventions`; they act in the order given.
        baseline: the capture of this text, where it is at hand.
        layers: the run's capture keeps the blocks of these layers only; all by default. All of
            a long text take hundreds of megabytes.
        options: as for `attnviz.capture`.

    Raises:
        BadInput: a layer, head or position that is not there, or weights that are none.

    >>> import attnviz
    >>> from attnviz.interventions import Ablate
    >>> model = attnviz.load("planted-circuit")
    >>> attnviz.run(model, "the cat sat", interventions=[Ablate(0, 0)]).kl >= 0
    True
    """
    before = capture_model(model, text, **options) if baseline is None else baseline
    changes = tuple(interventions)
    engine.check_places(before, changes)
    first, layer = engine.find_start(model, before, changes)

    def complete(call: Call) -> bool:
        """Check a call whose block is not kept, and let it go."""
        if layers is None or call.block.layer in layers:
            return True
        verify([call], before.info.dtype)
        return False

    if first:
        calls, output = _run_later(model, before, changes, first, layer, complete)
    else:
        recording, _, output = engine.run_one(model, before, changes, layer, complete)
        calls = recording.calls
    verify(calls, before.info.dtype)
    kept = outputs_kept(model, output, before.forward)
    blocks = [block for block in before.blocks if layers is None or block.layer in layers]
    blocks = _merge_blocks(blocks, calls, first)
    after = replace(before, blocks=blocks, interventions=changes, **kept)
    return Run(before, after, changes, from_layer=layer, from_position=first)


def _run_later(
    model: "LoadedModel",
    before: Capture,
    changes: tuple[Intervention, ...],
    first: int,
    layer: int,
    complete: Callable[[Call], bool],
) -> tuple[list[Call], Any]:
    """The calls of a run over the positions from `first` on."""
    strategy = engine.strategy_of(model, before)
    recording = strategy.recorder(BlockLocator(model.hf, before.info.kind), changes, first)
    recording.complete = complete
    hf = engine.start_at_layer(model.hf, before, layer, first)
    forward = later_positions(model.hf, before, first, 1)
    return recording.calls, strategy.run_recorded(recording, hf, run_forward, forward)


def _merge_blocks(before: Sequence[Block], calls: Sequence[Call], first: int) -> list[Block]:
    """Blocks of the baseline, with what was run in their place."""
    new = {(call.block.stack, call.block.layer): call.block for call in calls}
    blocks = []
    for block in before:
        found = new.get((block.stack, block.layer))
        if found is not None and first and block.q is not None and found.q is not None:
            q = torch.cat([block.q[:, :first], found.q], 1)  # (head, query, d_k)
            found = replace(block, q=q, k=found.k, v=found.v, interventions=found.interventions)
        blocks.append(block if found is None else found)
    return blocks
