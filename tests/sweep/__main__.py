"""`python -m tests.sweep [--only NAME ...] [--write]`: the verdict on every text architecture."""

import argparse
import sys
from collections import Counter

from tests.sweep.check import CRASH, REFUSED, UNBUILT, WRONG, Verdict
from tests.sweep.sweep import sweep


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sweep", description=__doc__)
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="types or classes")
    parser.add_argument("--write", action="store_true", help="write the table into the package")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write needs every row")
    verdicts = sweep(options.only, _show)
    counts = Counter(verdict.verdict for verdict in verdicts)
    sys.stdout.write("\n")
    for name, count in counts.most_common():
        sys.stdout.write(f"{count:4} {name}\n")
    if options.write:
        from tests.sweep.table import write

        write(verdicts)
    return int(bool(counts[WRONG] or counts[CRASH]))


def _show(done: int, of: int, verdict: Verdict) -> None:
    line = f"{done:3}/{of} {verdict.model_type:24} {verdict.name:44} {verdict.verdict:18}"
    said = verdict.reason if verdict.verdict in (REFUSED, UNBUILT, WRONG, CRASH) else ""
    extra = f" padding {verdict.padding}" if verdict.padding not in ("", "exact") else ""
    sys.stdout.write(f"{line} {said}{extra}".rstrip() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
