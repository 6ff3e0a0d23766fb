"""The engine: many groups of interventions on one text, each run only where it matters."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from torch import nn

from attnviz.capture import strategies
from attnviz.capture.block import numpy
from attnviz.capture.block_locator import BlockLocator
from attnviz.capture.forward import outputs_kept, run_forward
from attnviz.capture.recording import Call, Recording
from attnviz.capture.result import Capture
from attnviz.errors import BadInput
from attnviz.heads.softmax import Array
from attnviz.interventions.batch_recording import BatchRecording, Interventions
from attnviz.interventions.kinds import Ablate
from attnviz.interventions.shortcut import (
    can_skip_positions,
    holds_outputs,
    later_positions,
    layers_to_skip,
    shadow,
)
from attnviz.progress import Step

if TYPE_CHECKING:
    from attnviz.models import LoadedModel

BATCH = 32  # interventions in one pass, at most
POSITIONS_AT_ONCE = 512  # positions in one pass, over all its interventions
_TRIED = 256  # positions that a shortcut is tried on, at most
AGREES = 1e-4  # a shortcut's outputs against the baseline's, as a part of the largest

_skips: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()
_shares: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()


def effects(
    model: "LoadedModel",
    baseline: Capture,
    groups: Sequence[Interventions],
    *,
    progress: Step | None = None,
) -> list[Array]:
    """What the model puts out under each group of interventions, in the order given.

    Args:
        baseline: the capture of the text without any.
        groups: each a list of interventions that act together.
        progress: called with (done, total) after each batch.

    Returns:
        One array a group, shaped as `model_output(baseline)`: logits (position, vocabulary), or
        states (position, d_model) of a model without a language-modelling head.
    """
    for changes in groups:
        check_places(baseline, changes)
    groups = [freeze_baseline_outputs(baseline, changes) for changes in groups]
    found: dict[int, Array] = {}
    for (first, layer), numbers in _group_interventions(model, baseline, groups):
        outputs = _run_group(model, baseline, [groups[n] for n in numbers], first, layer)
        found.update(zip(numbers, outputs, strict=True))
        if progress:
            progress(len(found), len(groups))
    return [found[number] for number in range(len(groups))]


def model_output(capture: Capture) -> Array:
    """What the model puts out: its logits where it has any, else its last hidden states."""
    if capture.logits is not None and len(capture.logits):
        return capture.logits
    if capture.states is not None:
        return capture.states
    return np.zeros((0, 0), np.float32)


def output_to_compare(capture: Capture) -> Array:
    """What the model puts out, to compare other outputs with.

    Raises:
        BadInput: it puts out nothing on this text.
    """
    output = model_output(capture)
    if not output.size:
        raise BadInput(
            what="There is no output to compare.",
            why="This model fills masked places, and the text has none.",
            todo="Put the model's mask token into the text.",
        )
    return output


def check_places(baseline: Capture, changes: Interventions) -> None:
    """Raise BadInput where an intervention names a place the model or the text lacks."""
    for one in changes:
        for stack in [one.stack] if one.stack else baseline.stacks:
            if one.stack or one.layer is None or one.layer in baseline.layers(stack):
                break
        layer = baseline.layers(stack)[0] if one.layer is None else one.layer
        block = baseline.block(layer, stack)
        if one.head is not None and not 0 <= one.head < block.heads:
            baseline.head(layer, one.head, stack)  # refuses it, in the words of a capture
        one.check(block)


def freeze_baseline_outputs(baseline: Capture, changes: Interventions) -> Interventions:
    """The same interventions, with the baseline's outputs put in where they can be.

    A mean or a permutation of a head's outputs needs them at every position, so the run could not
    begin at a later one; where nothing is changed before, they are the baseline's.
    """
    one = changes[0] if len(changes) == 1 else None
    if not isinstance(one, Ablate) or one.how == "zero":
        return changes
    if one.layer is None or (one.stack is None and len(baseline.stacks) > 1):
        return changes
    heads = one.heads(baseline.heads(one.layer, one.stack))
    return [one.known({number: baseline.head(one.layer, number, one.stack) for number in heads})]


def find_start(model: "LoadedModel", baseline: Capture, changes: Interventions) -> tuple[int, int]:
    """(first position, first layer) that can change and that a run can start from."""
    first = min((one.first_query for one in changes), default=0)
    layer = min((0 if one.layer is None else one.layer for one in changes), default=0)
    positions = first if _can_skip(model, baseline) else 0
    later = layers_to_skip(model.hf, baseline) and holds_outputs(model.hf, baseline, positions)
    return positions, layer if later else 0


def _group_interventions(
    model: "LoadedModel", baseline: Capture, groups: Sequence[Interventions]
) -> Iterator[tuple[tuple[int, int], list[int]]]:
    """((first position, first layer), numbers of groups to run together).

    A pass costs as much as reading the model's parameters, however few its positions, so groups
    that begin near one another share a pass that begins at the first of them.
    """
    extents = [find_start(model, baseline, changes) for changes in groups]
    count = baseline.forward["input_ids"].shape[1]
    order = sorted(range(len(groups)), key=lambda n: extents[n][::-1])
    for layer, same in groupby(order, key=lambda n: extents[n][1]):
        left = list(same)
        while left:
            first = extents[left[0]][0]
            room = max(1, min(BATCH, POSITIONS_AT_ONCE // (count - first)))
            yield (first, layer), left[:room]
            left = left[room:]


def _run_group(
    model: "LoadedModel", baseline: Capture, groups: Sequence[Interventions], first: int, layer: int
) -> list[Array]:
    if _can_skip(model, baseline):
        return _run_batch_from(model, baseline, groups, first, layer)
    if len(groups) > 1 and _can_share(model, baseline):
        return _run_batch(model, baseline, groups, layer)
    # nothing that is recorded is needed
    return [run_one(model, baseline, group, layer, lambda call: False)[1] for group in groups]


def _run_batch_from(
    model: "LoadedModel", baseline: Capture, groups: Sequence[Interventions], first: int, layer: int
) -> list[Array]:
    """Each group a text of one batch, over the positions from `first` on."""
    forward = later_positions(model.hf, baseline, first, len(groups))
    output = _run_texts(model, baseline, groups, first, layer, forward)
    logits = output.logits if hasattr(output, "logits") else output[0]
    return [numpy(one[-1:]) for one in logits]


def _run_batch(
    model: "LoadedModel", baseline: Capture, groups: Sequence[Interventions], layer: int
) -> list[Array]:
    """Each group a text of one batch, over every position."""
    forward = {name: value.expand(len(groups), -1) for name, value in baseline.forward.items()}
    output = _run_texts(model, baseline, groups, 0, layer, forward)
    logits, rows = getattr(output, "logits", None), baseline.logit_positions
    if logits is None:
        return [numpy(states) for states in output[0]]
    if logits.shape[1] == 1:
        return [numpy(one) for one in logits]
    return [numpy(one[rows]) for one in logits]


def _run_texts(
    model: "LoadedModel",
    baseline: Capture,
    groups: Sequence[Interventions],
    first: int,
    layer: int,
    forward: dict[str, Any],
) -> Any:
    recording = BatchRecording(BlockLocator(model.hf, baseline.info.kind), groups, first)
    hf = start_at_layer(model.hf, baseline, layer, first, len(groups))
    return strategy_of(model, baseline).run_recorded(recording, hf, run_forward, forward)


def run_one(
    model: "LoadedModel",
    baseline: Capture,
    changes: Interventions,
    layer: int,
    complete: Callable[[Call], bool] = lambda call: True,
) -> tuple[Recording, Array, Any]:
    """One group over every position: (recording, `model_output`, the model's own output).
    `complete` says which calls the recording keeps."""
    strategy, locator = strategy_of(model, baseline), BlockLocator(model.hf, baseline.info.kind)
    recording = strategy.recorder(locator, changes)
    recording.complete = complete
    hf = start_at_layer(model.hf, baseline, layer)
    output = strategy.run_recorded(recording, hf, run_forward, baseline.forward)
    kept = outputs_kept(model, output, baseline.forward)
    logits = kept.get("logits")
    found = logits if logits is not None and len(logits) else kept.get("states")
    return recording, np.zeros((0, 0), np.float32) if found is None else found, output


def start_at_layer(
    hf: nn.Module, baseline: Capture, layer: int, first: int = 0, batch: int = 1
) -> nn.Module:
    path = layers_to_skip(hf, baseline)
    return shadow(hf, baseline, path, layer, first, batch) if path and layer else hf


def strategy_of(model: "LoadedModel", baseline: Capture) -> strategies.RecordingStrategy:
    return strategies.choose_strategy(model.hf, baseline.info.kind, baseline.forward)


def _can_skip(model: "LoadedModel", baseline: Capture) -> bool:
    """Whether leaving out positions gives the baseline's own answer: tried once a model."""
    if not can_skip_positions(baseline) or baseline.logits is None:
        return False
    count = baseline.forward["input_ids"].shape[1]
    if count < 2:
        return False
    if model.hf not in _skips:
        start = max(count // 2, count - _TRIED)
        _skips[model.hf] = _tries_out(
            baseline.logits[-1:], lambda: _run_batch_from(model, baseline, [()], start, 0)
        )
    return _skips[model.hf]


def _can_share(model: "LoadedModel", baseline: Capture) -> bool:
    """Whether two texts in one batch get the baseline's own answer each: tried once a model."""
    before = model_output(baseline)
    if baseline.receipt.method != "attention interface" or not before.size:
        return False
    if any(value.ndim != 2 or len(value) != 1 for value in baseline.forward.values()):
        return False
    if model.hf not in _shares:
        _shares[model.hf] = _tries_out(before, lambda: _run_batch(model, baseline, [(), ()], 0))
    return _shares[model.hf]


def _tries_out(before: Array, run: Callable[[], list[Array]]) -> bool:
    """Whether a shortcut without any intervention gives the baseline's output."""
    try:
        found = run()
    except (TypeError, ValueError, IndexError, AttributeError, RuntimeError):
        return False  # such as a cache of the model's own kind
    size = AGREES * max(1.0, float(np.abs(before).max()))
    return all(one.shape == before.shape and np.abs(one - before).max() <= size for one in found)
