"""Strategies to record a model, tried in order on a few tokens, once a model.

A strategy will do when it sees every attention block and changes nothing that the model puts out. A
model file may branch on the name of the attention implementation, or lose its mask under a new
name; both show in the outputs of the trial.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from attnviz.capture import interface
from attnviz.capture.block_locator import BlockLocator
from attnviz.capture.config_fields import refuse_ignored
from attnviz.capture.expected import attention_blocks, refuse_without_attention
from attnviz.capture.model_state import PREFIX, attention_of, switch_model
from attnviz.capture.recording import Recording
from attnviz.capture.softmax_bridge import Bridge
from attnviz.errors import AttnvizError, UnsupportedModel
from attnviz.models.placement import input_device

PROBE_TOKENS = 12


@dataclass(frozen=True)
class RecordingStrategy:
    """How a model is recorded: which recorder, and on which attention implementation."""

    method: str
    recorder: type[Recording]
    on: str  # the attention implementation's name; "{own}" is the model's own
    notes: tuple[str, ...] = ()

    def attention(self, hf: nn.Module) -> str:
        """The attention implementation that runs, in plain words."""
        return self.on if "{own}" not in self.on else attention_of(hf)

    def record(
        self, hf: nn.Module, kind: str, run: Callable[[nn.Module, Any], Any], forward: Any
    ) -> tuple[Recording, Any]:
        """The recording of `run(hf, forward)`, and what it gives."""
        recording = self.recorder(BlockLocator(hf, kind))
        return recording, self.run_recorded(recording, hf, run, forward)

    def run_recorded(
        self,
        recording: Recording,
        hf: nn.Module,
        run: Callable[[nn.Module, Any], Any],
        forward: Any,
    ) -> Any:
        """What `run(hf, forward)` gives while a recording runs."""
        token = interface.running.set(recording)
        try:
            with interface.registered(), switch_model(hf, self.on), recording:
                output = run(hf, forward)
        finally:
            interface.running.reset(token)
        recording.close()
        return output


STRATEGIES = (
    RecordingStrategy("attention interface", Recording, PREFIX + "{own}"),
    RecordingStrategy("softmax bridge", Bridge, "{own}"),
    RecordingStrategy("softmax bridge", Bridge, "eager"),
)

_chosen: WeakKeyDictionary[nn.Module, RecordingStrategy] = WeakKeyDictionary()
_lock = Lock()


def choose_strategy(hf: nn.Module, kind: str, forward: Mapping[str, Tensor]) -> RecordingStrategy:
    """The first strategy that sees all of this model's attention and changes nothing.

    Raises:
        UnsupportedModel: there is none; the message says why.
    """
    with _lock:
        if hf not in _chosen:
            _chosen[hf] = _try_all(hf, kind, forward)
        return _chosen[hf]


def _try_all(hf: nn.Module, kind: str, forward: Mapping[str, Tensor]) -> RecordingStrategy:
    refuse_without_attention(hf)
    refuse_ignored(hf.config)
    few = {name: value[:, :PROBE_TOKENS] for name, value in forward.items()}
    with switch_model(hf):
        usual = outputs(hf, few)
    failures: list[AttnvizError] = []
    for strategy in STRATEGIES:
        try:
            return _try(strategy, hf, kind, few, usual)
        except AttnvizError as failure:
            failures.append(failure)
        except (KeyError, ValueError, NotImplementedError) as failure:
            # how model files answer an attention implementation whose name they do not know
            failures.append(_unrecorded(hf, str(failure)))
    raise failures[-1]


def _try(
    strategy: RecordingStrategy, hf: nn.Module, kind: str, few: dict[str, Tensor], usual: Tensor
) -> RecordingStrategy:
    recording, seen = strategy.record(hf, kind, outputs, few)
    expected, found = attention_blocks(hf, kind), len(recording.calls)
    if found == 0 < expected:
        raise UnsupportedModel(
            what=f"No attention was recognised in {type(hf).__name__}.",
            why="Nothing in its forward pass was seen to take a softmax over tokens and to mix "
            "values with it.",
            todo="Choose a model with softmax attention; if this one has it, report it.",
        )
    if found != expected:
        raise _unrecorded(hf, _miscount(found, expected))
    change = _change(seen, usual)
    if change and strategy.on != "{own}" and PREFIX not in strategy.on:
        # the fast kernel and plain attention of this model differ: compare like with like
        with switch_model(hf, strategy.on):
            plain = outputs(hf, few)
        if not _change(seen, plain):
            note = (
                f"Shown is this model's plain attention; its fast kernel puts out something else "
                f"(outputs differ by up to {change:.2g})."
            )
            return replace(strategy, notes=(note,))
    if change:
        raise UnsupportedModel(
            what=f"Recording changes what {type(hf).__name__} puts out.",
            why=f"Its outputs move by up to {change:.2g} when its attention is watched.",
            todo="Report the architecture; nothing is shown rather than something wrong.",
        )
    return strategy


def _miscount(found: int, expected: int) -> str:
    if found < expected:
        return f"{found} of {expected} attention blocks could be seen"
    return f"It attends {found} times where its config has {expected} attention blocks, and which \
belongs to which cannot be told"


def outputs(hf: nn.Module, forward: Mapping[str, Tensor]) -> Tensor:
    """The first output of a forward pass: logits or hidden states, float32."""
    names = inspect.signature(hf.forward).parameters
    extra = {"use_cache": False, "return_dict": True}
    device = input_device(hf)
    moved = {name: value.to(device) for name, value in forward.items()}
    with torch.no_grad():
        output = hf(**moved, **{name: value for name, value in extra.items() if name in names})
    return output[0].float()


def _change(one: Tensor, other: Tensor) -> float:
    """How far two outputs are apart; 0 where they agree to rounding."""
    if torch.allclose(one, other, rtol=1e-5, atol=1e-5, equal_nan=True):
        return 0.0
    return float((one - other).abs().max())


def _unrecorded(hf: nn.Module, reason: str) -> UnsupportedModel:
    return UnsupportedModel(
        what=f"The attention of {type(hf).__name__} could not be recorded.",
        why=f"{reason[:1].upper()}{reason[1:].rstrip('.')}.",
        todo="Report the architecture; a part of a model is not shown as the whole.",
    )
