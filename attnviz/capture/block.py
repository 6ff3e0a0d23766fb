"""Block: one attention block of one forward pass, as recorded."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attnviz.heads.head import Head
from attnviz.heads.softmax import Array, Mask

if TYPE_CHECKING:
    from attnviz.heads.intervention import Intervention

Rows = slice | list[int]
ALL = slice(None)


@dataclass(frozen=True, eq=False)
class Projection:
    """The output projection of a block: maps the heads' outputs, side by side, to the residual."""

    weight: Tensor  # (d_model, head x d_v)
    bias: Tensor | None  # (d_model,)

    def of_head(self, head: int, size: int) -> Array:
        """(d_v, d_model): the part that one head's output goes through."""
        return numpy(self.weight[:, head * size : (head + 1) * size]).T

    def bias_array(self) -> Array | None:
        return None if self.bias is None else numpy(self.bias)


@dataclass(eq=False)
class Block:
    """One call of attention: what it was given, and the projection its output went into.

    Tensors keep the dtype the model ran in and have no batch axis. Heads of keys and values may
    be fewer than heads of queries (grouped-query attention): query head h reads key/value head
    h // (heads // kv_heads).
    """

    stack: str
    layer: int
    module: str  # the module's path in the model
    q: Tensor | None  # (head, query, d_k)
    k: Tensor | None  # (kv_head, key, d_k)
    v: Tensor | None  # (kv_head, key, d_v)
    scaling: float | None = None
    softcap: float | None = None
    window: int | None = None
    sink: Tensor | None = None  # (head,)
    biases: Mapping[str, Tensor] = field(default_factory=dict)  # each (1 | head, 1 | query, key)
    mask: Tensor | None = None  # (1 | head, 1 | query, key) bool, True where allowed
    causal: bool = False  # no mask was passed, and the kernel was told to hide the future
    given: Mapping[str, Tensor] = field(default_factory=dict)  # watched stages, (head, query, key)
    projection: Projection | None = None
    interventions: Sequence["Intervention"] = ()
    offset: int = 0  # the place of row 0 in the text, where only later rows were run
    between: str = ""  # what stands between the head output and the projection, if anything does

    @cached_property
    def heads(self) -> int:
        return len(self.q if self.q is not None else next(iter(self.given.values())))

    @property
    def kv_heads(self) -> int:
        return self.heads if self.k is None else len(self.k)

    @property
    def queries(self) -> int:
        source = self.q if self.q is not None else next(iter(self.given.values()))
        return source.shape[1]

    @property
    def keys(self) -> int:
        return next(iter(self.given.values())).shape[2] if self.k is None else self.k.shape[1]

    @property
    def scale(self) -> float | None:
        """The factor on the product; torch's own rule where the call named none."""
        if self.q is None or self.scaling is not None:
            return self.scaling
        return 1 / math.sqrt(self.q.shape[-1])

    @property
    def exposes(self) -> tuple[str, ...]:
        """The stages that this block can show, in order."""
        names = list(self.given) if self.q is None else ["dot", "scaled"]
        if self.softcap is not None:
            names.append("capped")
        if self.biases:
            names.append("biased")
        if "masked" not in names and not self.allowed(0).all():
            names.append("masked")
        return tuple(names)

    @property
    def mask_key(self) -> Hashable:
        """Blocks for which this is equal allow the same."""
        changes = tuple(map(id, self.interventions))
        mask = None if self.mask is None else id(self.mask)
        return mask, self.causal, self.queries, self.keys, changes, self.offset

    def allowed(self, head: int, rows: Rows = ALL) -> Mask:
        """(query, key) bool: False where the model lets the query not look at the key."""
        if self.mask is not None:
            one = self.mask[head if len(self.mask) > 1 else 0]
            return one.expand(self.queries, self.keys)[rows].cpu().numpy()
        of, to = np.arange(self.queries)[rows, None], np.arange(self.keys)[None, :]
        return to <= of if self.causal else np.ones((len(of), self.keys), bool)

    def head(self, head: int, rows: Rows = ALL, **labels: Any) -> Head:
        """One query head, or some of its rows; `labels` name it."""
        kv = head // (self.heads // self.kv_heads)
        v = None if self.v is None else numpy(self.v[kv if len(self.v) > 1 else 0])
        w_o = w_o_bias = None
        if self.projection is not None and v is not None:
            w_o, w_o_bias = self.projection.of_head(head, v.shape[1]), self.projection.bias_array()
        shown = Head(
            q=None if self.q is None else numpy(self.q[head][rows]),
            k=None if self.k is None else numpy(self.k[kv]),
            v=v,
            scaling=self.scale,
            softcap=self.softcap,
            window=self.window,
            biases={name: self._rows(bias, head, rows) for name, bias in self.biases.items()},
            given={name: self._rows(stage, head, rows) for name, stage in self.given.items()},
            allowed=self.allowed(head, rows),
            sink_logit=None if self.sink is None else float(self.sink[head]),
            w_o=w_o,
            w_o_bias=w_o_bias,
            layer=self.layer,
            head=head,
            stack=self.stack,
            **labels,
        )
        for intervention in self.interventions:
            if head in intervention.heads(self.heads):
                shown = intervention.apply(shown, self.offset)
        return shown

    @cached_property
    def hidden(self) -> Tensor | None:
        """(query, key) bool: keys that interventions mask, where one mask serves all heads; then
        the model's own kernel can run with that mask."""
        if not self.interventions or not all(one.hides_alike for one in self.interventions):
            return None
        shape = (self.queries, self.keys)
        hidden = [one.hidden(*shape, self.offset) for one in self.interventions]
        return torch.from_numpy(np.any(hidden, axis=0))

    def apply_interventions(self, mixed: Tensor) -> Tensor:
        """What the block puts out with its interventions: (query, head, d_v), a new tensor."""
        output = mixed.clone()  # (query, head, d_v)
        for head in sorted({h for one in self.interventions for h in one.heads(self.heads)}):
            output[:, head] = torch.tensor(self.head(head).output).to(output)
        return output

    def zero_empty_rows(self, mixed: Tensor) -> Tensor:
        """What a kernel put out under a mask with `hidden` in it, a new tensor: a row that has no
        key left puts out zeros, whatever the kernel makes of it."""
        assert self.hidden is not None
        heads = range(self.heads if self.mask is not None and len(self.mask) > 1 else 1)
        left = [(self.allowed(h) & ~self.hidden.numpy()).any(axis=1) for h in heads]
        sees = torch.from_numpy(np.stack(left, axis=1))[..., None]  # (query, 1 | head, 1)
        return torch.where(sees.to(mixed.device), mixed, 0)

    def _rows(self, tensor: Tensor, head: int, rows: Rows) -> Array:
        one = tensor[head if len(tensor) > 1 else 0].expand(self.queries, self.keys)
        return numpy(one[rows])

    def tensors(self) -> list[Tensor]:
        """Everything held for this block but the model's own parameters."""
        held = [self.q, self.k, self.v, self.mask, *self.biases.values(), *self.given.values()]
        return [tensor for tensor in held if tensor is not None]


def numpy(tensor: Tensor) -> Array:
    """A float32 numpy array of a tensor of any dtype on any device."""
    return tensor.detach().to("cpu", torch.float32).numpy()
