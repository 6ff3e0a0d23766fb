"""Surveys: against loops over output_attentions, in memory, and on two of Ray's workers."""

import copy
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import torch

from attnviz.capture.forward import run_forward
from attnviz.capture.inputs import prepare_inputs
from attnviz.survey.corpus import Text
from attnviz.survey.local_engine import examine_parts, limit_threads
from attnviz.survey.survey_part import SIZE
from tests.bench import passage
from tests.bench.paired import paired
from tests.bench.plain_loop import Way, head_by_head, heads_at_once, measured
from tests.bench.process import ROOT
from tests.bench.report import Reach, Report, Table, size

LENGTHS = {256: 1 / 1.5, 1024: 1 / 3}
"""Tokens of a text, and what a survey's time must be as a part of the loop's."""
TEXTS = {256: 8, 1024: 4}
"""Texts of a round."""
ROUNDS = 5
FEW, MANY = 100, 10_000
RAY_TOKENS, RAY_PARTS = 64, 8


def surveys(report: Report, model: Any, *, everything: bool) -> None:
    table = report.table("Surveys")
    for length in LENGTHS:
        against_plain_loops(table, model, length)
    memory(table, MANY if everything else MANY // 10)
    if everything:
        on_ray(table, model)


def against_plain_loops(table: Table, model: Any, length: int) -> None:
    """Seconds of a survey of some texts, as a part of those of loops; and of the model's forward
    passes alone, which are what a survey would take if measuring took nothing."""
    plain = copy.deepcopy(model.hf)
    plain.set_attn_implementation("eager")
    text = passage.text(model.tokenizer, length)
    texts = [Text(number, f"text {number}", text) for number in range(TEXTS[length])]
    reach = Reach(LENGTHS[length], length)

    def loop(way: Way) -> list[Any]:
        return [measured(plain, model.tokenizer, one.text, way) for one in texts]

    def ours() -> list[Any]:
        return list(examine_parts(model, iter([(0, texts)]), max_tokens=length, most=5))

    def forward(one: Text) -> Any:
        return run_forward(model.hf, prepare_inputs(model, one.text).forward)

    def bare() -> list[Any]:
        with ThreadPoolExecutor(torch.get_num_threads()) as pool, limit_threads(1):
            return list(pool.map(forward, texts))

    plainly, at_once = partial(loop, head_by_head), partial(loop, heads_at_once)
    for what, first, second, asked in (
        ("survey / plain loop over output_attentions", plainly, ours, reach),
        ("survey / that loop, all heads of a layer at once", at_once, ours, None),
        ("forward passes alone / plain loop", plainly, bare, None),
    ):
        times = paired(first, second, rounds=ROUNDS)
        table.ratio(f"{what}: time", length, times, asked)


def memory(table: Table, many: int) -> None:
    """The most memory of a survey of many texts, as a multiple of that of few."""
    few, more = (peak(texts) for texts in (FEW, many))
    what = f"planted circuit, {many:,} texts / {FEW} texts: most memory"
    table.value(what, 0, more / few, "x", Reach(1.05), detail=f"{size(more)}, {size(few)}")


def peak(texts: int) -> int:
    """Bytes of a fresh process at most, that surveys the planted circuit over so many texts."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "tests.bench.surveys", str(texts), out]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def on_ray(table: Table, model: Any) -> None:
    """Texts a second of two workers of one thread each, as a multiple of one's."""
    what = "survey on Ray, two workers / one: texts a second"
    if (os.cpu_count() or 1) < 2:
        table.missing(what, RAY_TOKENS, "the machine has one core.")
        return
    one, two = (rate(model, workers) for workers in (1, 2))
    detail = f"{two:.2f} and {one:.2f} texts a second"
    table.value(what, RAY_TOKENS, two / one, "x", detail=detail)
    reached = "yes" if two / one >= 1.6 else "no"
    table.note(f"{what} must be at least 1.6 x, on two cores. Reached: {reached}.")


def rate(model: Any, workers: int) -> float:
    """Texts a second, from when each worker has had its first part: it was loading before."""
    from attnviz.survey import survey

    os.environ["RAY_worker_niceness"] = "0"  # beside other work, workers would get no turn
    text = passage.text(model.tokenizer, RAY_TOKENS)
    done: list[float] = []
    with tempfile.TemporaryDirectory() as out:
        survey(
            model.info.name,
            [text] * (SIZE * RAY_PARTS),
            out,
            engine="ray",
            workers=workers,
            progress=lambda _: done.append(time.perf_counter()),
        )
    return SIZE * (len(done) - workers) / (done[-1] - done[workers - 1])


if __name__ == "__main__":
    from attnviz.survey import survey
    from attnviz.survey.rule_corpus import probe_texts
    from tests.bench import worker

    survey("planted-circuit", probe_texts(int(sys.argv[1])), Path(sys.argv[2]))
    print(worker.peak())
