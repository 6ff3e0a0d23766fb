"""Recording: what one forward pass is caught doing, call by call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnviz.capture.arguments import Arguments
from attnviz.capture.block import Block, Projection, numpy
from attnviz.capture.block_locator import BlockLocator
from attnviz.capture.projected import LinearMap, find_linear_map, plain_name
from attnviz.errors import UnsupportedModel
from attnviz.heads.softmax import Array

if TYPE_CHECKING:
    from attnviz.heads.intervention import Intervention

ROWS_OF_A_SHORT_TEXT = 64
ROWS_OF_A_LONG_TEXT = 8

BETWEEN = (
    "Something changes the heads' output before the output projection, a gate or a norm, so "
    "contributions stop before it."
)


@dataclass(eq=False)
class Call:
    """A block under way: what is needed to check it is kept until the check, then let go."""

    block: Block
    rows: list[int]  # the query rows that the check recomputes
    mixed: Tensor  # (query, head, d_v): what the attention call really put out
    mixed_rows: Array | None = None  # (row, head, d_v)
    output_rows: Array | None = None  # (row, d_model): what the block put out after W_O


class Recording(TorchFunctionMode):
    """Takes in attention calls, and watches for the projection that each output goes into.

    The projection is found by watching, not by name: it is the first linear map after the call
    whose input is the call's output, element for element.
    """

    def __init__(
        self, locator: BlockLocator, interventions: Sequence["Intervention"] = (), offset: int = 0
    ) -> None:
        """`offset` is the place of the first query in the text, where earlier ones are not run."""
        super().__init__()
        self.calls: list[Call] = []
        # hears of each call once it is complete, and says whether it is kept
        self.complete: Callable[[Call], bool] = lambda call: True
        self._locator = locator
        self._interventions = interventions
        self._offset = offset
        self._open: Call | None = None  # the last call whose projection was not seen yet
        self._unbiased: tuple[Call, Tensor] | None = None  # a projection that had no bias so far
        self._masks: dict[int, tuple[Tensor, Tensor, Tensor | None]] = {}

    def attend(self, call: Arguments, run: Callable[[Tensor | None], Any]) -> Any:
        """Take in one call of an attention function, and give back its output: the call's own,
        or what the interventions make of it. `run` runs the call with a mask."""
        place = self._locator.locate(call.module)
        call.refuse_unknown(place[2])
        if call.query.shape[0] != 1 or call.key.shape[0] != 1:
            raise refuse_pieces(place[2])
        block = self.block(place, call, 0)
        block.interventions, block.offset = self._interventions_at(place), self._offset
        if block.hidden is not None:
            output = run(call.mask_without(block.hidden[None, None]))
            return self.open_call(block, block.zero_empty_rows(output[0][0]))[None], *output[1:]
        output = run(call.mask)
        if block.interventions:
            return self.open_call(block, block.apply_interventions(output[0][0]))[None], *output[1:]
        mixed = output[0][0]
        shown = self.open_call(block, mixed)
        return output if shown is mixed else (shown[None], *output[1:])

    def block(self, place: tuple[str, int, str], call: Arguments, text: int) -> Block:
        """A block of one text's part of a call."""
        kwargs, keys = call.kwargs, call.key.shape[2]
        stack, layer, name = place
        allowed, bias = self._split(call.mask, keys, text)
        biases = {} if bias is None else {"bias in the mask": bias}
        position_bias = kwargs.get("position_bias")
        if position_bias is not None and bool(position_bias.any()):  # T5's cross-attention has 0
            biases["position bias"] = position_bias[0, :, :, :keys]
        sink = kwargs.get("s_aux") if kwargs.get("s_aux") is not None else kwargs.get("sinks")
        return Block(
            stack=stack,
            layer=layer,
            module=name,
            q=call.query[text],
            k=call.key[text],
            v=call.value[text],
            scaling=kwargs.get("scaling"),
            softcap=kwargs.get("softcap"),
            window=kwargs.get("sliding_window"),
            sink=None if sink is None else sink.detach().flatten(),
            biases=biases,
            mask=allowed,
            causal=call.causal,
        )

    def _interventions_at(self, place: tuple[str, int, str]) -> list["Intervention"]:
        return [one for one in self._interventions if one.touches(*place[:2])]

    def open_call(self, block: Block, mixed: Tensor) -> Tensor:
        """Begin to look for the projection that this block's output (query, head, d_v) goes
        into, and give back the output that is to go on."""
        self.close()
        if self.calls and not self.complete(self.calls[-1]):
            self.calls.pop()
        self._open = Call(block, rows_to_check(block.queries), mixed)
        self.calls.append(self._open)
        return mixed

    def close(self) -> None:
        """Stop looking for the last call's projection, and keep only the rows to check."""
        if self._open is not None:
            if self._open.block.projection is None:
                self._open.block.between = BETWEEN
            self._open.mixed_rows = numpy(self._open.mixed[self._open.rows])
            del self._open.mixed
            self._open = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if self._open is not None:
            found = find_linear_map(func, args, kwargs, result)
            if found is not None and _same(found.vectors, self._open.mixed):
                self._project(self._open, found)
        elif self._unbiased is not None and plain_name(func) == "add":
            self._add_bias(args, result)
        return result

    def _project(self, call: Call, found: LinearMap) -> None:
        call.block.projection = Projection(found.weight.detach(), found.bias)
        call.output_rows = numpy(found.output.reshape(-1, found.output.shape[-1])[call.rows])
        self._unbiased = (call, found.output) if found.bias_may_follow else None
        self.close()

    def _add_bias(self, args: Any, result: Tensor) -> None:
        """A projection written as a product adds its bias as the next step (Falcon)."""
        (call, output), self._unbiased = self._unbiased, None  # type: ignore[misc]
        bias = args[1] if len(args) > 1 else None
        if args[0] is output and isinstance(bias, nn.Parameter) and bias.ndim == 1:
            weight = call.block.projection.weight  # type: ignore[union-attr]
            call.block.projection = Projection(weight, bias.detach())
            call.output_rows = numpy(result.reshape(-1, result.shape[-1])[call.rows])

    def _split(
        self, mask: Tensor | None, keys: int, text: int
    ) -> tuple[Tensor | None, Tensor | None]:
        """One text's mask as (allowed, bias). Layers share one mask, so it is taken apart once."""
        if mask is None:
            return None, None
        if id(mask) not in self._masks:
            self._masks[id(mask)] = (mask, *split_mask(mask[:1], keys))
        return self._masks[id(mask)][1:]


