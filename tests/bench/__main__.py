"""Speed and memory on SmolLM2-135M, as ratios of two ways timed in turns.

    python -m tests.bench                    the lines of the design, and growth to 1,024 tokens
    python -m tests.bench 64 256             the lines at these lengths, and nothing else
    python -m tests.bench --peers            and the peers, in an environment made for them
    python -m tests.bench --all --results    growth to 8,192 tokens too; write RESULTS.md

Nothing passes or fails here: machines differ, and what each line must reach stands beside it.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
import transformers

import attnviz
from attnviz.models import fetch
from attnviz.models.catalog import CATALOG
from tests.bench import lines, machine
from tests.bench.growth import LENGTHS as GROWTH
from tests.bench.growth import growth
from tests.bench.pages import felt, longest, pages
from tests.bench.peers import peers
from tests.bench.report import Report, without_paths
from tests.bench.surveys import surveys
from tests.bench.what_ifs import what_ifs

MODEL = "smollm2-135m"
RESULTS = Path(__file__).with_name("RESULTS.md")
USUAL = 1024
"""Tokens up to which growth is measured unless all is asked for."""


def main(lengths: list[int], *, everything: bool, beside_peers: bool, write: bool) -> int:
    began, before = time.monotonic(), machine.busy()
    transformers.logging.disable_progress_bar()
    about = machine.described(torch.get_num_threads())
    print("\n".join(about), flush=True)
    report = Report("Speed and memory", [_ABOUT, *about])
    folder = fetch.ensure_model(CATALOG[MODEL])
    model = attnviz.load(MODEL)
    sections: dict[str, Callable[[], object]] = {"lines": lambda: _lines(report, model, lengths)}
    if not lengths:
        sections["surveys"] = lambda: surveys(report, model, everything=everything)
        sections["the browser"] = lambda: felt(report, model, (64, 256) if everything else (256,))
        sections["pages"] = lambda: pages(report, model)
    if beside_peers:
        sections["peers"] = lambda: peers(report, folder, model.tokenizer)
    if not lengths:
        spans = [n for n in GROWTH if everything or n <= USUAL]
        sections["growth"] = lambda: growth(report, folder, model.tokenizer, spans)
    if everything:
        sections["the longest text"] = lambda: longest(report, model)
    broken = 0
    for name, section in sections.items():
        broken += not _whole(report, name, section)
        closing = f"{machine.others(before)} The run took {time.monotonic() - began:.0f} seconds."
        if write:  # after each section, so that a run that is stopped leaves what it had
            report.write(RESULTS, closing=[closing])
    print(f"\n{closing}")
    return 1 if broken else 0


def _whole(report: Report, name: str, section: Callable[[], object]) -> bool:
    """Measure one section. What breaks it off, as a browser that there is not, is said in the
    report, and the others are measured all the same."""
    try:
        section()
    except Exception as error:
        traceback.print_exc()
        words = (str(error).splitlines() or [""])[0]
        why = f"{type(error).__name__}: {without_paths(words)}"
        report.table(f"Broken off: {name}", {}, f"Not measured to its end. {why}")
        return False
    return True


def _lines(report: Report, model: "attnviz.LoadedModel", lengths: list[int]) -> None:
    table = report.table("Lines of the design")
    for length in lengths or [1024]:
        lines.against_forward_pass(table, model, length)
    for length in lengths or [2048]:
        lines.against_output_attentions(table, model, length)
    for length in lengths or [1024]:
        lines.another_head(table, model, length)
        lines.every_head(table, model, length)
    what_ifs(report, model)
    table = report.table("Sent to the browser")
    for length in sorted({64, 128, 256, *(lengths or [2048])}):
        lines.sent_to_browser(table, model, length)


_ABOUT = (
    f"Measured on {CATALOG[MODEL].title} by `make bench`, which writes this file with `RESULTS=1`. "
    "A ratio is the median over rounds in which both ways took turns, by the clock, with its "
    "quartiles; beside it the ratio of the processor's seconds, which other work on the machine "
    "hardly changes, and the medians by the clock of the way named first and of the other. What "
    "must be reached is the design's own figure, by the clock."
)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.splitlines()[0])
    parser.add_argument("lengths", nargs="*", type=lambda text: int(text.replace(",", "")))
    parser.add_argument("--all", action="store_true", help="growth up to 8,192 tokens")
    parser.add_argument("--peers", action="store_true", help="beside other packages")
    parser.add_argument("--results", action="store_true", help="write tests/bench/RESULTS.md")
    given = parser.parse_args()
    sys.exit(
        main(given.lengths, everything=given.all, beside_peers=given.peers, write=given.results)
    )
