"""Expression: how a score came about, as watched, from the product to what softmax received."""

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from attnviz.capture.recording import is_masked

BIAS = "position bias"
CONTENT_TO_POSITION = "content to position"
POSITION_TO_CONTENT = "position to content"


@dataclass(frozen=True, eq=False)
class Expression:
    """A score as terms: products of queries and keys, biases added to them, a cap, a mask.

    Shapes are as the model has them, (..., query, key), with any axes for batch and head.
    """

    products: tuple[tuple[Tensor, Tensor, float], ...]  # q (..., query, d), k (..., key, d), factor
    biases: tuple[tuple[str, Tensor], ...] = ()  # (what it is, (..., query, key))
    inner: "Expression | None" = None  # what tanh was taken of
    outer: float = 1.0  # the factor on that tanh
    masks: tuple[Tensor, ...] = field(default=())  # True where allowed

    def times(self, factor: float) -> "Expression":
        return replace(
            self,
            products=tuple((q, k, scale * factor) for q, k, scale in self.products),
            biases=tuple((name, bias * factor) for name, bias in self.biases),
            outer=self.outer * factor,
        )

    def plus(self, bias: Tensor) -> "Expression":
        """With a tensor added: a bias, a mask of very low numbers, or both at once."""
        away = is_masked(bias)
        kept = torch.where(away, 0, bias) if bool(away.any()) else bias
        return replace(
            self,
            biases=(*self.biases, (BIAS, kept)) if bool(kept.any()) else self.biases,
            masks=(*self.masks, ~away) if bool(away.any()) else self.masks,
        )

    def gather(self, result: Tensor) -> "Expression":
        """A product looked up by relative position (DeBERTa): from here on a term of its own."""
        return Expression(products=(), biases=((CONTENT_TO_POSITION, result),))

    def transpose(self) -> "Expression | None":
        """A term of keys by queries, turned to queries by keys."""
        if self.products or self.inner or self.masks:
            return None
        turned = {
            CONTENT_TO_POSITION: POSITION_TO_CONTENT,
            POSITION_TO_CONTENT: CONTENT_TO_POSITION,
        }
        return replace(self, biases=tuple((turned.get(n, n), b.mT) for n, b in self.biases))

    def join(self, other: "Expression") -> "Expression | None":
        if self.inner or other.inner:
            return None
        return replace(
            self,
            products=self.products + other.products,
            biases=self.biases + other.biases,
            masks=self.masks + other.masks,
        )

    def mask(self, allowed: Tensor) -> "Expression":
        return replace(self, masks=(*self.masks, allowed))

    def tanh(self) -> "Expression | None":
        if self.inner or self.masks:
            return None
        return Expression(products=(), inner=self)

    @property
    def softcap(self) -> float | None:
        return self.outer if self.inner else None

    @property
    def core(self) -> "Expression":
        """The product before any cap, with its whole factor."""
        return self.inner.times(self.outer) if self.inner else self


def arrange(tensor: Tensor, names: str, wanted: str) -> Tensor:
    """A tensor with named axes in another order; axes it lacks have size 1."""
    missing = [name for name in wanted if name not in names]
    tensor = tensor.reshape(*tensor.shape, *[1] * len(missing))
    names = names + "".join(missing)
    return tensor.permute(*(names.index(name) for name in wanted))


def as_tensor(value: Any, like: Tensor) -> Tensor:
    return value if isinstance(value, Tensor) else like.new_tensor(value)


def as_number(value: Any) -> float | None:
    if isinstance(value, Tensor):
        return float(value) if value.numel() == 1 else None
    return float(value) if isinstance(value, int | float) else None


def is_mask_value(value: Any, dtype: torch.dtype) -> bool:
    """Whether it is one number, and one that means "masked"."""
    number = as_number(value)
    return number is not None and bool(is_masked(torch.tensor(number, dtype=dtype)))
