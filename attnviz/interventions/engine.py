"""The engine: many what-ifs on one text, each run only where it can change anything."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from attnviz.capture import strategies
from attnviz.capture.arguments import Arguments
from attnviz.capture.block import numpy
from attnviz.capture.block_locator import Places
from attnviz.capture.forward import outputs_kept
from attnviz.capture.forward import run as run_model
from attnviz.capture.recording import Call, Recording, split_mask
from attnviz.capture.result import Capture
from attnviz.errors import BadInput
from attnviz.heads.softmax import Array
from attnviz.interventions.kinds import Ablate, Intervention
from attnviz.interventions.shortcut import (
    can_skip_positions,
    holds_outputs,
    later_positions,
    layers_to_skip,
    shadow,
)

if TYPE_CHECKING:
    from attnviz.models import LoadedModel

BATCH = 32  # what-ifs in one pass, at most
POSITIONS_AT_ONCE = 512  # positions in one pass, over all its what-ifs
_TRIED = 256  # positions that a shortcut is tried on, at most
AGREES = 1e-4  # a shortcut's outputs against the baseline's, as a part of the largest

WhatIf = Sequence[Intervention]

_skips: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()
_shares: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()


def effects(
    model: "LoadedModel",
    baseline: Capture,
    whatifs: Sequence[WhatIf],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[Array]:
    """What the model puts out under each what-if, in the order given.

    Args:
        baseline: the capture of the text without any.
        whatifs: each a list of interventions that act together.
        progress: called with (done, total) after each batch.

    Returns:
        One array a what-if, shaped as `answer(baseline)`: logits (position, vocabulary), or
        states (position, d_model) of a model without a language-modelling head.
    """
    for whatif in whatifs:
        check_places(baseline, whatif)
    whatifs = [settled(baseline, whatif) for whatif in whatifs]
    found: dict[int, Array] = {}
    for (first, layer), numbers in _batches(model, baseline, whatifs):
        outputs = _batch(model, baseline, [whatifs[n] for n in numbers], first, layer)
        found.update(zip(numbers, outputs, strict=True))
        if progress:
            progress(len(found), len(whatifs))
    return [found[number] for number in range(len(whatifs))]


def answer(capture: Capture) -> Array:
    """What the model puts out: its logits where it has any, else its last hidden states."""
    if capture.logits is not None and len(capture.logits):
        return capture.logits
    if capture.states is not None:
        return capture.states
    return np.zeros((0, 0), np.float32)


def compared(capture: Capture) -> Array:
    """What the model puts out, to compare other outputs with.

    Raises:
        BadInput: it puts out nothing on this text.
    """
    output = answer(capture)
    if not output.size:
        raise BadInput(
            what="There is no output to compare.",
            why="This model fills masked places, and the text has none.",
            todo="Put the model's mask token into the text.",
        )
    return output


def check_places(baseline: Capture, whatif: WhatIf) -> None:
    """Raise BadInput where an intervention names a place the model or the text lacks."""
    for one in whatif:
        for stack in [one.stack] if one.stack else baseline.stacks:
            if one.stack or one.layer is None or one.layer in baseline.layers(stack):
                break
        layer = baseline.layers(stack)[0] if one.layer is None else one.layer
        block = baseline.block(layer, stack)
        if one.head is not None and not 0 <= one.head < block.heads:
            baseline.head(layer, one.head, stack)  # refuses it, in the words of a capture
        one.check(block)


def settled(baseline: Capture, whatif: WhatIf) -> WhatIf:
    """The same what-if. A mean or a deal of a head's outputs needs them at every place; where the
    what-if changes nothing before, they are the baseline's, and are put in as they are."""
    one = whatif[0] if len(whatif) == 1 else None
    if not isinstance(one, Ablate) or one.how == "zero":
        return whatif
    if one.layer is None or (one.stack is None and len(baseline.stacks) > 1):
        return whatif
    heads = one.heads(baseline.heads(one.layer, one.stack))
    return [one.known({number: baseline.head(one.layer, number, one.stack) for number in heads})]


