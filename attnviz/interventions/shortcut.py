"""Shortcuts: run only what interventions can change, and take the rest from the baseline.

Two shortcuts, each tried against the baseline once a model and used only where it agrees:
- later layers: a shadow of the model, sharing every parameter, whose first layers hand on the
  baseline's hidden states;
- later positions: where no query looks ahead, a cache filled with the baseline's keys and values.
"""

import copy
import inspect
import re
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, DynamicLayer

from attnviz.capture.forward import run_forward
from attnviz.capture.model_state import switch_model
from attnviz.capture.result import Capture
from attnviz.models.placement import is_spread

# of each baseline: the position from which its layers' outputs are known, and these
_outputs: WeakKeyDictionary[Capture, tuple[int, list[Any]]] = WeakKeyDictionary()
_MOST_OUTPUTS = 256 * 2**20  # bytes of them


class _Known(DynamicLayer):
    """A cache layer with the baseline's keys and values, which keeps nothing that is new."""

    def __init__(self, keys: Tensor, values: Tensor, batch: int) -> None:
        super().__init__()
        self.lazy_initialization(keys, values)
        self.keys = keys[None].expand(batch, -1, -1, -1)
        self.values = values[None].expand(batch, -1, -1, -1)

    def update(self, keys: Tensor, values: Tensor, *args: Any, **kwargs: Any) -> Any:
        return torch.cat([self.keys, keys], -2), torch.cat([self.values, values], -2)


def later_positions(hf: nn.Module, baseline: Capture, first: int, batch: int) -> dict[str, Any]:
    """What to call the model with, so that only positions from `first` on are run."""
    names = inspect.signature(hf.forward).parameters
    ids = baseline.forward["input_ids"]
    count = ids.shape[1]
    given: dict[str, Any] = {
        "input_ids": ids[:, first:].expand(batch, -1),
        "attention_mask": torch.ones(batch, count, dtype=torch.long),
        "position_ids": torch.arange(first, count).expand(batch, -1),
    }
    if first:
        known = "cache" if "cache" in names else "past_key_values"
        given |= {known: _cache(baseline, first, batch), "use_cache": True}
    return {name: value for name, value in given.items() if name in names}


def _cache(baseline: Capture, first: int, batch: int) -> Cache:
    blocks = sorted(baseline.blocks, key=lambda block: block.layer)
    layers = [_Known(b.k[:, :first], b.v[:, :first], batch) for b in blocks]  # type: ignore[index]
    return Cache(layers=layers)


def can_skip_positions(baseline: Capture) -> bool:
    """Whether the baseline has what a cache needs: a decoder's keys and values, nothing padded."""
    numbers = sorted(block.layer for block in baseline.blocks)
    return (
        baseline.info.kind == "decoder"
        and baseline.receipt.method == "attention interface"
        and not baseline.padding
        and numbers == list(range(baseline.info.layers))
    )


def layers_of(hf: nn.Module, baseline: Capture) -> str | None:
    """The path of the list of layers, if each block's layer is its place in one list."""
    paths = set()
    for block in baseline.blocks:
        found = re.match(r"(.+?)\.(\d+)(\.|$)", block.module)
        if not found or int(found[2]) != block.layer:
            return None
        paths.add(found[1])
    return paths.pop() if len(paths) == 1 else None


def layers_to_skip(hf: nn.Module, baseline: Capture) -> str | None:
    """The same, where a shadow can stand in for the model: not where hooks bring the weights, for
    these hold on to the modules that they were put on."""
    return None if is_spread(hf) else layers_of(hf, baseline)


def shadow(
    hf: nn.Module, baseline: Capture, path: str, layer: int, first: int = 0, batch: int = 1
) -> nn.Module:
    """The model from `layer` on: it shares every parameter, and is not the model."""
    start, known = _outputs.get(baseline, (first + 1, []))
    if start > first:
        start, known = first, layer_outputs(hf, baseline, path, first)
        _outputs[baseline] = first, known

    def stand_in(number: int, original: nn.Module) -> nn.Module:
        if number >= layer:
            return original
        output = known[number]

        def hand_on(states: Tensor, *args: Any, **kwargs: Any) -> Any:
            if number == layer - 1:
                real = output if isinstance(output, Tensor) else output[0]
                states = real[:, first - start :].expand(batch, -1, -1)
            return states if isinstance(output, Tensor) else (states, *output[1:])

        return _StandIn(original, hand_on)

    return _with_layers(hf, path, stand_in)


def holds_outputs(hf: nn.Module, baseline: Capture, first: int) -> bool:
    """Whether what all layers put out from a position on is little enough to be held."""
    table: Any = hf.get_input_embeddings()  # type: ignore[operator]
    numbers = table.weight.shape[-1] if hasattr(table, "weight") else 0
    count = baseline.forward["input_ids"].shape[1] - first
    return baseline.info.layers * count * numbers * 4 <= _MOST_OUTPUTS


def layer_outputs(hf: nn.Module, baseline: Capture, path: str, first: int = 0) -> list[Any]:
    """What each layer puts out in the baseline at the positions from `first` on."""
    outputs: dict[int, Any] = {}

    def keeper(number: int, original: nn.Module) -> nn.Module:
        def keep(*args: Any, **kwargs: Any) -> Any:
            outputs[number] = original(*args, **kwargs)
            return outputs[number]

        return _StandIn(original, keep)

    with switch_model(hf):
        forward = later_positions(hf, baseline, first, 1) if first else baseline.forward
        run_forward(_with_layers(hf, path, keeper), forward)
    return [outputs[number] for number in sorted(outputs)]


class _StandIn(nn.Module):
    """In the place of a layer; what a model asks of its layers is asked of the layer."""

    def __init__(self, original: nn.Module, run: Callable[..., Any]) -> None:
        super().__init__()
        # not a submodule: its parameters are not ours
        self.__dict__.update(original=original, run=run, training=original.training)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["original"], name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["run"](*args, **kwargs)


def _with_layers(hf: nn.Module, path: str, make: Any) -> nn.Module:
    """A copy of the modules along `path` with other layers at its end; all else is shared."""
    root = parent = _copy(hf)
    for name in path.split("."):
        child = _copy(parent._modules[name])
        parent._modules[name] = child
        parent = child
    for name, layer in parent._modules.items():
        parent._modules[name] = make(int(name), layer)
    return root


def _copy(module: Any) -> Any:
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    return twin
