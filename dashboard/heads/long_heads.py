"""All heads of a long text: what is measured at once, and what waits for a click, with its cost."""

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from attnviz.progress import ignore_progress
from dashboard.session import all_heads, backend, slow_results

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.detectors import HeadProfile, Thumbnails

ROWS = 512  # of a long text that are measured without being asked
_TIMED = (16, 80)  # rows that an estimate is made from


def is_long(capture: "Capture", stack: str) -> bool:
    return len(capture.query_tokens(stack)) > backend.MAX_TOKENS


def profile(ask: backend.Ask, capture: "Capture", stack: str) -> "HeadProfile":
    """The measures of every head: over all rows, or of a long text over some of them, evenly
    spread, until all are asked for."""
    rows = rows_measured(ask, capture, stack)
    with slow_results.draw_bar("Measuring every head") as step:
        return all_heads.measure_profile(ask, stack, step, rows)


def rows_measured(ask: backend.Ask, capture: "Capture", stack: str) -> int | None:
    """How many rows the measures are of; None: all."""
    whole = backend.has_experiment(ask, all_heads.profile_name(stack, None))
    return None if whole or not is_long(capture, stack) else ROWS


def offer_all_rows(ask: backend.Ask, capture: "Capture", stack: str) -> None:
    """A button that measures every row of a long text, where that was not done before."""
    from attnviz.detectors import profile as measure

    if rows_measured(ask, capture, stack) is None:
        return
    count = len(capture.query_tokens(stack))
    slow_results.show_result(
        "heads_rows",
        ask,
        all_heads.profile_name(stack, None),
        lambda model, cap, step: measure(cap, stack, progress=step),
        cost=lambda: _cost(ask, stack, "profile"),
        label=f"Measure all {count:,} rows",
        note=f"The measures are of {ROWS:,} of {count:,} rows, evenly spread.",
    )


def maps(ask: backend.Ask, capture: "Capture", stack: str) -> "Thumbnails | None":
    """The small maps; of a long text, None until they are asked for."""
    from attnviz.detectors import thumbnails

    if not is_long(capture, stack):
        with slow_results.draw_bar("Drawing every head") as step:
            return all_heads.make_maps(ask, stack, step)
    return slow_results.show_result(
        "heads_maps",
        ask,
        all_heads.maps_name(stack),
        lambda model, cap, step: thumbnails(cap, stack, progress=step),
        cost=lambda: _cost(ask, stack, "maps"),
        label="Draw every head as a small map",
        note="Until then, heads are coloured by the measure.",
    )


def _cost(ask: backend.Ask, stack: str, what: str) -> float:
    """Seconds for all rows of all layers, from a few that are timed."""
    timed = {"profile": _profile_seconds, "maps": _maps_seconds}[what]
    name = ("heads cost", what, stack)
    return float(
        backend.get_experiment(ask, name, lambda model, cap: timed(cap, stack), ignore_progress)
    )


def _profile_seconds(capture: "Capture", stack: str) -> float:
    """From what more rows take than few: what comes once a layer is in both."""
    from attnviz.detectors import profile as measure

    few, more = (_seconds(partial(measure, capture, stack, rows=rows)) for rows in _TIMED)
    rows = _TIMED[1] - _TIMED[0]
    return few + max(more - few, 0) * len(capture.query_tokens(stack)) / rows


def _maps_seconds(capture: "Capture", stack: str) -> float:
    """From rows in the middle of the text, which in a decoder see half of it."""
    from attnviz.capture.row_chunks import BlockRows

    count, layers = len(capture.query_tokens(stack)), capture.layers(stack)
    heads = BlockRows(capture.block(layers[len(layers) // 2], stack))
    rows = range(max(0, count // 2 - _TIMED[0]), count // 2)
    heads.chunk(rows)  # the first is slower than the rest
    return _seconds(lambda: heads.chunk(rows)) * count / len(rows) * len(layers)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
