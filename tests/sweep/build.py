"""Hot tiny models: every parameter random and large, so that a wrong scale, mask, bias or order of
heads shows in the numbers."""

import copy
import inspect
import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from tests.sweep import oracle
from tests.sweep.configs import VOCABULARY, Row, config_of

TOKENS = 11  # a prime, and unlike every size in a config, so that shapes tell axes apart
TARGET_TOKENS = 5
GAINS = (1.0, 1.3, 1.8, 2.5, 3.5, 5.0)  # how much longer a matrix makes a vector
HOT = 0.15  # largest difference of a weight from an even spread, in some head of every block


class Trial(NamedTuple):
    """A model to capture, its double with plain attention, and what was seen of the double."""

    model: nn.Module
    plain: nn.Module
    inputs: dict[str, Tensor]
    run: oracle.Run


def build(row: Row) -> Trial:
    """The model of a row, with the smallest gain that makes every block of its attention hot."""
    for gain in GAINS:
        model, plain = models(row, gain)
        given = inputs(row, model)
        run = oracle.observe(plain, given, options(plain))
        if run.heat() >= HOT:
            break
    return Trial(model, plain, given, run)


def models(row: Row, gain: float) -> tuple[nn.Module, nn.Module]:
    """(the model as its class builds it, its double with plain attention), the same numbers."""
    import transformers

    cls = getattr(transformers, row.name)
    config = config_of(row)
    plain_config = copy.deepcopy(config)
    plain_config._attn_implementation = "eager"
    torch.manual_seed(0)
    model = cls(config)
    heat(model, gain)
    torch.manual_seed(0)
    plain = cls(plain_config)
    plain.load_state_dict(model.state_dict())
    for (name, buffer), (other, own) in zip(
        model.named_buffers(), plain.named_buffers(), strict=True
    ):
        assert name == other
        own.copy_(buffer)
    return model, plain.eval()


def inputs(row: Row, model: Any) -> dict[str, Tensor]:
    """The ids of the sweep: 11 of them, and 5 for the decoder of an encoder-decoder."""
    generator = torch.Generator().manual_seed(1)
    given = {"input_ids": torch.randint(5, 80, (1, TOKENS), generator=generator)}
    if model.config.is_encoder_decoder and row.task != "CAUSAL_LM":
        target = torch.randint(5, 80, (1, TARGET_TOKENS), generator=generator)
        given["decoder_input_ids"] = target
    return given


def options(model: Any) -> dict[str, Any]:
    """What a run of the sweep asks of a forward that has the choice."""
    wanted = {"use_cache": False, "return_dict": True}
    return {name: value for name, value in wanted.items() if name in arguments(model)}


def arguments(model: Any) -> set[str]:
    """The names that a model's forward takes."""
    return set(inspect.signature(model.forward).parameters)


def heat(model: nn.Module, gain: float, seed: int = 7) -> None:
    """Give every floating-point parameter a new value: matrices normal, large for their width;
    scales of norms near 1; biases small; the rest near where its class put it."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                if parameter.is_floating_point() and parameter.numel():
                    noise = torch.randn(parameter.shape, generator=generator)
                    parameter.copy_(_hot(module, name, parameter, noise, gain))


def _hot(module: nn.Module, name: str, parameter: Tensor, noise: Tensor, gain: float) -> Tensor:
    if isinstance(module, nn.Embedding):
        return (1.5 if len(parameter) == VOCABULARY else 0.7) * noise  # words above all
    if parameter.squeeze().ndim >= 2:
        return noise * gain / math.sqrt(_inputs(module, parameter))
    if "norm" in type(module).__name__.lower() and name == "weight":
        return 1 + 0.2 * noise
    if "sink" in name:
        return noise
    if name == "temp":  # ZAYA's scale of keys: at the 0 it begins with, every row is even
        return 2 + 0.2 * noise
    if "bias" in name:
        return 0.2 * noise
    own = torch.nan_to_num(parameter.float())
    return own + 0.2 * noise


def _inputs(module: nn.Module, parameter: Tensor) -> int:
    """How many numbers each output of a weight sums over."""
    if isinstance(module, nn.Linear) or "Conv1D" == type(module).__name__:
        return parameter.shape[0] if "Conv1D" == type(module).__name__ else parameter.shape[1]
    if isinstance(module, nn.Conv1d | nn.Conv2d | nn.Conv3d):
        return math.prod(parameter.shape[1:])
    return max(parameter.shape[-2:])
