"""heads: what kind of head each head of a model is, on a text."""

import argparse
from typing import Any

from attnviz.commands import parts


def register(commands: Any) -> None:
    parser = parts.add(
        commands,
        "heads",
        run,
        "measure every head of a model on a text",
        "Measure every head of a model on a text: induction, previous token, first token and the "
        "like, each with its null and its ceiling.",
    )
    parts.add_input(parser)
    parser.add_argument(
        "--measure", default="induction", metavar="NAME", help="the measure that is drawn"
    )
    parts.add_output(parser)


def run(args: argparse.Namespace) -> int:
    from attnviz.capture import capture
    from attnviz.detectors import profile
    from attnviz.export import heads_view

    parts.check_output(args)
    options = parts.options_of(args)
    found = capture(parts.model_of(args), **options)
    parts.say(found, args)

    tell = parts.progress(args)
    known = profile(
        found, args.stack, progress=lambda done, total: tell("Measuring every head", done / total)
    )
    view = heads_view(found, args.stack, measure=args.measure, found=known)
    parts.write(view, args)
    return parts.EXIT_DONE
