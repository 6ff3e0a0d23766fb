"""survey: every head of a model over a corpus of texts."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnviz.commands import shared_options
from attnviz.errors import BadInput
from attnviz.survey.corpus import PROBES, SUFFIXES
from attnviz.survey.defaults import ENGINES, EXAMPLES, MAX_TOKENS

if TYPE_CHECKING:
    from attnviz.survey import Progress, Survey

_MOST = 8  # heads named at the end
_MILLION = 1_000_000
_CREWS = (1, 8, 64)  # workers that a plan is made for


def register(commands: Any) -> None:
    parser = shared_options.add(
        commands,
        "survey",
        run,
        "measure every head of a model over a corpus of texts",
        "Measure every head of a model over a corpus: means, variances and quantiles of every "
        "measure, and for each head the texts that show it best. Parts are kept as they are "
        "through: a survey that was stopped goes on when the same command is given again.",
    )
    parser.add_argument(
        "model", metavar="MODEL", help="a catalog name, a Hub id, or a folder that begins with ./"
    )
    parser.add_argument(
        "corpus",
        metavar="CORPUS",
        help=f"a file or a folder of {', '.join(SUFFIXES)}; or {PROBES}, texts made by attnviz",
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="the folder of the survey; needed without --plan"
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help="measure the first texts, print what all of them and a million would take, and stop",
    )
    parser.add_argument(
        "--column", metavar="NAME", default="text", help="the field that holds the text"
    )
    parser.add_argument(
        "--max-tokens",
        metavar="N",
        type=int,
        default=MAX_TOKENS,
        help=f"longer texts are cut to their beginning; {MAX_TOKENS:,} by default",
    )
    parser.add_argument(
        "--examples", metavar="N", type=int, default=EXAMPLES, help="kept for each head"
    )
    parser.add_argument("--dtype", metavar="NAME", help="such as bfloat16; float32 by default")
    parser.add_argument(
        "--device-map", metavar="MAP", help="where the model goes, such as auto or cuda"
    )
    parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0], help="where it runs")
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="of Ray")
    parser.add_argument("--gpus", metavar="N", type=float, default=0, help="of each worker")
    parser.add_argument(
        "--address", metavar="ADDRESS", help="of a running Ray cluster; else one is started here"
    )
    parser.add_argument(
        "--measure", metavar="NAME", default="induction", help="what the heads named last excel in"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on the error output")


def run(args: argparse.Namespace) -> int:
    if args.plan:
        return _plan(args)
    from attnviz.detectors import HEAD_MEASURES
    from attnviz.survey import survey

    if args.out is None:
        raise BadInput(
            what="There is no folder for the survey.",
            why="Its parts and its tables are kept in one.",
            todo="Give --out DIR.",
        )
    if args.measure not in HEAD_MEASURES:
        raise BadInput(
            what=f"There is no head measure {args.measure!r}.",
            todo=f"Choose one of {', '.join(HEAD_MEASURES)}.",
        )
    found = survey(
        args.model,
        args.corpus,
        args.out,
        column=args.column,
        max_tokens=args.max_tokens,
        examples=args.examples,
        dtype=args.dtype,
        device_map=args.device_map,
        engine=args.engine,
        workers=args.workers,
        gpus=args.gpus,
        address=args.address,
        progress=None if args.quiet else _telling(),
    )
    made = found.provenance
    print(
        f"{made['texts']:,} texts, {made['tokens']:,} tokens, {made['cut']:,} texts cut, "
        f"{made['failed']:,} left out"
    )
    for line in _best(found, args.measure, -1 if HEAD_MEASURES[args.measure].falls else 1):
        print(line)
    return shared_options.EXIT_DONE


def _plan(args: argparse.Namespace) -> int:
    from attnviz.survey import plan

    found = plan(
        args.model,
        args.corpus,
        column=args.column,
        max_tokens=args.max_tokens,
        examples=args.examples,
        dtype=args.dtype,
        device_map=args.device_map,
    )
    memory = f", {found.memory / 1e9:.2f} GB at most" if found.memory else ""
    print(
        f"measured here: {found.texts} texts of {found.tokens:,.0f} tokens in the mean, "
        f"{found.seconds:.3g} s a text on one worker of one thread{memory}"
    )
    for texts in sorted({_MILLION, found.count or _MILLION}):
        hours = {n: found.duration(texts, n) / 3600 for n in _CREWS}
        shown = ", ".join(f"{each:,.2f} on {n}" for n, each in hours.items())
        print(f"{texts:,} texts, hours by workers: {shown}")
        print(
            f"  of which {texts * found.adding / 3600:,.2f} to add up the parts at the end; "
            f"{texts * found.stored / 1e9:,.3f} GB of parts until then"
        )
    return shared_options.EXIT_DONE


def _telling() -> Callable[["Progress"], None]:
    """A line a hundredth of the corpus, or each hundred texts of one whose size is not known."""
    last = [-1]

    def tell(progress: "Progress") -> None:
        step = 100 * progress.done // progress.total if progress.total else progress.done // 100
        if step == last[0]:
            return
        last[0] = step
        of = f" of {progress.total:,}" if progress.total else ""
        left = progress.seconds_left
        rest = "" if left is None else f", {left / 60:,.0f} min left"
        print(f"{progress.done:,}{of} texts, {progress.rate:.2f} a second{rest}", file=sys.stderr)

    return tell


def _best(found: "Survey", measure: str, way: int) -> list[str]:
    """The heads that stand out by a measure, each with what it stands against."""
    import numpy as np

    values, null = found.grid(measure), found.grid(measure, "null")
    order = np.argsort(-np.nan_to_num(way * values, nan=-np.inf), axis=None)[:_MOST]
    places = [divmod(int(place), values.shape[1]) for place in order]
    return [
        f"layer {layer}, head {head}: {measure} {values[layer, head]:.3f}, null "
        f"{null[layer, head]:.3f}"
        for layer, head in places
        if np.isfinite(values[layer, head])
    ]
