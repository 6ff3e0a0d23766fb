"""Projected: a linear map as it is called, in the ways that model files write one."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True, eq=False)
class LinearMap:
    """One call: output = vectors @ weight.T + bias, vectors (..., position, feature)."""

    vectors: Tensor
    weight: Tensor  # (out feature, in feature)
    bias: Tensor | None
    output: Tensor
    bias_may_follow: bool = False  # written as a product, so that a bias is a step of its own


def find_linear_map(func: Any, args: Any, kwargs: dict[str, Any], result: Any) -> LinearMap | None:
    """The linear map that a torch function call is, or None."""
    if func is F.linear:
        bias = args[2] if len(args) > 2 else kwargs.get("bias")
        vectors = args[0] if args else kwargs["input"]
        weight = args[1] if len(args) > 1 else kwargs["weight"]
        return LinearMap(vectors, weight, None if bias is None else bias.detach(), result)
    if kwargs or len(args) < 2:
        return None
    if func is torch.addmm:  # GPT-2's Conv1D
        return LinearMap(args[1], args[2].T, args[0].detach(), result)
    if func is torch.einsum and len(args) == 3:
        return _einsum(args[0], args[1], args[2], result)
    if func is torch.conv1d or func is F.conv1d:
        return _conv(args, result)
    if plain_name(func) == "matmul" and args[1].ndim == 2:  # Falcon's linear layer
        return LinearMap(args[0], args[1].T, None, result, bias_may_follow=True)
    return None


def _einsum(equation: str, vectors: Tensor, weight: Tensor, result: Tensor) -> LinearMap | None:
    """XLNet's "ibnd,hnd->ibh": heads and features of a head are summed over together."""
    names = equation.replace(" ", "").replace("->", ",").split(",")
    if len(names) != 3 or len(names[1]) != 3 or names[0][-2:] != names[1][-2:]:
        return None
    if names[2] != names[0][:-2] + names[1][0]:
        return None
    return LinearMap(vectors.flatten(-2), weight.flatten(-2), None, result)


def _conv(args: Any, result: Tensor) -> LinearMap | None:
    """SqueezeBERT's convolution over one position, features before positions."""
    vectors, weight = args[0], args[1]
    if weight.shape[-1] != 1 or weight.shape[1] != vectors.shape[1]:
        return None
    bias = args[2] if len(args) > 2 and args[2] is not None else None
    return LinearMap(vectors.mT, weight[:, :, 0], bias, result.mT)


_SPELLINGS = {
    "iadd": "add", "radd": "add", "isub": "sub", "imul": "mul", "rmul": "mul", "truediv": "div",
    "itruediv": "div", "true_divide": "div", "multiply": "mul", "divide": "div", "subtract": "sub",
    "maximum": "max", "clamp_min": "clamp",
}  # fmt: skip


def plain_name(func: Any) -> str:
    """torch.Tensor.__iadd__, add_ and torch.add are one operation."""
    name = getattr(func, "__name__", "").strip("_")
    return _SPELLINGS.get(name, name)
