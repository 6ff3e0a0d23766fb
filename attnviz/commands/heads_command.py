"""heads: what kind of head each head of a model is, on a text."""

import argparse
from typing import Any

from attnviz.commands import shared_options


def register(commands: Any) -> None:
    parser = shared_options.add(
        commands,
        "heads",
        run,
        "measure every head of a model on a text",
        "Measure every head of a model on a text: induction, previous token, first token and the "
        "like, each with its null and its ceiling.",
    )
    shared_options.add_input(parser)
    parser.add_argument(
        "--measure", default="induction", metavar="NAME", help="the measure that is drawn"
    )
    shared_options.add_output(parser)


def run(args: argparse.Namespace) -> int:
    from attnviz.capture import capture
    from attnviz.detectors import profile
    from attnviz.export import heads_view

    shared_options.check_output(args)
    options = shared_options.options_of(args)
    found = capture(shared_options.model_of(args), **options)
    shared_options.say(found, args)

    tell = shared_options.progress(args)
    known = profile(
        found, args.stack, progress=lambda done, total: tell("Measuring every head", done / total)
    )
    view = heads_view(found, args.stack, measure=args.measure, found=known)
    shared_options.write(view, args)
    return shared_options.EXIT_DONE
