"""How time, bytes and memory grow with the length of the text, and by what power of it."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench import machine, passage
from tests.bench.process import Took, Worker, WorkerFailed
from tests.bench.report import Report, Table, duration, size

LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192)
LONG = 1024
"""Tokens from which the exponents are fitted once more: before, constant costs weigh in."""
WARM = 16  # tokens of the first call, which is not counted
ROOM = 0.5  # of the free memory: a way that would take more is not tried

COLUMNS = {
    "Tokens": 6,
    "Capture": 9,
    "One head": 9,
    "Capture keeps": 13,
    "Its peak": 9,
    "Process": 9,
    "output_attentions": 17,
    "It keeps": 9,
    "Its own peak": 12,
}
_MEASURES = (
    ("Time of the capture", "capture", "work"),
    ("Bytes that the capture keeps", "capture", "bytes"),
    ("Memory of the capture at most", "capture", "peak"),
    ("Time of one head, all its scores and weights", "one_head", "work"),
    ("Time of output_attentions", "output_attentions", "work"),
    ("Bytes that output_attentions keeps", "output_attentions", "bytes"),
    ("Memory of output_attentions at most", "output_attentions", "peak"),
)
_EXPONENTS = {"Exponent of": 46, "All lengths": 11, f"From {LONG:,}": 10, "Fitted over": 14}

Found = dict[str, dict[int, Took]]
"""By the way, then by the length."""


def growth(report: Report, folder: Path, tokenizer: Any, lengths: Sequence[int] = LENGTHS) -> Found:
    """The table of all lengths, each measured in a process of its own, and that of exponents."""
    table = report.table(
        "Growth with length",
        COLUMNS,
        "Medians, each length in fresh processes. Times are of the processor, all threads "
        "together, which other work on the machine hardly lengthens. Peak: memory at most, above "
        "the process with the model loaded. Process: memory of the whole process at most.",
    )
    found: Found = {way: {} for way in ("capture", "one_head", "output_attentions")}
    stopped = ""
    for length in lengths:
        ids = passage.ids(tokenizer, length)
        found["capture"][length], found["one_head"][length] = fresh(
            ("capture", "one_head"), folder, ids
        )
        if not stopped:
            stopped = too_much(found["output_attentions"], length)
        if not stopped:
            try:
                (found["output_attentions"][length],) = fresh(("output_attentions",), folder, ids)
            except WorkerFailed as failure:
                stopped = f"{length:,} tokens could not be run: {failure}"
        _row(table, found, length)
    if stopped:
        table.note(f"output_attentions: {stopped}.")
    _exponents(report, found)
    return found


def fresh(ways: Sequence[str], folder: Path, ids: Sequence[int]) -> list[Took]:
    """What each way takes in a new process: the median times of some rounds, after a short one to
    warm up, and the most memory of any. One head is of the capture that stands before it."""
    rounds = 3 if len(ids) <= 1024 else 1
    found = []
    with Worker(ways[0], folder) as worker:
        worker.do(ids[:WARM])
        for way in ways:
            taken = [worker.do(ids, way) for _ in range(5 if way == "one_head" else rounds)]
            found.append(
                Took(
                    statistics.median(one.seconds for one in taken),
                    statistics.median(one.work for one in taken),
                    taken[0].bytes,
                    max(one.peak for one in taken),
                    max(one.process for one in taken),
                )
            )
    return found


def too_much(so_far: dict[int, Took], length: int, free: int | None = None) -> str:
    """Why a way whose memory grows with the square of the length is not tried at this one; "" if
    it is."""
    free = machine.free_memory() if free is None else free
    if not so_far or free is None:
        return ""
    last = max(so_far)
    expected = so_far[last].peak * (length / last) ** 2
    if expected <= ROOM * free:
        return ""
    return (
        f"{length:,} tokens were not tried, since they would take about {size(expected)} and more "
        f"than half of the {size(free)} that were free"
    )


def exponent(lengths: Sequence[float], values: Sequence[float]) -> float:
    """The power of the length that values grow by: the slope of the line fitted to the logarithms.

    Raises:
        ValueError: fewer than two lengths, or a value that is not positive.
    """
    if len(lengths) < 2 or min(values) <= 0:
        raise ValueError("An exponent is fitted to two positive values or more.")
    slope, _ = np.polyfit(np.log(lengths), np.log(values), 1)
    return float(slope)


def _row(table: Table, found: Found, length: int) -> None:
    capture, head = found["capture"][length], found["one_head"][length]
    cells = [
        f"{length:,}",
        duration(capture.work),
        duration(head.work),
        *map(size, (capture.bytes, capture.peak, capture.process)),
    ]
    if plain := found["output_attentions"].get(length):
        cells += [duration(plain.work), size(plain.bytes), size(plain.peak)]
    else:
        cells += ["not tried"] * 3
    table.add(*cells)


def _exponents(report: Report, found: Found) -> None:
    table = report.table("Exponents of the growth", _EXPONENTS)
    for what, way, measure in _MEASURES:
        values = {length: float(getattr(took, measure)) for length, took in found[way].items()}
        long = {length: value for length, value in values.items() if length >= LONG}
        over = f"{min(values):,} to {max(values):,}" if values else ""
        table.add(what, _fitted(values), _fitted(long), over)


def _fitted(values: dict[int, float]) -> str:
    positive = {length: value for length, value in values.items() if value > 0}
    if len(positive) < 2:
        return ""
    return f"{exponent(list(positive), list(positive.values())):.2f}"
