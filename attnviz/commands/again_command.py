"""again: make what is in a file again, and compare."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from attnviz.commands import shared_options


def register(commands: Any) -> None:
    parser = shared_options.add(
        commands,
        "again",
        run,
        "make what is in a file again from what it says about itself, and compare",
        "Read a file that attnviz wrote, run the model it names on the text it names, with every "
        "what-if, and compare every number: of NPZ and HTML how far apart it is, of other files "
        "whether every bit is the same, by the digests in the file.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a file that attnviz wrote")
    parser.add_argument(
        "--model", metavar="NAME", help="where no name in the file loads it: a folder"
    )
    parser.add_argument(
        "--other-revision", action="store_true", help="go on with other weights of the model"
    )
    parser.add_argument(
        "--about", action="store_true", help="only print where the numbers come from, as JSON"
    )
    shared_options.add_output(parser)


def run(args: argparse.Namespace) -> int:
    from attnviz.export import read

    shared_options.check_output(args)
    saved = read(args.file)
    if args.about:
        print(json.dumps(saved.provenance, indent=2, ensure_ascii=False))
        return shared_options.EXIT_DONE
    model = None
    if args.model is not None:
        from attnviz.models import load

        model = load(
            args.model,
            dtype=saved.provenance.get("model", {}).get("dtype"),
            progress=shared_options.progress(args),
        )
    found = saved.again(
        model, progress=shared_options.progress(args), other_revision=args.other_revision
    )
    for note in found.notes:
        print(note, file=sys.stderr)
    shared_options.write(found.view, args)
    print(found.words)
    return shared_options.EXIT_DONE if found.same else shared_options.EXIT_REFUSED
