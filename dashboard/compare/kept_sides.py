"""What is kept of a comparison where the process has room for one model only.

Two models would push one another out at every click. What is drawn of each is small: the shape of
a capture, one head, some numbers. The store lays it aside, within its bound in bytes.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dashboard.session import backend

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.heads.head import Head
    from attnviz.tokens import Token

Made = TypeVar("Made")


def kept(
    key: Hashable, make: Callable[[], Made], own: Callable[[Made], Made] = lambda made: made
) -> Made:
    """What `make` gives, or gave before under this key, a name and not an object. None is not
    kept, nor is anything where two models fit. own: makes it stand alone before it is kept."""
    if backend.HOST.max_models > 1:
        return make()
    found: Made = backend.store().cached(key, make, own, backend.reader())
    return found


@dataclass(frozen=True)
class Outline:
    """The shape of a capture, which answers as the capture does, and what is to be known of it.

    Attributes:
        stacks: as of a capture.
        sizes: {stack: {layer: heads}}.
        tokens: {stack: (query tokens, key tokens)}.
        notes: what a reader should know of how the text was read.
    """

    stacks: list[str]
    sizes: dict[str, dict[int, int]]
    tokens: "dict[str, tuple[list[Token], list[Token]]]"
    notes: list[str]

    @classmethod
    def of(cls, capture: "Capture", notes: list[str]) -> "Outline":
        stacks = capture.stacks
        sizes = {s: {la: capture.heads(la, s) for la in capture.layers(s)} for s in stacks}
        tokens = {s: (capture.query_tokens(s), capture.key_tokens(s)) for s in stacks}
        return cls(stacks, sizes, tokens, notes)

    def layers(self, stack: str | None = None) -> list[int]:
        return list(self.sizes[self._stack(stack)])

    def heads(self, layer: int, stack: str | None = None) -> int:
        return self.sizes[self._stack(stack)][layer]

    def query_tokens(self, stack: str | None = None) -> "list[Token]":
        return self.tokens[self._stack(stack)][0]

    def key_tokens(self, stack: str | None = None) -> "list[Token]":
        return self.tokens[self._stack(stack)][1]

    def _stack(self, stack: str | None) -> str:
        return stack or ("decoder" if "decoder" in self.stacks else self.stacks[0])


def alone(head: "Head") -> "Head":
    """A head whose arrays are its own: nothing else of its capture stays alive with it."""
    names = (
        "q",
        "k",
        "v",
        "w_o",
        "w_o_bias",
        "allowed",
        "padding",
        "removed",
        "replaced",
        "instead",
    )
    own: dict[str, Any] = {
        name: np.array(getattr(head, name)) for name in names if getattr(head, name) is not None
    }
    for name in ("biases", "given"):
        if arrays := getattr(head, name):
            own[name] = {key: np.array(array) for key, array in arrays.items()}
    return replace(head, **own)
