"""Capture: everything that one forward pass gave, from which every picture is computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz.capture.block import Block
from attnviz.capture.expected import ranges
from attnviz.capture.receipt import Receipt
from attnviz.errors import BadInput
from attnviz.heads.head import Head
from attnviz.heads.softmax import Array, Mask

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.heads.intervention import Intervention
    from attnviz.models import ModelInfo
    from attnviz.tokens import Token


@dataclass(frozen=True, eq=False)
class Capture:
    """Query, key and value of every attention block on one text, checked.

    Attributes:
        blocks: every attention block that ran, in the model's order.
        tokens: {"decoder" | "encoder": the tokens of that side}.
        receipt: what was checked, and how closely it came out.
        notes: what a reader should know: text dropped, text cut, a target generated.
        logits: (position, vocabulary) float32 of the positions kept, unit-less: a decoder's last,
            an encoder's masked ones; None where the model has no language-modelling head.
        logit_positions: the places in the text that `logits` are of.
        states: (position, d_model) float32, the last hidden states of a model without such a
            head; else None.
        info: the model's `ModelInfo`.
        forward: what the model was called with.
        asked: what `attnviz.capture` was asked for: the text and the options that are not at
            their defaults, or ids; a capture with them is the same again.
        interventions: the interventions that it was run with, in order; none for most.
    """

    blocks: list[Block]
    tokens: Mapping[str, list["Token"]]
    receipt: Receipt
    info: "ModelInfo"
    padding: Mapping[str, Mask] = field(default_factory=dict)
    notes: Sequence[str] = ()
    logits: Array | None = None
    logit_positions: Sequence[int] = ()
    states: Array | None = None
    forward: Mapping[str, "Tensor"] = field(default_factory=dict)
    likeliest: Sequence[tuple["Token", float]] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)
    interventions: Sequence["Intervention"] = ()

    @property
    def stacks(self) -> list[str]:
        """The stacks that have attention, in the model's order: "encoder", "decoder", "cross"."""
        return list(dict.fromkeys(block.stack for block in self.blocks))

    def layers(self, stack: str | None = None) -> list[int]:
        """The layers of a stack that have softmax attention, by the model's own numbers."""
        stack = self._stack(stack)
        return sorted(block.layer for block in self.blocks if block.stack == stack)

    def block(self, layer: int, stack: str | None = None) -> Block:
        """One attention block.

        Raises:
            BadInput: there is no such stack, or no attention in that layer.
        """
        stack = self._stack(stack)
        for block in self.blocks:
            if (block.stack, block.layer) == (stack, layer):
                return block
        raise BadInput(
            what=f"Layer {layer} of the {stack} has no attention.",
            why=f"Layers with attention, counted from 0: {ranges(self.layers(stack))}.",
            todo="Choose one of these.",
        )

    def heads(self, layer: int, stack: str | None = None) -> int:
        """How many query heads a layer has."""
        return self.block(layer, stack).heads

    def query_tokens(self, stack: str | None = None) -> list["Token"]:
        """The tokens of the rows of a stack's matrices."""
        return self.tokens[self._side(stack, "decoder")]

    def key_tokens(self, stack: str | None = None) -> list["Token"]:
        """The tokens of the columns of a stack's matrices."""
        return self.tokens[self._side(stack, "encoder")]

    def query_padding(self, stack: str | None = None) -> Mask:
        """(query,) bool: True where a row of a stack's matrices is padding."""
        side = self._side(stack, "decoder")
        return self.padding.get(side, np.zeros(len(self.tokens[side]), bool))

    def logit_row(self, stack: str | None = None) -> int | None:
        """The row of a stack that the last logits kept are read from: a decoder's last, an
        encoder's last mask. None where logits are of no row of this stack, or there are none."""
        of_other_side = self.info.kind == "encoder-decoder" and self._stack(stack) == "encoder"
        if not len(self.logit_positions) or of_other_side:
            return None
        return int(self.logit_positions[-1])

    def head(self, layer: int, head: int, stack: str | None = None) -> Head:
        """One head: its scores, mask, weights and contributions, computed now.

        Args:
            layer, head: counted from 0, the model's own numbers.
            stack: "decoder", "encoder" or "cross"; the decoder by default, or the only stack.

        Raises:
            BadInput: there is no such stack, layer or head.
        """
        block = self.block(layer, stack)
        if not 0 <= head < block.heads:
            raise BadInput(
                what=f"There is no head {head} in layer {layer}.",
                why=f"The layer has {block.heads} heads, counted from 0.",
                todo=f"Choose one from 0 to {block.heads - 1}.",
            )
        return block.head(
            head,
            padding=self.padding.get(self._side(block.stack, "encoder")),
            query_tokens=self.query_tokens(block.stack),
            key_tokens=self.key_tokens(block.stack),
            model=self.info.name,
            dtype=self.info.dtype,
        )

    def top_tokens(self, count: int = 5) -> list[tuple["Token", float]]:
        """The likeliest next tokens after the text, with their probabilities, 0 to 1; at most 10,
        and none for a model that does not continue a text."""
        return list(self.likeliest[:count])

    @property
    def nbytes(self) -> int:
        """Bytes held, each piece of memory counted once; the model's parameters are not counted."""
        storages = {}
        for block in self.blocks:
            for tensor in block.tensors():
                storage = tensor.untyped_storage()
                storages[storage.data_ptr()] = storage.nbytes()
        outputs = [array.nbytes for array in (self.logits, self.states) if array is not None]
        return sum(storages.values()) + sum(outputs)

    def _side(self, stack: str | None, of_cross: str) -> str:
        """The side whose tokens a stack's rows or columns are: queries of cross-attention are the
        decoder's, keys the encoder's."""
        stack = self._stack(stack)
        return of_cross if stack == "cross" else stack

    def _stack(self, stack: str | None) -> str:
        stacks = self.stacks
        if stack is None:
            return "decoder" if "decoder" in stacks else stacks[0]
        if stack not in stacks:
            raise BadInput(
                what=f"This model has no {stack} attention.",
                why=f"It has: {', '.join(stacks)}.",
                todo="Choose one of these.",
            )
        return stack

    def __repr__(self) -> str:
        lengths = ", ".join(f"{len(tokens)} {side} tokens" for side, tokens in self.tokens.items())
        return f"<Capture {self.info.name}, {len(self.blocks)} blocks, {lengths}>"
