"""Direct logit attribution: what each part of the residual stream adds to one token's logit.

A pre-norm decoder adds all it does, embeddings, heads, feed-forward layers, to one stream x, and
reads the logit of token t off it as norm(x) . u_t + b_t, with u_t the token's row of the
unembedding. The norm divides by a scale of x itself. With that scale frozen at its value of this
run the rest is linear, and each part has its share of the logit: the straight way, which leaves
out what later layers make of the part, and how the part changes the scale. Elhage et al. 2021, "A
Mathematical Framework for Transformer Circuits", on direct paths.

Nothing is taken on the name of a module or an architecture: the parts are found by watching what
is added to what, and are told apart from what only looks like them by adding up to the logit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnviz.capture.block import Block, numpy
from attnviz.capture.projected import plain_name
from attnviz.errors import UnsupportedModel
from attnviz.heads.softmax import Array
from attnviz.interventions.shortcut import layer_outputs, layers_of
from attnviz.models.placement import is_spread

if TYPE_CHECKING:
    from attnviz.capture.result import Capture
    from attnviz.heads.head import Head
    from attnviz.models import LoadedModel

Vector = NDArray[np.float64]
AGREES = 1e-4  # of float32 vectors that are the same, as a part of the largest


@dataclass(frozen=True, eq=False)
class DirectPath:
    """The straight way from the residual stream at the last position to one token's logit.

    Attributes:
        token_id: whose logit.
        logit: the model's own, unit-less.
        norm: "layer norm", "RMS norm" or "no norm": what stands before the unembedding.
        scale: what the norm divided by in this run, more than 0; it is frozen there.
        direction: (d_model,) what a vector on the stream adds to the logit is its product with it.
        constant: what comes from no part: the biases of the norm and of the unembedding.
        parts: (part, d_model) what was added up to the stream, the embeddings first.
    """

    token_id: int
    logit: float
    norm: str
    scale: float
    direction: Vector
    constant: float
    parts: Vector

    @property
    def total(self) -> float:
        """The attributions of all the parts, and the constant, added up: the logit again."""
        return float((self.parts @ self.direction).sum() + self.constant)

    def of_keys(self, head: "Head", query: int) -> Array:
        """(key,) what each key adds to the logit through the head's slice of W_O, signed: the
        attributions of a head's keys add up to that of the head."""
        assert head.v is not None and head.w_o is not None
        return np.asarray(head.weights[query] * (head.v @ (head.w_o @ self.direction)), np.float32)


def direct_path(
    model: "LoadedModel", capture: "Capture", token_id: int | None = None
) -> DirectPath:
    """The straight way to a token's logit at the last position, the likeliest token by default.

    Raises:
        UnsupportedModel: it cannot be found, or the parts do not add up to the logit.

    >>> import attnviz
    >>> model = attnviz.load("planted-circuit")
    >>> path = direct_path(model, attnviz.capture(model, "red fox ran home red fox"))
    >>> abs(path.total - path.logit) < 1e-3
    True
    """
    unembedding = model.hf.get_output_embeddings()
    layers = layers_of(model.hf, capture)
    if capture.info.kind != "decoder" or unembedding is None or capture.logits is None:
        raise _left_out(
            "The logits of this model are not read off the residual stream of a decoder."
        )
    if is_spread(model.hf):
        raise _left_out("The model is spread over devices, so its last layer cannot be run apart.")
    if layers is None:
        raise _left_out(
            "The layers of this model are not one list, so its stream cannot be followed."
        )
    parts = _parts(model.hf, capture, layers, unembedding.weight.shape[1])
    logits = capture.logits[-1].astype(np.float64)
    token_id = int(logits.argmax()) if token_id is None else token_id
    row, bias = _vector(unembedding.weight[token_id]), getattr(unembedding, "bias", None)
    found = _final_norm(model.hf, capture, layers, parts.sum(axis=0), unembedding)
    own = 0.0 if bias is None else float(bias[token_id].detach())
    return DirectPath(
        token_id=token_id,
        logit=float(logits[token_id]),
        norm=found.name,
        scale=found.scale,
        direction=found.back(row),
        constant=float(found.bias @ row) + own,
        parts=parts,
    )


def refuse_indirect(path: DirectPath, block: Block) -> None:
    """Raise UnsupportedModel where what a block puts out is no part of the stream as it is."""
    heads = [block.head(head, [block.queries - 1]) for head in range(block.heads)]
    if any(head.w_o is None or head.v is None for head in heads):
        raise _left_out(block.between or "The values or the output projection are out of reach.")
    output = sum(head.output[0] @ head.w_o for head in heads)  # (d_model,)
    if heads[0].w_o_bias is not None:
        output = output + heads[0].w_o_bias
    if not any(_same(part, np.asarray(output, np.float64)) for part in path.parts):
        raise _left_out(
            "What the attention block puts out is scaled or normed before it is added to the "
            "residual stream."
        )


