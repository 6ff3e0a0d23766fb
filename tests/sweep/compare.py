"""A capture held against the oracle: C1 to C5, each difference written down as a failure."""

from typing import Any

import numpy as np
import torch
from torch import nn

from tests.sweep import oracle
from tests.sweep.build import HOT
from tests.sweep.oracle import Array, Run, Softmax

TOLERANCE = 1e-5
ROUNDING = 4 * float(np.finfo(np.float32).eps)
"""What one unit of a score may lose by rounding on each of two ways to it, and a weight with it."""


class Findings:
    """What a comparison found: failures, the largest difference, and what there was to compare."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.error = 0.0
        self.compared: set[str] = set()

    def fail(self, failure: str) -> None:
        self.failures.append(failure)

    def near(
        self, what: str, at: str, found: Array, own: Array, tolerance: float = TOLERANCE
    ) -> None:
        """Both are equal within the tolerance, as a part of the largest number (of 1 if less)."""
        if found.shape != own.shape:
            self.fail(f"{what}: {at} is {found.shape}, not {own.shape}")
            return
        scale = max(1.0, float(np.abs(own).max(initial=0)))
        error = float(np.abs(found - own).max(initial=0)) / scale
        self.error = max(self.error, error)
        if not error <= tolerance:
            self.fail(f"{what}: {at} off by {error:.2g}")


def compare(cap: Any, run: Run, model: nn.Module) -> Findings:
    """C1, C2, C3 and C5 of a capture, and that its weights are hot enough for them to mean much."""
    findings = Findings()
    if not cap.blocks:
        findings.fail("the capture is empty")
    names = _parameters(model)
    for stack in cap.stacks:
        _check_numbers(findings, cap, run, stack)
        for block, own, call in pairs(cap, run, stack):
            heads = [cap.head(block.layer, h, stack) for h in range(block.heads)]
            most = tolerance(heads)
            _check_weights(findings, block, heads, own, call, most)
            _check_values(findings, block, heads, call, most)
            _check_output(findings, block, heads, run, names, most)
            _check_heat(findings, block, heads)
    return findings


def tolerance(heads: list[Any]) -> float:
    """1e-5, and what scores as large as these lose by rounding."""
    scores = [head.scores[head.allowed] for head in heads]
    largest = max(float(np.abs(one).max(initial=0)) for one in scores)
    return TOLERANCE + ROUNDING * largest


def pairs(cap: Any, run: Run, stack: str) -> list[tuple[Any, Array | None, Softmax | None]]:
    """Each block of a stack with the model's own attentions of it and the softmax call seen."""
    blocks = sorted((b for b in cap.blocks if b.stack == stack), key=lambda b: b.layer)
    calls, own = _by_layer(run.stack(stack), blocks), _entries(run, stack, blocks)
    return list(zip(blocks, own, calls, strict=True))


def _by_layer(calls: list[Softmax], blocks: list[Any]) -> list[Softmax | None]:
    """The softmax call of each block, or None for all where they do not pair up."""
    if len(calls) != len(blocks):
        return [None] * len(blocks)
    order = np.argsort(oracle.layer_numbers(calls), kind="stable")
    return [calls[i] for i in order]


def _entries(run: Run, stack: str, blocks: list[Any]) -> list[Array | None]:
    """The model's own attentions of each block: one an attention layer, or one a layer."""
    own = run.attentions(stack)
    if len(own) == len(blocks):
        return own
    if blocks and len(own) > blocks[-1].layer:
        return [own[block.layer] for block in blocks]
    return [None] * len(blocks)


def _check_weights(
    findings: Findings,
    block: Any,
    heads: list[Any],
    own: Array | None,
    call: Softmax | None,
    most: float,
) -> None:
    """C1: softmax of the scores is the weights, and they are the model's own."""
    if own is None and call is None:
        findings.fail(f"C1: no oracle for {at(block)}")
    for h, head in enumerate(heads):
        here, keys = at(block, h), head.weights.shape[1]
        findings.near("C1 identity", here, _softmax(head.scores, head.sink_logit), head.weights)
        if own is not None:
            findings.compared.add("attentions")
            findings.near("C1 own", here, head.weights, with_sink(own[h], head), most)
        if call is not None:
            findings.compared.add("softmax")
            watched = with_sink(call.weights[h][:, :keys], head)
            findings.near("C1 watched", here, head.weights, watched, most)
            _check_scores(findings, here, head, call.scores[h][:, :keys])


def with_sink(own: Array, head: Any) -> Array:
    """Weights as they act on the values."""
    return own * (1 - head.sink[:, None]) if _scaled_later(own, head) else own


def _scaled_later(own: Array, head: Any) -> bool:
    """Some families with a sink run softmax without it and scale the mixed values down afterwards;
    rows of what they call weights add up to 1."""
    return head.sink_logit is not None and np.abs(own.sum(axis=1) - 1).max() <= 1e-5


