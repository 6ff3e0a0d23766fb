"""Block locator: the stack and layer of an attention module, by the model's own numbering."""

import re
from collections import Counter
from typing import Any

from torch import nn

STACKS = ("encoder", "decoder", "cross")
_CROSS = re.compile(r"cross|encoder_attn|EncDecAttention|encdec", re.IGNORECASE)


class BlockLocator:
    """Says (stack, layer, path) of each attention call, in the order of the calls.

    The layer is the number in the module's path, which is the model's own index also where some
    layers have no attention; a layer with two attentions has the indexes the modules carry. Where
    layers share modules (ALBERT), the calls are counted.
    """

    def __init__(self, hf: nn.Module, kind: str) -> None:
        self._kind = kind
        self._paths = {id(module): path for path, module in hf.named_modules()}
        self._calls: Counter[str] = Counter()
        self._taken: set[tuple[str, int]] = set()
        self._shared = _has_shared_layers(hf.config)

    def locate(self, module: nn.Module) -> tuple[str, int, str]:
        path = self._paths.get(id(module), type(module).__name__)
        stack = self._stack(module, path)
        layer = self._calls[stack] if self._shared else self._layer(module, path, stack)
        self._calls[stack] += 1
        self._taken.add((stack, layer))
        return stack, layer, path

    def knows(self, module: nn.Module) -> bool:
        return id(module) in self._paths

    def _layer(self, module: nn.Module, path: str, stack: str) -> int:
        numbers = re.findall(r"(?:^|\.)(\d+)(?:\.|$)", path)
        layer = int(numbers[0]) if numbers else 0
        own = getattr(module, "layer_idx", None)
        if (stack, layer) in self._taken and isinstance(own, int) and own >= 0:
            return own  # a layer with two attentions, which the model numbers one by one
        return layer

    def _stack(self, module: nn.Module, path: str) -> str:
        if self._kind != "encoder-decoder":
            return self._kind
        if getattr(module, "is_cross_attention", False) or _CROSS.search(
            re.split(r"\.\d+\.", path)[-1]
        ):
            return "cross"
        sides = [part for part in path.split(".") if part.endswith(("encoder", "decoder"))]
        return "encoder" if sides and sides[0].endswith("encoder") else "decoder"


def _has_shared_layers(config: Any) -> bool:
    return getattr(config, "num_hidden_groups", None) is not None
