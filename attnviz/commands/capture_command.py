"""capture: one head of a model on a text, said, and written into files."""

import argparse
import sys
from typing import Any

from attnviz.commands import shared_options

_EXAMPLE = "python -m attnviz capture smollm2-135m 'The cat sat' --layer 17 --head 5 --out head.npz"


def register(commands: Any) -> None:
    parser = shared_options.add(
        commands,
        "capture",
        run,
        "run a model on a text and save one head: scores, weights, mask, contributions",
        "Run a model on a text, say what one head attends to, and save it as a picture, as data, "
        f"as an offline page or as Python. For example: {_EXAMPLE}",
    )
    shared_options.add_input(parser)
    parser.add_argument("--layer", type=int, required=True, metavar="N", help="counted from 0")
    parser.add_argument("--head", type=int, required=True, metavar="N", help="counted from 0")
    parser.add_argument(
        "--query", type=int, metavar="N", help="the row that is read; the last token by default"
    )
    parser.add_argument(
        "--stage", metavar="NAME", help="a score stage to save too: dot, scaled, capped, biased"
    )
    parser.add_argument(
        "--measure",
        default="contribution_norm",
        metavar="NAME",
        help="what contributions are measured by",
    )
    parser.add_argument(
        "--what-if",
        action="append",
        default=[],
        metavar="CHANGE",
        help="a change, such as 'HideKeys(17, 5, keys=[6])' or 'Temper(temperature=2.0)'; may be "
        "given several times",
    )
    parser.add_argument(
        "--whole", action="store_true", help="of a long text, all of it and not a window"
    )
    shared_options.add_output(parser)


def run(args: argparse.Namespace) -> int:
    from attnviz.capture import capture
    from attnviz.export import head_view
    from attnviz.export.changes import from_words
    from attnviz.interventions import run as run_with

    shared_options.check_output(args)
    changes = [from_words(words) for words in args.what_if]
    options = shared_options.options_of(args)
    model = shared_options.model_of(args)
    if not args.quiet:
        print("Running the model", file=sys.stderr)
    found = capture(model, **options)
    shared_options.say(found, args)
    view = head_view(
        run_with(model, interventions=changes, baseline=found) if changes else found,
        args.layer,
        args.head,
        args.stack,
        query=args.query,
        stage=args.stage,
        measure=args.measure,
        whole=args.whole,
    )
    shared_options.write(view, args)
    return shared_options.EXIT_DONE
