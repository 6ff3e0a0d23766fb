"""Arguments: one call of an attention function, as the model makes it."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attnviz.errors import UnsupportedModel

READ = {"scaling", "softcap", "sliding_window", "s_aux", "sinks", "position_bias", "is_causal"}
"""Arguments of an attention call that change its result, and that are read from the call."""
HARMLESS = {"dropout", "position_ids", "use_cache", "cache_position", "return_dict"}
"""Arguments that are passed along and change nothing: dropout is 0 in evaluation mode."""


@dataclass(frozen=True, eq=False)
class Arguments:
    """query (batch, head, query, d_k), key and value (batch, kv_head, key, d); `plain` attention
    hides nothing by itself, the fast kernel may hide the future."""

    module: nn.Module
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    kwargs: dict[str, Any]
    plain: bool

    @property
    def causal(self) -> bool:
        """transformers' own rule for the fast kernel where no mask is passed."""
        if self.plain or self.mask is not None or self.query.shape[2] < 2:
            return False
        named = self.kwargs.get("is_causal")
        return bool(getattr(self.module, "is_causal", True) if named is None else named)

    def mask_without(self, hidden: Tensor) -> Tensor:
        """The call's mask with more hidden: (batch, 1, query, key) bool, True where hidden."""
        if self.mask is not None and self.mask.dtype != torch.bool:
            return self.mask.masked_fill(hidden, torch.finfo(self.mask.dtype).min)
        allowed = ~hidden if self.mask is None else self.mask & ~hidden
        if self.causal:
            allowed = allowed.tril()
        if not self.plain:
            return allowed
        lowest = torch.finfo(self.query.dtype).min
        return torch.zeros_like(allowed, dtype=self.query.dtype).masked_fill(~allowed, lowest)

    def refuse_unknown(self, name: str) -> None:
        """Raise UnsupportedModel where an argument is not accounted for."""
        known = READ | HARMLESS | {key for key in self.kwargs if key.startswith("output_")}
        unknown = [
            key for key, value in self.kwargs.items() if value is not None and key not in known
        ]
        if unknown:
            raise UnsupportedModel(
                what=f"The attention call of {name} has arguments that attnviz does not know: "
                f"{', '.join(unknown)}.",
                why="An argument that is not accounted for may change the weights.",
                todo="Report the architecture, so that it can be added.",
            )
