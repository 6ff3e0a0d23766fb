"""What-ifs against full runs: what recomputing only what can change saves."""

from collections.abc import Callable, Sequence
from typing import Any

import attnviz
from attnviz.capture.forward import run_forward
from attnviz.interventions import Ablate, HideKeys, Intervention, ZeroValue, effects
from tests.bench import passage
from tests.bench.paired import Paired, Spent, spent
from tests.bench.report import LINES, Reach, Report

Way = Callable[[], object]

TOKENS = 64
ROUNDS = 3
PART = 4
"""Full runs are all alike: one in so many is run, and its time counted for all of these."""
REACH = {
    "hide each key of the last row in one head": Reach(0.1),
    "hide each token everywhere": Reach(0.8),
}
"""What the design asks of a kind; the others are shown beside them."""


def what_ifs(report: Report, model: Any) -> None:
    """Each kind of what-if, TOKENS of them on a text of TOKENS, against as many full runs."""
    table = report.table(
        f"{TOKENS} what-ifs against {TOKENS} full runs",
        LINES,
        f"One in {PART} of the full runs is run, between the what-ifs, and counted for all.",
    )
    capture = attnviz.capture(model, input_ids=passage.ids(model.tokenizer, TOKENS))
    kinds = _kinds(model.info.layers // 2)
    for changes in kinds.values():  # the shortcuts are tried once a model
        effects(model, capture, changes[:2])
    times = in_turns(
        lambda: run_forward(model.hf, capture.forward),
        {
            what: lambda changes=changes: effects(model, capture, changes)
            for what, changes in kinds.items()
        },
        runs=TOKENS,
        rounds=ROUNDS,
    )
    for what, pair in times.items():
        table.ratio(what, TOKENS, pair, REACH.get(what))


def in_turns(run_once: Way, kinds: dict[str, Way], *, runs: int, rounds: int) -> dict[str, Paired]:
    """Each kind against so many single runs. A round times every kind once, and a part of the
    runs before each: what else the machine did in the round, it did to all."""
    full: list[Spent] = []
    times: dict[str, list[Spent]] = {what: [] for what in kinds}
    names = list(kinds)
    each = max(1, runs // PART // len(names))
    for turn in range(rounds):
        total = Spent(0.0, 0.0)
        for number in range(len(names)):
            what = names[(turn + number) % len(names)]
            for _ in range(each):
                total += spent(run_once)
            times[what].append(spent(kinds[what]))
        full.append(total * (runs / (each * len(names))))
    return {what: Paired(full, taken) for what, taken in times.items()}


def _kinds(middle: int) -> dict[str, list[Sequence[Intervention]]]:
    last = TOKENS - 1
    places = [(layer, head) for layer in range(middle, middle + 8) for head in range(8)]
    return {
        "hide each key of the last row in one head": [
            [HideKeys(middle, 3, keys=(key,), queries=(last,))] for key in range(TOKENS)
        ],
        "hide each token everywhere": [[HideKeys(keys=(key,))] for key in range(TOKENS)],
        "set each value of one head to 0": [
            [ZeroValue(middle, 3, key=key)] for key in range(TOKENS)
        ],
        "put the mean in the place of each of 64 heads": [
            [Ablate(*place, how="mean", queries=(last,))] for place in places
        ],
    }