def extent(model: "LoadedModel", baseline: Capture, whatif: WhatIf) -> tuple[int, int]:
    """(first position, first layer) that a what-if can change and that a run can start from."""
    first = min((one.first_query for one in whatif), default=0)
    layer = min((0 if one.layer is None else one.layer for one in whatif), default=0)
    positions = first if _can_skip(model, baseline) else 0
    later = layers_to_skip(model.hf, baseline) and holds_outputs(model.hf, baseline, positions)
    return positions, layer if later else 0


def _batches(
    model: "LoadedModel", baseline: Capture, whatifs: Sequence[WhatIf]
) -> Iterator[tuple[tuple[int, int], list[int]]]:
    """((first position, first layer), numbers of what-ifs to run together).

    A pass costs as much as reading the model's parameters, however few its positions, so what-ifs
    that begin near one another share a pass that begins at the first of them.
    """
    extents = [extent(model, baseline, whatif) for whatif in whatifs]
    count = baseline.forward["input_ids"].shape[1]
    order = sorted(range(len(whatifs)), key=lambda n: extents[n][::-1])
    for layer, same in groupby(order, key=lambda n: extents[n][1]):
        left = list(same)
        while left:
            first = extents[left[0]][0]
            room = max(1, min(BATCH, POSITIONS_AT_ONCE // (count - first)))
            yield (first, layer), left[:room]
            left = left[room:]


def _batch(
    model: "LoadedModel", baseline: Capture, whatifs: Sequence[WhatIf], first: int, layer: int
) -> list[Array]:
    if _can_skip(model, baseline):
        return _together(model, baseline, whatifs, first, layer)
    if len(whatifs) > 1 and _can_share(model, baseline):
        return _beside(model, baseline, whatifs, layer)
    # nothing of what is recorded is looked at
    return [alone(model, baseline, whatif, layer, lambda call: False)[1] for whatif in whatifs]


def _together(
    model: "LoadedModel", baseline: Capture, whatifs: Sequence[WhatIf], first: int, layer: int
) -> list[Array]:
    """Each what-if a text of one batch, over the positions from `first` on."""
    places = Places(model.hf, baseline.info.kind)
    hf = from_layer(model.hf, baseline, layer, first, len(whatifs))
    forward = later_positions(model.hf, baseline, first, len(whatifs))
    way = way_of(model, baseline)
    output = way.under(_Batch(places, whatifs, first), hf, run_model, forward)
    logits = output.logits if hasattr(output, "logits") else output[0]
    return [logits[b, -1:].float().cpu().numpy() for b in range(len(whatifs))]


def _beside(
    model: "LoadedModel", baseline: Capture, whatifs: Sequence[WhatIf], layer: int
) -> list[Array]:
    """Each what-if a text of one batch, over every position."""
    batch = len(whatifs)
    hf = from_layer(model.hf, baseline, layer, 0, batch)
    forward = {name: value.expand(batch, -1) for name, value in baseline.forward.items()}
    places = Places(model.hf, baseline.info.kind)
    way = way_of(model, baseline)
    output = way.under(_Batch(places, whatifs, 0), hf, run_model, forward)
    logits, rows = getattr(output, "logits", None), baseline.logit_positions
    if logits is None:
        return [numpy(states) for states in output[0]]
    if logits.shape[1] == 1:
        return [numpy(one) for one in logits]
    return [numpy(one[rows]) for one in logits]


def alone(
    model: "LoadedModel",
    baseline: Capture,
    whatif: WhatIf,
    layer: int,
    complete: Callable[[Call], bool] = lambda call: True,
) -> tuple[Recording, Array, Any]:
    """One what-if over every position: (recording, answer, the model's output). `complete` says
    which calls the recording keeps."""
    way, places = way_of(model, baseline), Places(model.hf, baseline.info.kind)
    recording = way.recorder(places, whatif)
    recording.complete = complete
    hf = from_layer(model.hf, baseline, layer)
    output = way.under(recording, hf, run_model, baseline.forward)
    kept = outputs_kept(model, output, baseline.forward)
    logits = kept.get("logits")
    found = logits if logits is not None and len(logits) else kept.get("states")
    return recording, np.zeros((0, 0), np.float32) if found is None else found, output


def from_layer(
    hf: nn.Module, baseline: Capture, layer: int, first: int = 0, batch: int = 1
) -> nn.Module:
    path = layers_to_skip(hf, baseline)
    return shadow(hf, baseline, path, layer, first, batch) if path and layer else hf


def way_of(model: "LoadedModel", baseline: Capture) -> strategies.Way:
    return strategies.choose(model.hf, baseline.info.kind, baseline.forward)


def _can_skip(model: "LoadedModel", baseline: Capture) -> bool:
    """Whether leaving out positions gives the baseline's own answer: tried once a model."""
    if not can_skip_positions(baseline) or baseline.logits is None:
        return False
    count = baseline.forward["input_ids"].shape[1]
    if count < 2:
        return False
    if model.hf not in _skips:
        try:
            found = _together(model, baseline, [()], max(count // 2, count - _TRIED), 0)[0]
        except (TypeError, ValueError, IndexError, AttributeError, RuntimeError):
            _skips[model.hf] = False  # a cache of its own kind
        else:
            size = max(1.0, float(np.abs(baseline.logits).max()))
            difference = float(np.abs(found - baseline.logits[-1:]).max())
            _skips[model.hf] = difference <= AGREES * size
    return _skips[model.hf]


def _can_share(model: "LoadedModel", baseline: Capture) -> bool:
    """Whether two texts in one batch get the baseline's own answer each: tried once a model."""
    before = answer(baseline)
    if baseline.receipt.method != "attention interface" or not before.size:
        return False
    if any(value.ndim != 2 or len(value) != 1 for value in baseline.forward.values()):
        return False
    if model.hf not in _shares:
        try:
            found = _beside(model, baseline, [(), ()], 0)
        except (TypeError, ValueError, IndexError, AttributeError, RuntimeError):
            _shares[model.hf] = False
        else:
            size = AGREES * max(1.0, float(np.abs(before).max()))
            _shares[model.hf] = all(
                one.shape == before.shape and np.abs(one - before).max() <= size for one in found
            )
    return _shares[model.hf]


class _Batch(Recording):
    """Applies one what-if to each text of a batch, and records nothing."""

    def __init__(self, places: Places, whatifs: Sequence[WhatIf], offset: int) -> None:
        super().__init__(places, offset=offset)
        self._whatifs = whatifs

    def attend(self, call: Arguments, run: Callable[[Tensor | None], Any]) -> Any:
        place = self._places.of(call.module)
        chosen = [[one for one in whatif if one.touches(*place[:2])] for whatif in self._whatifs]
        if not any(chosen):
            return run(call.mask)
        blocks = [self.block(place, call, text) for text in range(len(chosen))]
        for block, ones in zip(blocks, chosen, strict=True):
            block.interventions, block.offset = ones, self._offset
        hidden = [block.hidden for block in blocks]
        mask = call.mask
        if any(one is not None for one in hidden):
            none = torch.zeros(blocks[0].queries, blocks[0].keys, dtype=torch.bool)
            mask = call.mask_without(
                torch.stack([none if h is None else h for h in hidden])[:, None]
            )
        output = run(mask)
        mixed = output[0].clone()
        for text, block in enumerate(blocks):
            if block.hidden is not None:
                mixed[text] = block.emptied(mixed[text])
            elif block.interventions:
                mixed[text] = block.changed(mixed[text])
        return mixed, *output[1:]

    def _split(
        self, mask: Tensor | None, keys: int, text: int
    ) -> tuple[Tensor | None, Tensor | None]:
        if mask is None:
            return None, None
        text = text if len(mask) > 1 else 0
        return split_mask(mask[text : text + 1], keys)
