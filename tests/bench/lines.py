"""The lines of the design's table that Python alone can measure."""

import copy
import statistics
from typing import Any

import torch

import attnviz
from attnviz.capture.forward import run_forward
from attnviz.detectors import profile
from tests.bench import machine, passage
from tests.bench.paired import paired, spent
from tests.bench.payload import bytes_to_browser
from tests.bench.report import Reach, Table, duration, size

BUDGETS = {64: 80, 128: 250}  # kB of one pair of maps; any other length 800
BUDGET_AT_ANY_LENGTH = 800


def against_forward_pass(table: Table, model: Any, length: int) -> None:
    """A capture against the same forward pass without one."""
    ids = passage.ids(model.tokenizer, length)
    forward = attnviz.capture(model, input_ids=ids).forward
    times = paired(
        lambda: run_forward(model.hf, forward),
        lambda: attnviz.capture(model, input_ids=ids),
        rounds=_rounds(length),
    )
    table.ratio("capture / plain forward pass, same kernel: time", length, times, Reach(1.05, 1024))


def against_output_attentions(table: Table, model: Any, length: int) -> None:
    """A capture against all attention matrices, time and bytes kept."""
    what = "capture / output_attentions, plain attention"
    info = model.info
    needed = 2.5 * info.layers * info.heads * length**2 * 4  # all matrices, and those at work
    free = machine.free_memory()
    if free is not None and needed > free:
        why = f"it would take about {size(needed)}, and {size(free)} are free."
        table.missing(what, length, why)
        return
    plain = copy.deepcopy(model.hf)
    plain.set_attn_implementation("eager")
    ids = passage.ids(model.tokenizer, length)
    inputs = {"input_ids": torch.tensor([ids])}

    def attentions() -> Any:
        with torch.no_grad():
            return plain(**inputs, output_attentions=True, use_cache=False, logits_to_keep=1)

    kept = sum(layer.nbytes for layer in attentions().attentions)
    held = attnviz.capture(model, input_ids=ids).nbytes
    times = paired(
        attentions,
        lambda: attnviz.capture(model, input_ids=ids),
        rounds=max(3, _rounds(length) // 2),
        warm=0,  # both ran above
    )
    table.ratio(f"{what}: time", length, times, Reach(0.25, 2048))
    table.value(
        f"{what}: bytes kept", length, held / kept, "x", Reach(1 / 15, 2048),
        detail=f"{size(held)}, {size(kept)}",
    )  # fmt: skip


def another_head(table: Table, model: Any, length: int) -> None:
    """The scores and weights of one head of every layer, of one capture."""
    capture = attnviz.capture(model, input_ids=passage.ids(model.tokenizer, length))
    places = [(layer, layer % capture.heads(layer)) for layer in capture.layers()]

    def look(layer: int, head: int) -> Any:
        chosen = capture.head(layer, head)
        return chosen.scores, chosen.weights

    look(*places[0])
    times = [spent(lambda place=place: look(*place)).seconds * 1000 for place in places]
    low, middle, high = statistics.quantiles(times, n=4)
    table.value(
        "another head, its scores and weights: time", length, middle, "ms", Reach(30, 1024),
        spread=(low, high), detail=f"worst {duration(max(times) / 1000)}", rounds=len(times),
    )  # fmt: skip


def every_head(table: Table, model: Any, length: int) -> None:
    """Every measure of every head against the capture that it is worked out from."""
    ids = passage.ids(model.tokenizer, length)
    capture = attnviz.capture(model, input_ids=ids)
    times = paired(
        lambda: attnviz.capture(model, input_ids=ids), lambda: profile(capture), rounds=3
    )
    table.ratio("every measure of every head / capture: time", length, times, Reach(2, 1024))


def sent_to_browser(table: Table, model: Any, length: int) -> None:
    """One pair of maps, and the whole picture of Explore, as Streamlit's messages."""
    head = attnviz.capture(model, input_ids=passage.ids(model.tokenizer, length)).head(5, 1)
    sizes = bytes_to_browser(head)
    budget = BUDGETS.get(length, BUDGET_AT_ANY_LENGTH)
    table.value("a pair of maps: bytes", length, sizes["maps"] / 1000, "kB", Reach(budget))
    table.value("Explore's whole picture: bytes", length, sizes["whole picture"] / 1000, "kB")


def _rounds(length: int) -> int:
    return min(12, max(5, 4096 // length))
