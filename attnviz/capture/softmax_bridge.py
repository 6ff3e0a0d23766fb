"""Recorder 2: the softmax bridge, for models whose attention does not go through the registry.

A function mode watches the forward pass. Softmax's input is the score and its output the weight;
what led to the input (product, scale, bias, mask) is followed operation by operation, so that
the stages before softmax can be shown as for any other model. Whatever cannot be followed is kept
as the plain score matrix. A softmax counts as attention when its output goes on to mix values.
"""

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnviz.capture.block import Block
from attnviz.capture.expression import Expression, arrange, as_number, as_tensor, is_mask_value
from attnviz.capture.projected import plain_name
from attnviz.capture.recording import Recording, refuse_pieces, split_mask
from attnviz.capture.watched import Softmax
from attnviz.errors import UnsupportedModel

ALIASES = {
    "view", "reshape", "contiguous", "to", "float", "half", "bfloat16", "double", "type", "type_as",
    "clone", "dropout", "unsqueeze", "squeeze", "expand", "detach", "flatten", "unflatten",
}  # fmt: skip
"""Operations whose result holds the same numbers, in evaluation mode."""


class Bridge(Recording):
    """Watches softmax, what leads to it, and what its output goes into."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._scores: dict[int, tuple[Tensor, Expression]] = {}
        self._factors: dict[int, tuple[Tensor, Tensor, float]] = {}  # result, source, factor
        self._weights: dict[int, tuple[Tensor, Softmax]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is nn.functional.scaled_dot_product_attention:
            result = func(*args, **kwargs)
            return self._fast(result, *args, **kwargs)
        result = super().__torch_function__(func, types, args, kwargs)
        rule = _RULES.get(plain_name(func))
        if rule is not None and isinstance(result, Tensor):
            changed = rule(self, result, args, kwargs)
            return result if changed is None else changed
        return result

    # -- the fast kernel, called outside the registry

    def _fast(
        self,
        result: Tensor,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        stack, layer, name = self._locator.locate(self._module())
        if query.ndim != 4 or len(query) != 1:
            raise refuse_pieces(name)
        allowed, bias = (None, None) if attn_mask is None else split_mask(attn_mask, key.shape[2])
        block = Block(
            stack=stack,
            layer=layer,
            module=name,
            q=query[0],
            k=key[0],
            v=value[0],
            scaling=scale,
            biases={} if bias is None else {"position bias": bias},
            mask=allowed,
            causal=is_causal,
        )
        return self._finish_mix(block, result[0].transpose(0, 1)).transpose(0, 1)[None]

    # -- following a score

    def product(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> Tensor | None:
        """matmul, bmm: either a score in the making, or weights mixing values."""
        left, right = args[0], args[1] if len(args) > 1 else kwargs.get("other", kwargs.get("mat2"))
        if id(left) in self._weights and isinstance(right, Tensor):
            return self._take(left, right, result)
        if isinstance(right, Tensor) and left.ndim >= 3 and right.ndim >= 3:
            self._score(result, left, right.transpose(-1, -2))
        return None

    def add_product(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> None:
        """baddbmm: beta * bias + alpha * product, as BLOOM adds its slopes."""
        names = ("input", "batch1", "batch2")
        bias, left, right = (*args, *(kwargs[n] for n in names[len(args) :]))[:3]
        self._score(result, left, right.transpose(-1, -2))
        expression = self._scores[id(result)][1].times(float(kwargs.get("alpha", 1)))
        beta = float(kwargs.get("beta", 1))
        self._keep(result, expression.plus(bias * beta) if beta else expression)

    def einsum(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> Tensor | None:
        if not isinstance(args[0], str) or len(args) != 3:
            return None
        equation, left, right = args
        names = equation.replace(" ", "")
        if "." in names or "->" not in names:
            return None
        (first, second), out = names.split("->")[0].split(","), names.split("->")[1]
        if id(left) in self._weights:
            return self._einsum_mixed((first, second, out), left, right, result)
        if len(out) < 3 or out[-2] not in first or out[-1] not in second:
            return None
        batch, summed = out[:-2], "".join(c for c in first if c in second and c not in out)
        rows, columns = batch + out[-2] + summed, batch + out[-1] + summed
        if len(summed) == 1 and set(first) <= set(rows) and set(second) <= set(columns):
            self._score(result, arrange(left, first, rows), arrange(right, second, columns))
        return None

    def add(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> None:
        self._sum(result, args[0], args[1], float(kwargs.get("alpha", 1)))

    def subtract(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> None:
        self._sum(result, args[0], args[1], -float(kwargs.get("alpha", 1)))

    def multiply(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> None:
        left, right = args[0], args[1]
        if as_number(left) is not None:
            left, right = right, left
        self._scale(result, left, as_number(right))

    def divide(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> None:
        number = as_number(args[1])
        self._scale(result, args[0], 1 / number if number else None)

    def tanh(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> None:
        self._follow(result, args[0], Expression.tanh)

    def fill(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> None:
        """masked_fill: where the mask is True, a very low number takes the score's place."""
        mask = args[1] if len(args) > 1 else kwargs["mask"]
        value = args[2] if len(args) > 2 else kwargs["value"]
        if is_mask_value(value, result.dtype):
            self._follow(result, args[0], lambda score: score.mask(~mask.bool()))

    def choose(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> None:
        """where(mask, score, very low number), or the other way round."""
        if len(args) < 3:
            return
        mask, one, other = args
        if isinstance(other, Tensor) and id(other) in self._scores:
            one, other, mask = other, one, ~mask.bool()
        if is_mask_value(other, result.dtype):
            self._follow(result, one, lambda score: score.mask(mask.bool()))

    def gather(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> None:
        self._follow(result, args[0], lambda product: product.gather(result))

    def transpose(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> None:
        if set(args[1:]) in ({-1, -2}, {args[0].ndim - 1, args[0].ndim - 2}):
            self._follow(result, args[0], Expression.transpose)

    def clamp(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> None:
        """max or clamp against the lowest number changes no score that counts."""
        floor = args[1] if len(args) > 1 else kwargs.get("min", kwargs.get("other"))
        if is_mask_value(floor, result.dtype):
            self._follow(result, args[0], lambda score: score)

    def alias(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> None:
        source = args[0]
        if id(source) in self._weights:
            self._weights[id(result)] = (result, self._weights[id(source)][1])
        elif id(source) in self._scores and result.shape[-2:] == source.shape[-2:]:
            self._follow(result, source, lambda score: score)

    def _score(self, result: Tensor, q: Tensor, k: Tensor) -> None:
        factor = 1.0
        for side, tensor in enumerate((q, k)):
            scaled = self._factors.get(tensor.data_ptr())
            if scaled is not None and scaled[0].shape in (tensor.shape, tensor.mT.shape):
                source = scaled[1] if scaled[1].shape == tensor.shape else scaled[1].mT
                q, k = (source, k) if side == 0 else (q, source)
                factor *= scaled[2]
        self._keep(result, Expression(products=((q, k, factor),)))

    def _sum(self, result: Tensor, left: Any, right: Any, sign: float) -> None:
        first, second = (self._scores.get(id(side)) for side in (left, right))
        if first and second:
            joined = first[1].join(second[1].times(sign))
            if joined is not None:
                self._keep(result, joined)
        elif first:
            self._keep(result, first[1].plus(as_tensor(right, result) * sign))
        elif second:
            self._keep(result, second[1].times(sign).plus(as_tensor(left, result)))

    def _scale(self, result: Tensor, source: Any, factor: float | None) -> None:
        if factor is None or not isinstance(source, Tensor):
            return
        if id(source) in self._scores:
            self._follow(result, source, lambda score: score.times(factor))
        elif source.ndim >= 3:
            self._factors[result.data_ptr()] = (result, source, factor)

    def _follow(
        self, result: Tensor, source: Any, step: Callable[[Expression], Expression | None]
    ) -> None:
        found = self._scores.get(id(source))
        expression = step(found[1]) if found else None
        if expression is not None:
            self._keep(result, expression)

    def _keep(self, result: Tensor, expression: Expression) -> None:
        self._scores[id(result)] = (result, expression)

    # -- softmax, and what its output goes into

    def softmax(self, result: Tensor, args: Any, kwargs: dict[str, Any]) -> None:
        dim = args[1] if len(args) > 1 else kwargs.get("dim")
        scores = args[0] if args else kwargs["input"]
        if result.ndim < 3 or dim not in (-1, result.ndim - 1):
            return
        found = self._scores.get(id(scores))
        watched = Softmax(scores, result, found[1] if found else None, self._module())
        self._weights = {id(result): (result, watched)}
        self._scores.clear()
        self._factors.clear()

    def _einsum_mixed(
        self, names: tuple[str, str, str], left: Tensor, values: Tensor, result: Tensor
    ) -> Tensor | None:
        first, second, out = names
        summed, features = first[-1], [c for c in second if c not in first]
        if summed not in second or len(features) != 1 or first[-2] not in out:
            return None
        batch, mixed = first[:-2], first[:-1] + features[0]
        if set(out) != set(mixed):
            return None
        v = arrange(values, second, batch + summed + features[0])
        changed = self._take(left, v, arrange(result, out, mixed))
        return None if changed is None else arrange(changed, mixed, out)

    def _take(self, weights: Tensor, values: Tensor, mixed: Tensor) -> Tensor | None:
        """Weights mix values: take the block in. Gives what the interventions make of the mix."""
        watched = self._weights[id(weights)][1]
        stack, layer, name = self._locator.locate(watched.module)
        self._weights.clear()
        block = watched.block(stack, layer, name, values)
        if not torch.equal(weights.reshape(-1), watched.weights.to(weights.dtype).reshape(-1)):
            raise UnsupportedModel(
                what=f"{name} changes its weights between softmax and the values.",
                why="What softmax puts out is not what the values are mixed with.",
                todo="Report the architecture; nothing is shown rather than something wrong.",
            )
        heads = mixed.reshape(block.heads, block.queries, mixed.shape[-1]).transpose(0, 1)
        changed = self._finish_mix(block, heads)
        return None if changed is heads else changed.transpose(0, 1).reshape(mixed.shape)

    def _finish_mix(self, block: Block, mixed: Tensor) -> Tensor:
        block.interventions = self._interventions_at((block.stack, block.layer, block.module))
        if block.interventions:
            mixed = block.apply_interventions(mixed)
        return self.open_call(block, mixed)

    def _module(self) -> nn.Module:
        """The module whose forward is running: the nearest caller that is not a plain layer."""
        frame = sys._getframe(2)
        while frame is not None:
            owner = frame.f_locals.get("self")
            if isinstance(owner, nn.Module) and not type(owner).__module__.startswith("torch."):
                if self._locator.knows(owner) and any(owner.children()):
                    return owner
            frame = frame.f_back  # type: ignore[assignment]
        raise UnsupportedModel(
            what="Attention ran outside the model's own modules.",
            why="Its layer cannot be named.",
            todo="Report the architecture.",
        )


_RULES: dict[str, Callable[[Bridge, Tensor, Any, dict[str, Any]], Tensor | None]] = {
    "matmul": Bridge.product,
    "bmm": Bridge.product,
    "baddbmm": Bridge.add_product,
    "einsum": Bridge.einsum,
    "add": Bridge.add,
    "sub": Bridge.subtract,
    "mul": Bridge.multiply,
    "div": Bridge.divide,
    "tanh": Bridge.tanh,
    "masked_fill": Bridge.fill,
    "where": Bridge.choose,
    "gather": Bridge.gather,
    "transpose": Bridge.transpose,
    "max": Bridge.clamp,
    "clamp": Bridge.clamp,
    "softmax": Bridge.softmax,
    **dict.fromkeys(ALIASES, Bridge.alias),
}