def _check_scores(findings: Findings, here: str, head: Any, watched: Array) -> None:
    """What is shown as scores is what softmax received, masked cells included.

    A number that a model takes off a whole row, for numerical safety, changes nothing.
    """
    hidden = watched <= oracle.HIDDEN
    rows = head.attends
    differ = (head.allowed == hidden) & rows[:, None]
    if head.weights[differ].any():  # cells of weight 0 on both sides may go by either name
        findings.fail(f"C1 mask: {here}")
        return
    shown = head.allowed & ~hidden & rows[:, None]
    difference = np.where(shown, head.scores - watched, 0)
    shift = difference.sum(axis=1, keepdims=True) / np.maximum(shown.sum(axis=1, keepdims=True), 1)
    scale = max(1.0, float(np.abs(watched[shown]).max(initial=0)))
    error = float(np.abs(np.where(shown, difference - shift, 0)).max(initial=0)) / scale
    if not error <= TOLERANCE:
        findings.fail(f"C1 scores: {here} off by {error:.2g}")


def _check_values(
    findings: Findings, block: Any, heads: list[Any], call: Softmax | None, most: float
) -> None:
    """C2: weights x values are what the model's own product of them came to."""
    if heads[0].v is None:
        if not block.between:
            findings.fail(f"C2: {at(block)} has no values and does not say why")
        return
    if call is None or call.mixed is None or len(call.mixed) != len(heads):
        return
    findings.compared.add("product")
    for h, head in enumerate(heads):
        later = _scaled_later(call.weights[h][:, : head.weights.shape[1]], head)
        mixed = call.mixed[h] * (1 - head.sink[:, None]) if later else call.mixed[h]
        findings.near("C2 mixed", at(block, h), head.weights @ head.v, mixed, most)


def _check_output(
    findings: Findings,
    block: Any,
    heads: list[Any],
    run: Run,
    names: dict[int, list[str]],
    most: float,
) -> None:
    """C2 and C3: the heads side by side are the input of the output projection, and their
    contributions with its bias are its output."""
    if heads[0].v is None:
        return
    into = np.concatenate([head.weights @ head.v for head in heads], axis=1)
    if heads[0].w_o is None:
        _check_short(findings, block, into, run, most)
        return
    parts = sum(head.weights @ (head.v @ head.w_o) for head in heads)
    if heads[0].w_o_bias is not None:
        parts = parts + heads[0].w_o_bias
    owners = names.get(block.projection.weight.data_ptr(), [])
    uses = [use for use in run.linears if use.weight in owners and use.input.shape == into.shape]
    if not uses:
        findings.fail(f"C3: the projection of {at(block)} is no weight that such vectors go into")
        return
    use = min(uses, key=lambda use: float(np.abs(use.input - into).max()))
    findings.compared.add("projection")
    findings.near("C2 projection input", at(block), into, use.input, most)
    findings.near("C3", at(block), parts, use.output, most)


def _check_short(findings: Findings, block: Any, into: Array, run: Run, most: float) -> None:
    """A block whose contributions stop before the output says why, and has to: no weight takes the
    heads' outputs as they are."""
    if not block.between:
        findings.fail(f"C3: {at(block)} stops short and does not say why")
    for use in run.linears:
        if use.input.shape == into.shape and np.abs(use.input - into).max() <= most:
            findings.fail(f"C3: {at(block)} stops short of {use.weight}, which takes it as it is")


def _parameters(model: nn.Module) -> dict[int, list[str]]:
    """Where a parameter's numbers are -> its names; tied parameters have several."""
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if isinstance(parameter, torch.Tensor):
            names.setdefault(parameter.data_ptr(), []).append(name)
    return names


def _check_numbers(findings: Findings, cap: Any, run: Run, stack: str) -> None:
    """C5: layer numbers are the model's own, and axes are as long as the token lists."""
    numbers = sorted(oracle.layer_numbers(run.stack(stack)))
    if numbers and cap.layers(stack) != numbers:
        findings.fail(f"C5: {stack} layers {cap.layers(stack)}, not {numbers}")
    for layer in cap.layers(stack):
        shape = cap.head(layer, 0, stack).scores.shape
        if shape != (len(cap.query_tokens(stack)), len(cap.key_tokens(stack))):
            findings.fail(f"C5: {stack} layer {layer} has the shape {shape}")


def _check_heat(findings: Findings, block: Any, heads: list[Any]) -> None:
    """A comparison says little about a block whose weights are all alike."""
    most = 0.0
    for head in heads:
        even = head.allowed / np.maximum(head.allowed.sum(axis=1, keepdims=True), 1)
        most = max(most, float(np.abs(head.weights - even).max(initial=0)))
    if most < HOT:
        findings.fail(f"the sweep's model is not hot: {at(block)} within {most:.2g} of even")


def at(block: Any, h: int | None = None) -> str:
    place = f"{block.stack} layer {block.layer}"
    return place if h is None else f"{place} head {h}"


def _softmax(scores: Array, sink: float | None) -> Array:
    """Softmax over keys, written out here once more; a row of nothing is a row of zeros."""
    wide = scores.astype(np.float64)
    top = np.maximum(wide.max(axis=1, keepdims=True), -np.inf if sink is None else sink)
    top = np.where(np.isfinite(top), top, 0)
    exp = np.exp(wide - top)
    total = exp.sum(axis=1, keepdims=True) + (0 if sink is None else np.exp(sink - top))
    return (exp / np.where(total == 0, 1, total)).astype(np.float32)