@dataclass(frozen=True, eq=False)
class _Norm:
    """gain * (x - mean, where centred) / scale + bias."""

    name: str
    gain: Vector
    centred: bool
    scale: float
    bias: Vector

    def back(self, row: Vector) -> Vector:
        """The direction before the norm that is `row` after it."""
        scaled = self.gain * row / self.scale
        return scaled - scaled.mean() if self.centred else scaled


def _final_norm(
    hf: nn.Module, capture: "Capture", layers: str, stream: Vector, unembedding: Any
) -> _Norm:
    """The norm that makes the model's own logits of the stream, with its scale frozen."""
    assert capture.logits is not None
    for norm in _candidates(hf, layers, len(stream)):
        with torch.no_grad():
            vector = torch.from_numpy(stream).to(unembedding.weight)
            normed = vector if norm is None else norm(vector[None, None])[0, 0]
            logits = _vector(unembedding(normed))
        if _same(logits, capture.logits[-1].astype(np.float64)):
            found = _freeze_norm(norm, stream, _vector(normed))
            if found is not None:
                return found
    raise _left_out(
        "No norm of this model, followed by the unembedding, makes its logits of the residual "
        "stream: they are scaled or capped afterwards, or the stream goes another way."
    )


def _candidates(hf: nn.Module, layers: str, size: int) -> Iterator[nn.Module | None]:
    """What may stand between the layers and the unembedding: the norms beside them, or none."""
    for module in hf.get_submodule(layers.rpartition(".")[0]).children():
        shapes = [tuple(parameter.shape) for parameter in module.parameters()]
        if set(shapes) <= {(size,)} and "norm" in type(module).__name__.lower():
            yield module
    yield None


def _freeze_norm(norm: nn.Module | None, x: Vector, normed: Vector) -> _Norm | None:
    """The norm as a linear map, where it is one of those known, with the scale it had here."""
    if norm is None:
        return _Norm("no norm", np.ones_like(x), False, 1.0, np.zeros_like(x))
    bias = _parameter(norm, "bias", np.zeros_like(x))
    weight = _parameter(norm, "weight", np.ones_like(x))
    for centred, name in ((False, "RMS norm"), (True, "layer norm")):
        moved = x - x.mean() if centred else x
        for gain in (weight, 1 + weight):  # Gemma's gain is 1 where its weight is 0
            gained, target = gain * moved, normed - bias
            along = float(gained @ target)
            if along > 0:
                scale = float(gained @ gained) / along
                if _same(gained / scale, target):
                    return _Norm(name, gain, centred, scale, bias)
    return None


def _parts(hf: nn.Module, capture: "Capture", layers: str, size: int) -> Vector:
    """(part, d_model): what was added up to the last layer's output at the last position."""
    with _Sums(size) as sums:
        last = layer_outputs(hf, capture, layers)[-1]
    stream = last if isinstance(last, Tensor) else last[0]
    return np.stack([_vector(part) for part in sums.parts(_last_row(stream, size))])


class _Sums(TorchFunctionMode):
    """Keeps the last row of whatever is added to one another, where it may be of the stream."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._sums: list[tuple[Tensor, Tensor, Tensor]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if kwargs or len(args) != 2 or plain_name(func) != "add" or not self._fit(*args):
            return func(*args, **kwargs)
        one, other = (_last_row(side, self._size) for side in args)  # before one is written over
        result = func(*args)
        self._sums.append((_last_row(result, self._size), one, other))
        return result

    def _fit(self, one: Any, other: Any) -> bool:
        both = isinstance(one, Tensor) and isinstance(other, Tensor)
        return (
            both and one.shape == other.shape and one.ndim in (2, 3) and one.shape[-1] == self._size
        )

    def parts(self, row: Tensor, before: int | None = None) -> list[Tensor]:
        """The rows that were added up to this one. A row is known by its numbers."""
        for number in reversed(range(len(self._sums) if before is None else before)):
            whole, one, other = self._sums[number]
            if torch.equal(whole, row):
                return self.parts(one, number) + self.parts(other, number)
        return [row]


def _last_row(tensor: Tensor, size: int) -> Tensor:
    return tensor.detach().reshape(-1, size)[-1].clone()


def _parameter(module: nn.Module, name: str, otherwise: Vector) -> Vector:
    found = getattr(module, name, None)
    return otherwise if found is None else _vector(found)


def _vector(tensor: Tensor) -> Vector:
    return numpy(tensor).astype(np.float64)


def _same(one: Vector, other: Vector) -> bool:
    return bool(np.abs(one - other).max() <= AGREES * np.abs(other).max())


def _left_out(why: str) -> UnsupportedModel:
    return UnsupportedModel(
        what="Direct logit attribution is left out.",
        why=why,
        todo="Compare with the other measures.",
    )
