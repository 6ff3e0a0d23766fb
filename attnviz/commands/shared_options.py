"""What the commands share: exit codes, the text, the model with its progress, the file."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnviz.errors import BadInput

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.export import View
    from attnviz.models import LoadedModel

EXIT_DONE, EXIT_REFUSED, EXIT_USAGE = 0, 1, 2
EXITS = (
    "exit codes: 0 the command did what was asked; 1 the input or the model was refused, or what "
    "was made again is not the same, with the reason on the error output; 2 the command line is "
    "wrong"
)


def add(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    help: str,
    description: str,
) -> argparse.ArgumentParser:
    """A command of that name, with the parts that every one has."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=description, epilog=EXITS
    )
    parser.set_defaults(run=run)
    return parser


def add_input(parser: argparse.ArgumentParser) -> None:
    """The model, the text, and how it is read."""
    parser.add_argument(
        "model", metavar="MODEL", help="a catalog name, a Hub id, or a folder that begins with ./"
    )
    parser.add_argument("text", metavar="TEXT", help="the text; - reads it from the input")
    parser.add_argument("--pair", metavar="TEXT", help="the second text of a pair")
    parser.add_argument(
        "--target", metavar="TEXT", help="what the decoder of an encoder-decoder reads"
    )
    parser.add_argument("--dtype", metavar="TYPE", help="float32 by default, bfloat16, float16")
    parser.add_argument(
        "--revision", metavar="COMMIT", help="of a Hub model; the newest by default"
    )
    parser.add_argument(
        "--no-special", action="store_true", help="leave out the tokens that a tokenizer adds"
    )
    parser.add_argument(
        "--cut", action="store_true", help="cut a text that is longer than the model takes"
    )
    parser.add_argument(
        "--stack", choices=("decoder", "encoder", "cross"), help="the decoder by default"
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Where the files go."""
    parser.add_argument(
        "--out",
        metavar="FILE",
        action="append",
        default=[],
        type=Path,
        help="a file to write, by its ending: svg, png, csv, parquet, npz, json, html or py; may "
        "be given several times",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on the error output")


def model_of(args: argparse.Namespace) -> "LoadedModel":
    """The model, with its progress on the error output."""
    from attnviz.models import load

    model = load(args.model, dtype=args.dtype, revision=args.revision, progress=progress(args))
    for note in model.notes:
        print(note, file=sys.stderr)
    return model


def progress(args: argparse.Namespace) -> Callable[[str, float | None], None]:
    """Tells what is done on the error output, a line a step; nothing where --quiet was given."""
    last: list[tuple[str, int]] = []

    def tell(words: str, fraction: float | None) -> None:
        tenth = int((fraction or 0) * 10)
        if args.quiet or last[-1:] == [(words, tenth)]:
            return
        last.append((words, tenth))
        share = "" if fraction is None else f" {fraction:.0%}"
        print(f"{words}{share}", file=sys.stderr)

    return tell


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """The text and its options as `attnviz.capture` takes them."""
    options: dict[str, Any] = {
        "text": text_of(args.text),
        "text_pair": args.pair,
        "target": args.target,
        "cut": args.cut,
    }
    return options | ({"add_special_tokens": False} if args.no_special else {})


def text_of(given: str) -> str:
    """The text, or what stands in the input."""
    if given != "-":
        return given
    try:
        return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise BadInput(
            what="The input is not a text in UTF-8.",
            why=f"Byte {error.start} has no meaning there.",
            todo="Give a text in UTF-8.",
        ) from error


def say(capture: "Capture", args: argparse.Namespace) -> None:
    """What a reader should know of a capture, on the error output."""
    for note in capture.notes:
        print(note, file=sys.stderr)
    receipt = capture.receipt
    if not args.quiet:
        print(
            f"{receipt.recorded} of {receipt.expected} attention blocks recorded, largest error "
            f"{receipt.largest_error:.0e}",
            file=sys.stderr,
        )


def write(view: "View", args: argparse.Namespace) -> None:
    """What is to be seen, on the output, and every file that was asked for."""
    print(view.title)
    print(view.finding)
    for path in args.out:
        view.save(path)
        print(f"{path}: {path.stat().st_size:,} bytes", file=sys.stderr)


def check_output(args: argparse.Namespace) -> None:
    """Refuse the ending of a file before a model is loaded for it."""
    from attnviz.export import KINDS

    for path in args.out:
        if path.suffix.removeprefix(".").lower() not in KINDS:
            raise BadInput(
                what=f"There is no file of the kind of {path.name}.",
                why="The ending of its name says what a file is to hold.",
                todo=f"Choose one of {', '.join(KINDS)}.",
            )
        if not path.absolute().parent.is_dir():
            raise BadInput(
                what=f"There is no folder for {path.name}.",
                todo="Give a path in a folder that is there.",
            )
