"""The command line: python -m attnviz COMMAND. Each command is a module of attnviz.commands."""

import argparse
import os
import sys
from collections.abc import Callable

from attnviz.commands import (
    again_command,
    capture_command,
    check_command,
    heads_command,
    survey_command,
)
from attnviz.commands.shared_options import EXIT_DONE, EXIT_REFUSED, EXITS
from attnviz.errors import AttnvizError

Command = Callable[[argparse.Namespace], int]


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a token may hold a letter that the console lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        run: Command = args.run
        code = run(args)
        sys.stdout.flush()
        return code
    except AttnvizError as error:
        for part in (error.what, error.why, error.todo):
            if part:
                print(part, file=sys.stderr)
        return EXIT_REFUSED
    except BrokenPipeError:  # whoever read the output has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m attnviz",
        description="Attention scores beside attention weights.",
        epilog=EXITS,
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in (capture_command, heads_command, survey_command, again_command, check_command):
        command.register(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
