"""What the bench found: tables, printed row by row as they are measured, and written as one file.

What a line must reach is the design's own figure. Nothing passes or fails here: machines differ,
and a line that was not reached says so.
"""

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.paired import Paired

LINES = {
    "What": 56,
    "Tokens": 6,
    "Measured": 9,
    "Quartiles": 16,
    "Processor": 9,
    "Medians": 22,
    "Rounds": 6,
    "Must reach": 17,
    "Reached": 7,
}
"""The columns of a table of lines, each with the width that it is printed in."""


@dataclass(frozen=True)
class Reach:
    """What the design asks of a line: at most so much, at so many tokens (None: at any)."""

    most: float
    tokens: int | None = None


@dataclass
class Table:
    """One table: its columns with the width each is printed in, its rows, and words below it."""

    title: str
    columns: Mapping[str, int]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """A row, printed now."""
        row = tuple(str(cell) for cell in cells)
        if len(row) != len(self.columns):
            raise ValueError(f"{self.title}: {len(row)} cells in {len(self.columns)} columns.")
        self.rows.append(row)
        print(_aligned(row, self.columns), flush=True)

    def note(self, words: str) -> None:
        """A sentence that belongs to the table."""
        self.notes.append(words)
        print(f"  {words}", flush=True)

    def ratio(self, what: str, tokens: int, times: Paired, reach: "Reach | None" = None) -> None:
        """A line of `LINES`: the second way's time as a ratio of the first's, round by round: by
        the clock, and of the processor."""
        low, high = times.spread
        first, second = (
            statistics.median(one.seconds for one in way) for way in (times.first, times.second)
        )
        self.add(
            what,
            f"{tokens:,}",
            f"{times.ratio:.3f} x",
            f"{low:.3f} to {high:.3f}",
            f"{times.work:.3f} x",
            f"{duration(second)}, {duration(first)}",
            len(times.first),
            *_verdict(times.ratio, "x", tokens, reach),
        )

    def value(
        self,
        what: str,
        tokens: int,
        value: float,
        unit: str,
        reach: "Reach | None" = None,
        *,
        spread: tuple[float, float] | None = None,
        detail: str = "",
        rounds: int | str = "",
    ) -> None:
        """A line of `LINES` that is one number with a unit; 0 tokens where there is no text."""
        quartiles = "" if spread is None else f"{short(spread[0])} to {short(spread[1])}"
        shown = f"{short(value)} {unit}"
        self.add(
            what,
            f"{tokens:,}" if tokens else "",
            shown,
            quartiles,
            "",
            detail,
            rounds,
            *_verdict(value, unit, tokens, reach),
        )

    def missing(self, what: str, tokens: int, why: str) -> None:
        """A line of `LINES` that was not measured, and the reason."""
        self.add(what, f"{tokens:,}", "not run", *[""] * (len(self.columns) - 3))
        self.note(f"{what}, {tokens:,} tokens: {why}")


@dataclass
class Report:
    """All tables of one run, in order."""

    title: str
    about: Sequence[str]
    tables: list[Table] = field(default_factory=list)

    def table(self, title: str, columns: Mapping[str, int] = LINES, *notes: str) -> Table:
        """Start a table, printing its head now; one without columns is notes alone."""
        table = Table(title, columns)
        self.tables.append(table)
        print(f"\n{title}")
        for words in notes:
            table.note(words)
        if columns:
            print(_aligned(tuple(columns), columns), flush=True)
        return table

    def write(self, path: Path, *, closing: Sequence[str] = ()) -> None:
        """The whole as one Markdown file."""
        parts = [f"# {self.title}", "\n\n".join(self.about)]
        for table in self.tables:
            parts += [f"## {table.title}", *table.notes]
            parts += [_markdown(table)] if table.rows else []
        path.write_text("\n\n".join([*parts, *closing]) + "\n", encoding="utf-8")


def short(value: float) -> str:
    """A number in as many digits as it is worth: three, and no fewer than its whole part has."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 1:
        return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
    return f"{value:.3g}"


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them."""
    return f"{short(seconds)} s" if seconds >= 10 else f"{short(seconds * 1000)} ms"


def size(count: float) -> str:
    """Bytes in the unit that suits them, of thousands."""
    for unit, of in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= of:
            return f"{short(count / of)} {unit}"
    return f"{count:.0f} B"


def without_paths(text: str) -> str:
    """An error's words without the places of files on this machine."""
    return re.sub(r"(?:file:/*)?/[\w.+-]+(?:/[\w.+-]*)+", "a file", text)


def _verdict(value: float, unit: str, tokens: int, reach: Reach | None) -> tuple[str, str]:
    if reach is None:
        return "", ""
    most = f"{reach.most:,.4f}".rstrip("0").rstrip(".")
    if reach.tokens not in (None, tokens):
        return f"{most} {unit} at {reach.tokens:,}", ""
    return f"{most} {unit}", "yes" if value <= reach.most else "no"


def _aligned(row: Sequence[str], columns: Mapping[str, int]) -> str:
    first, *others = zip(row, columns.values(), strict=True)
    cells = [f"{first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in others)]
    return ("  " + "  ".join(cells)).rstrip()


def _markdown(table: Table) -> str:
    first, *others = table.columns
    lines = [[first, *others], ["---", *("---:" for _ in others)], *map(list, table.rows)]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
