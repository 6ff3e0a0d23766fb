"""The oracle: what plain attention really computed, seen without a line of attnviz.

The double of a model runs with plain attention and `output_attentions=True`, every call of softmax
and the product that uses its result are noted, and so are the input and output of every linear
module. Stacks are told apart by shape (11 source tokens, 5 target tokens), layers by the number in
the path of the module that called softmax.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

Array = NDArray[np.float32]

SOFTMAX = (torch.softmax, Tensor.softmax, nn.functional.softmax, torch.special.softmax)
PRODUCT = (torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm)
HIDDEN = -1e30  # a score below this is hidden, whichever number a family hides with
FIELDS = {
    "encoder": ("encoder_attentions", "attentions"),
    "decoder": ("decoder_attentions", "attentions"),
    "cross": ("cross_attentions",),
}


@dataclass
class Softmax:
    """One call of softmax on scores: heads first, the batch of one left out."""

    path: str  # of the innermost module that was running
    scores: Array  # (head, query, key)
    weights: Array  # (head, query, key)
    mixed: Array | None = None  # (head, query, d_v): weights x values, as the model computed it


@dataclass
class Linear:
    """One use of a weight matrix, by a module or by einsum."""

    weight: str  # the parameter's name
    input: Array  # (position, in)
    output: Array  # (position, out)


@dataclass
class Run:
    """One forward pass of the double."""

    queries: int
    keys: int
    output: Any
    softmaxes: list[Softmax] = field(default_factory=list)
    linears: list[Linear] = field(default_factory=list)

    def stack(self, stack: str) -> list[Softmax]:
        """The softmax calls of one stack, by the shape of their weights."""
        source, target = self.keys, self.queries
        rows, columns = {"encoder": (source, source), "cross": (target, source)}.get(
            stack, (target, target)
        )
        shapes = ((rows, columns), (rows, columns + 1))  # with a sink
        return [call for call in self.softmaxes if call.weights.shape[1:] in shapes]

    def heat(self) -> float:
        """How far from an even spread the evenest block is: the largest difference in any head.

        Infinite where no attention was seen.
        """
        lengths = {self.queries, self.keys}
        calls = [c for c in self.softmaxes if {c.weights.shape[1], c.weights.shape[2]} <= lengths]
        return min((_unevenness(call) for call in calls), default=np.inf)

    def attentions(self, stack: str) -> list[Array | None]:
        """What the model itself returns as attentions, (head, query, key) a layer; None where an
        entry is not such an array, and nothing at all where it holds no weights."""
        for name in FIELDS[stack]:
            entries = getattr(self.output, name, None)
            if entries:
                arrays = [_one(entry) for entry in entries]
                return arrays if all(a is None or _are_weights(a) for a in arrays) else []
        return []


def layer_numbers(calls: list[Softmax]) -> list[int]:
    """The layer of each call: the first number in its module's path; the count of calls where
    layers share a module (ALBERT), or hold two attentions each (LongCat, which numbers them so).
    """
    paths = [call.path for call in calls]
    found = [re.search(r"(?:^|\.)(\d+)(?:\.|$)", path) for path in paths]
    numbers = [int(number.group(1)) if number else 0 for number in found]
    one_module = len(paths) > 1 and len(set(paths)) == 1
    several_in_a_layer = len(set(paths)) == len(paths) > len(set(numbers))
    return list(range(len(paths))) if one_module or several_in_a_layer else numbers


def observe(model: nn.Module, inputs: dict[str, Tensor], options: dict[str, Any]) -> Run:
    """Run the double once and note everything; the hooks stay on it, it is nobody else's."""
    keys = inputs["input_ids"].shape[1]
    target = inputs.get("decoder_input_ids")
    run = Run(queries=keys if target is None else target.shape[1], keys=keys, output=None)
    stack: list[str] = []
    watch = _Watch(run, stack, {p.data_ptr(): name for name, p in model.named_parameters()})
    handles = [hook for name, m in model.named_modules() for hook in _hooks(name, m, stack, run)]
    try:
        with torch.no_grad(), watch:
            run.output = model(**inputs, **options, output_attentions=True)
    finally:
        for handle in handles:
            handle.remove()
    return run


class _Watch(TorchFunctionMode):
    def __init__(self, run: Run, stack: list[str], names: dict[int, str]) -> None:
        super().__init__()
        self._run = run
        self._names = names
        self._stack = stack
        self._last: tuple[Tensor, Softmax] | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in SOFTMAX and self._holds_scores(result):
            call = Softmax(self._path(), _heads(args[0]), _heads(result))
            self._run.softmaxes.append(call)
            self._last = (result, call)
        elif func in PRODUCT and self._last is not None and args[0].ndim >= 3:
            weights, call = self._last
            if args[0].data_ptr() == weights.data_ptr() and len(args) > 1:
                call.mixed = _heads(result)
                self._last = None
        elif func is torch.einsum and len(args) == 3 and args[2].data_ptr() in self._names:
            output = _rows(result)  # XLNet's projections are no modules
            vectors = args[1].float().numpy().reshape(len(output), -1).copy()
            self._run.linears.append(Linear(self._names[args[2].data_ptr()], vectors, output))
        return result

    def _path(self) -> str:
        return self._stack[-1] if self._stack else ""

    def _holds_scores(self, result: Tensor) -> bool:
        """Whether rows are queries and columns are keys, perhaps with a sink beside them."""
        if result.ndim not in (3, 4) or (result.ndim == 4 and result.shape[0] != 1):
            return False
        lengths = {self._run.queries, self._run.keys}
        return result.shape[-2] in lengths and result.shape[-1] in lengths | {
            length + 1 for length in lengths
        }


def _hooks(name: str, module: nn.Module, stack: list[str], run: Run) -> list[Any]:
    def enter(module: nn.Module, args: Any) -> None:
        stack.append(name)

    def leave(module: nn.Module, args: Any, output: Any) -> None:
        stack.pop()
        output = output[0] if isinstance(output, tuple) else output  # I-BERT's come with a scale
        if not args or not _is_vectors(args[0]) or not _is_vectors(output):
            return
        if isinstance(module, nn.Conv1d):  # vectors are columns there
            run.linears.append(Linear(f"{name}.weight", _rows(args[0].mT), _rows(output.mT)))
        elif getattr(module, "weight", None) is not None and module.weight.ndim == 2:
            run.linears.append(Linear(f"{name}.weight", _rows(args[0]), _rows(output)))

    return [module.register_forward_pre_hook(enter), module.register_forward_hook(leave)]


def _is_vectors(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.ndim >= 2


def _heads(tensor: Tensor) -> Array:
    """(head, query, key) of a (1, head, query, key) or (head, query, key) tensor."""
    return (tensor[0] if tensor.ndim == 4 else tensor).float().numpy().copy()


def _rows(tensor: Tensor) -> Array:
    return tensor.reshape(-1, tensor.shape[-1]).float().numpy().copy()


def _one(entry: Any) -> Array | None:
    is_map = isinstance(entry, Tensor) and entry.ndim == 4 and entry.shape[0] == 1
    return _heads(entry) if is_map else None


def _unevenness(call: Softmax) -> float:
    allowed = call.scores > HIDDEN
    even = allowed / np.maximum(allowed.sum(axis=-1, keepdims=True), 1)
    return float(np.abs(call.weights - even)[allowed.any(axis=-1)].max(initial=0))


def _are_weights(array: Array) -> bool:
    """SqueezeBERT returns scores in the field named attentions."""
    return bool(array.min() >= 0 and array.sum(axis=-1).max() <= 1 + 1e-4)
