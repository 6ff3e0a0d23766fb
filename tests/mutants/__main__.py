"""Wrong changes to the numeric modules, made by mutmut, and which of them no test notices.

    python -m tests.mutants [--share 0.1] [--write]

A sample of all mutants, the same each time for one share; `--share 1` tries every one, which takes
an hour or two. Ends with an error where fewer than FLOOR of them are noticed.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mutmut.stats import status_by_exit_code

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "mutants"  # mutmut's own
REPORT = ROOT / "tests" / "bench" / "MUTANTS.md"
FLOOR = 0.85
NOTICED = ("killed", "timeout", "segfault", "suspicious")
MOST_ARGUMENTS = 500  # mutants of one run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--share", type=float, default=0.1, help="of all mutants (default 0.1)")
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    options = parser.parse_args()
    _mutmut("run", "attnviz.nothing*")  # makes the mutants; sees which tests call which function
    names = sorted(_verdicts())
    sample = random.Random("mutants").sample(names, max(1, round(options.share * len(names))))
    for start in range(0, len(sample), MOST_ARGUMENTS):
        _mutmut("run", *sample[start : start + MOST_ARGUMENTS])
    verdicts = {name: verdict for name, verdict in _verdicts().items() if name in set(sample)}
    noticed = sum(verdict in NOTICED for verdict in verdicts.values())
    report = _report(verdicts, len(names))
    sys.stdout.write(report)
    if options.write:
        REPORT.write_text(report, encoding="utf-8")
    return int(noticed < FLOOR * len(verdicts))


def _mutmut(*arguments: str) -> None:
    workers = str(os.cpu_count() or 1)
    more = ("--max-children", workers) if arguments[0] == "run" else ()
    command = [sys.executable, "-m", "mutmut", arguments[0], *more, *arguments[1:]]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode and "nothing matches" not in done.stderr:
        raise SystemExit(done.stderr)


def _verdicts() -> dict[str, str]:
    """{mutant: what became of it}, from mutmut's own files."""
    found = {}
    for file in sorted(FOLDER.rglob("*.py.meta")):
        codes = json.loads(file.read_text(encoding="utf-8"))["exit_code_by_key"]
        found |= {name: status_by_exit_code[code] for name, code in codes.items()}
    return found


def _report(verdicts: dict[str, str], total: int) -> str:
    rooms: dict[str, list[str]] = {}
    for name in sorted(verdicts):
        rooms.setdefault(name.split(".")[1], []).append(name)
    lines = [
        "# Mutants",
        "",
        "Written by `make mutants`: wrong changes that mutmut makes to the numeric modules, and",
        f"how many of them some test notices. {len(verdicts):,} of {total:,} mutants were tried,",
        "drawn at random with a fixed seed. Words of errors are left alone.",
        "",
        "| module | tried | noticed | share |",
        "|---|---|---|---|",
    ]
    for room, names in rooms.items():
        lines.append(_row(f"attnviz/{room}", names, verdicts))
    lines += [_row("all", sorted(verdicts), verdicts), "", "## Not noticed", ""]
    for name in sorted(verdicts):
        if verdicts[name] not in NOTICED:
            lines += [f"`{name}`: {verdicts[name]}", "", "```diff", *_change(name), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _row(title: str, names: Sequence[str], verdicts: dict[str, str]) -> str:
    noticed = sum(verdicts[name] in NOTICED for name in names)
    return f"| {title} | {len(names)} | {noticed} | {noticed / len(names):.1%} |"


def _change(name: str) -> list[str]:
    """The lines that the mutant changes."""
    command = [sys.executable, "-m", "mutmut", "show", name]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    return [line for line in shown if line[:1] in "+-" and line[:3] not in ("+++", "---")]


if __name__ == "__main__":
    sys.exit(main())