def rows_to_check(queries: int) -> list[int]:
    """All rows of a short text, some spread over a long one."""
    count = queries if queries <= ROWS_OF_A_SHORT_TEXT else ROWS_OF_A_LONG_TEXT
    return np.unique(np.linspace(0, queries - 1, count).round().astype(int)).tolist()


def split_mask(mask: Tensor, keys: int) -> tuple[Tensor, Tensor | None]:
    """A (batch 1, 1 | head, 1 | query, key) mask as (allowed bool, what it adds or None): a float
    mask hides with a very low number, and may carry a position bias where it does not hide."""
    one = mask[0, ..., :keys]
    if one.dtype == torch.bool:
        return one, None
    allowed = ~is_masked(one)
    added = torch.where(allowed, one, 0)
    return allowed, added if bool(added.any()) else None


def is_masked(numbers: Tensor) -> Tensor:
    """Where a number added to a score, or put in its place, means "masked".

    Models write the lowest number of the dtype, -inf, -1e9 and lower, or exactly -10000; a
    position bias of -20000, as a long text may have, is none of these.
    """
    if not numbers.is_floating_point():
        return torch.zeros_like(numbers, dtype=torch.bool)
    lowest = torch.finfo(numbers.dtype).min / 2
    return (numbers <= max(lowest, -1e8)) | (numbers == -10000)


def _same(vectors: Tensor, mixed: Tensor) -> bool:
    if vectors.numel() != mixed.numel():
        return False
    # a model's parts may lie on different devices
    return torch.equal(vectors.reshape(-1).to(mixed.device), mixed.reshape(-1))


def refuse_pieces(name: str) -> UnsupportedModel:
    return UnsupportedModel(
        what=f"{name} attends over several pieces of the text at once.",
        why="The pieces are not at their places in the text, so a picture of them would be wrong.",
        todo="Try a model with full attention.",
    )
