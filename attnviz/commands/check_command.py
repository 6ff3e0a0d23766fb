"""check: is a matrix attention scores, attention weights, or something else?"""

import argparse
import sys
from typing import Any

from attnviz.commands import shared_options
from attnviz.errors import BadInput


def register(commands: Any) -> None:
    parser = shared_options.add(
        commands,
        "check",
        run,
        "say whether a matrix is attention scores or attention weights",
        "Say whether the matrix in a file is attention scores, attention weights or "
        "something else, with the evidence and with what cannot be told.",
    )
    parser.add_argument(
        "file", metavar="FILE", help="CSV, TSV, JSON, NPY, NPZ or plain text; - reads a text here"
    )
    parser.add_argument(
        "--choose",
        metavar="WHICH",
        default="",
        help="which matrix of FILE, where it holds several: a name, or places such as 0,3",
    )
    parser.add_argument(
        "--against", metavar="FILE", help="a second matrix: is one the softmax of the other?"
    )
    parser.add_argument(
        "--choose-against",
        metavar="WHICH",
        default="",
        help="which matrix of the second file",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="NUMBER",
        help="how far from 1 a row of weights may add up to; by default by the numbers' precision",
    )
    parser.add_argument(
        "--model", metavar="NAME", help="look for the head of this model that it comes from"
    )
    parser.add_argument("--text", metavar="TEXT", help="the text that the model read")


def run(args: argparse.Namespace) -> int:
    from attnviz.matrix_check import check_matrix

    if (args.model is None) != (args.text is None):
        raise BadInput(
            what="A model and a text are needed together.",
            why="A head is looked for in one model on one text.",
            todo="Give both --model and --text, or neither.",
        )
    matrix = _read(args.file, args.choose)
    other = None if args.against is None else _read(args.against, args.choose_against)
    print(check_matrix(matrix, other, tolerance=args.tolerance).as_text())
    if args.model is not None:
        print()
        print(_matched(matrix, args.model, args.text))
    return shared_options.EXIT_DONE


def _read(path: str, choose: str) -> object:
    from attnviz.matrix_check.matrix_file import MAX_BYTES, read_matrix, read_matrix_file

    if path == "-":
        reading = read_matrix(sys.stdin.buffer.read(MAX_BYTES + 1), choose)
    else:
        reading = read_matrix_file(path, choose)
    for note in reading.notes:
        print(note, file=sys.stderr)
    return reading.matrix


def _matched(matrix: object, model: str, text: str) -> str:
    from attnviz.capture import capture
    from attnviz.matrix_check.match import describe_match
    from attnviz.models import load

    return describe_match(matrix, capture(load(model), text))
