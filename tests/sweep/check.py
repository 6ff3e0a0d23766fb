"""One architecture on trial: build it, capture it, and hold the capture against the oracle."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

import attnviz
from tests.sweep import build, oracle
from tests.sweep.compare import TOLERANCE, Findings, at, compare, pairs, tolerance, with_sink
from tests.sweep.configs import Row
from tests.sweep.exceptions import PLAIN_REASONS, REASONS
from tests.sweep.oracle import Array

EXACT, REFUSED, UNBUILT, WRONG, CRASH = "exact", "refused", "could not be built", "WRONG", "CRASH"

NOTHING_THERE = "has no attention weights"  # a refusal that the oracle can contradict


@dataclass
class Verdict:
    """What became of one row of the table."""

    model_type: str
    name: str
    verdict: str
    reason: str = ""
    method: str = ""
    stages: list[str] = field(default_factory=list)
    output: str = ""  # whether contributions reach the output
    oracle: str = ""  # what there was to compare with
    padding: str = ""
    error: float = 0.0  # largest difference met; not part of the table
    failures: list[str] = field(default_factory=list)


def try_row(row: Row) -> Verdict:
    """The verdict on one architecture. Never raises."""
    verdict = Verdict(row.model_type, row.name, UNBUILT)
    try:
        trial = build.build(row)
    except Exception as error:  # a model file raises what it likes
        verdict.reason = _why_unbuilt(row, error)
        return verdict
    try:
        _try_capture(verdict, trial)
    except attnviz.AttnvizError as error:
        verdict.verdict, verdict.reason = REFUSED, f"{error.what} {error.why}".strip()
        if NOTHING_THERE in error.what and trial.run.softmaxes:
            verdict.verdict = WRONG
            verdict.reason = f"refused for an untrue reason: {verdict.reason}"
    except Exception as error:  # that is what is looked for
        verdict.verdict, verdict.reason = CRASH, plainly(error) + _place(error)
    return verdict


def _try_capture(verdict: Verdict, trial: build.Trial) -> None:
    model, plain, inputs, run = trial
    before, logits = _state(model), _logits(model, inputs)
    loaded = attnviz.wrap(model)
    failures: list[str] = []
    try:
        cap = attnviz.capture(loaded, **inputs)
    finally:
        changed = [name for name, value in _state(model).items() if value != before[name]]
        failures += [f"C4: capture changed {name}" for name in changed]
    findings = compare(cap, run, model)
    failures += findings.failures
    failures += _logits_moved(cap, logits, _logits(model, inputs))
    if loaded.info.kind == "decoder":
        verdict.padding, more = _try_padding(loaded, plain, inputs)
        failures += more
    verdict.method = cap.receipt.method
    verdict.stages = list(dict.fromkeys(stage for block in cap.blocks for stage in block.exposes))
    verdict.output = _reach(cap)
    verdict.oracle = ", ".join(sorted(findings.compared))
    verdict.error = findings.error
    verdict.failures = failures
    verdict.verdict = WRONG if failures else EXACT
    verdict.reason = "; ".join(failures[:4])


def _reach(cap: Any) -> str:
    """Whether contributions reach the output, and what stands between where they do not."""
    short = [block for block in cap.blocks if block.projection is None]
    if not short:
        return "yes"
    reasons = list(dict.fromkeys(block.between for block in short))
    return ("no: " if len(short) == len(cap.blocks) else "partly: ") + " ".join(reasons)


def _logits_moved(cap: Any, before: Array, after: Array) -> list[str]:
    """C4: the outputs are the same before, during and after."""
    if not np.array_equal(before, after):
        return ["C4: the model puts out something else after a capture"]
    if cap.logits is None or not len(cap.logits) or before.ndim != 3:
        return []
    error = float(np.abs(cap.logits[-1] - before[0, -1]).max())
    moved = error > TOLERANCE * max(1.0, float(np.abs(before).max()))
    return [f"C4: logits move by {error:.2g}"] if moved else []


def _try_padding(loaded: Any, plain: nn.Module, inputs: dict[str, Any]) -> tuple[str, list[str]]:
    """Two tokens of padding on the left: real rows are the oracle's, padding gets nothing.

    (What the table says, failures.)
    """
    ids = inputs["input_ids"]
    padded = torch.cat([torch.zeros(1, 2, dtype=ids.dtype), ids[:, :-2]], dim=1)
    mask = torch.ones_like(padded)
    mask[:, :2] = 0
    given = {"input_ids": padded, "attention_mask": mask}
    if "position_ids" in build.arguments(plain):
        given["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
    try:
        run = oracle.observe(plain, given, build.options(plain))
    except Exception as error:  # then the model cannot be asked, nor attnviz
        return f"the model does not take it ({plainly(error)})", []
    try:
        cap = attnviz.capture(loaded, input_ids=padded, attention_mask=mask)
    except attnviz.AttnvizError as error:
        return f"refused: {error.what} {error.why}", []
    findings = Findings()
    for stack in cap.stacks:
        for block, own, call in pairs(cap, run, stack):
            for h in range(block.heads):
                _check_padded(findings, cap.head(block.layer, h, stack), at(block, h), own, call, h)
    return "WRONG" if findings.failures else EXACT, findings.failures


def _check_padded(findings: Findings, head: Any, here: str, own: Any, call: Any, h: int) -> None:
    truth = call.weights[h][:, : head.weights.shape[1]] if call is not None else None
    truth = own[h] if truth is None and own is not None else truth
    if truth is None:
        findings.fail(f"padded: no oracle for {here}")
        return
    findings.near("padded", here, head.weights[2:], with_sink(truth, head)[2:], tolerance([head]))
    if head.weights[2:, :2].any() and not truth[2:, :2].any():
        findings.fail(f"padded: {here} looks at padding")


def _state(model: nn.Module) -> dict[str, Any]:
    """Everything of a model that a capture might leave changed."""
    modules = list(model.modules())
    configs = {id(c): c for c in (getattr(m, "config", None) for m in modules) if c is not None}
    return {
        "hooks": sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in modules),
        "parameters": [
            t.detach().double().nan_to_num().sum().item() for t in model.state_dict().values()
        ],
        "the attention choice": [
            getattr(c, "_attn_implementation", None) for c in configs.values()
        ],
        "output_attentions": [getattr(c, "output_attentions", None) for c in configs.values()],
        "training flags": [m.training for m in modules],
        "forward methods": [m.__dict__.get("forward") is None for m in modules],
    }


def _logits(model: nn.Module, inputs: dict[str, Any]) -> Array:
    """What the model puts out in evaluation mode; the mode of every module is put back."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.no_grad():
        output = model(**inputs, **build.options(model))
    for module, mode in modes:
        module.training = mode
    logits = getattr(output, "logits", None)
    return (output[0] if logits is None else logits).float().numpy()


def _why_unbuilt(row: Row, error: Exception) -> str:
    """The reason in plain words where it is a known one, and is the one that was met."""
    known = REASONS.get(row.model_type)
    return PLAIN_REASONS[known] if known and known in str(error) else plainly(error)


def plainly(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}" if text else type(error).__name__


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f" ({trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno})"
