"""Corpus: texts in a fixed order, from files or from a list, one in memory at a time."""

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnviz.errors import BadInput
from attnviz.parquet import arrow

SUFFIXES = (".txt", ".md", ".jsonl", ".csv", ".parquet")
PROBES = "probes"
"""The name of the package's own generated texts, in the place of a path."""

Found = Iterator[tuple[str, str, str]]  # name, text, problem


@dataclass(frozen=True)
class Text:
    """One text of a corpus.

    Attributes:
        number: its place in the corpus, from 0.
        name: where it is from, such as "news.jsonl:12".
        text: the text.
        problem: why it could not be read, in words; empty where it could.
    """

    number: int
    name: str
    text: str
    problem: str = ""


@dataclass(frozen=True)
class Corpus:
    """Texts that can be gone through again and again, in the same order.

    Attributes:
        name: of the corpus; a file's or a folder's own name, never its path.
        start: begins a new round.
        count: how many texts there are; None where counting would mean reading them all.
    """

    name: str
    start: Callable[[], Found]
    count: int | None = None

    def __iter__(self) -> Iterator[Text]:
        for number, (name, text, problem) in enumerate(self.start()):
            # a file's name need not be UTF-8, and a table's text must be
            spelt = name.encode("utf-8", "backslashreplace").decode()
            yield Text(number, spelt, text, problem)


def read_corpus(source: Any, *, column: str = "text") -> Corpus:
    """The texts of a source.

    Args:
        source: a .txt or .md file, a text a line; a .jsonl, .csv or .parquet file, a text a row;
            a folder of such files, where a .txt or .md file is one text; "probes", texts that
            this package makes; a list of texts, or of (name, text). Blank texts are left out.
        column: the field of a .jsonl, .csv or .parquet row that holds the text.

    Raises:
        BadInput: there is no such file, or none that can be read.

    >>> [text.text for text in read_corpus(["the cat", "", "sat"])]
    ['the cat', 'sat']
    """
    if isinstance(source, Corpus):
        return source
    if isinstance(source, str | Path):
        if str(source) == PROBES:
            from attnviz.survey.rule_corpus import probe_texts

            return _corpus_of_list(PROBES, probe_texts())
        return _corpus_of_path(Path(source), column)
    return _corpus_of_list("texts", source)


def _corpus_of_list(name: str, texts: Iterable[Any]) -> Corpus:
    named = [
        (f"text {number}", text) if isinstance(text, str) else tuple(text)
        for number, text in enumerate(texts)
    ]
    kept = [(label, text, "") for label, text in named if text.strip()]
    return Corpus(name, lambda: iter(kept), len(kept))


def _corpus_of_path(path: Path, column: str) -> Corpus:
    if not path.exists():
        raise BadInput(
            what=f"There is no corpus {path.name!r}.",
            why="No file or folder of that name was found.",
            todo=f'Give a file or a folder of {", ".join(SUFFIXES)}, or "{PROBES}".',
        )
    if path.is_file():
        _check_suffix(path)
        return Corpus(path.name, lambda: _read(path, path.name, column, by_line=True))
    files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not files:
        raise BadInput(
            what=f"The folder {path.name!r} holds no texts.",
            why=f"It has no file that ends in {', '.join(SUFFIXES)}.",
            todo="Give a folder with texts in it.",
        )

    def each() -> Found:
        for file in files:
            yield from _read(file, file.relative_to(path).as_posix(), column, by_line=False)

    return Corpus(path.name, each)


def _check_suffix(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise BadInput(
            what=f"{path.name!r} cannot be read as a corpus.",
            why=f"Its name does not end in {', '.join(SUFFIXES)}.",
            todo="Rename it if it is one of these.",
        )


def _read(path: Path, name: str, column: str, *, by_line: bool) -> Found:
    rows = {".jsonl": _json_lines, ".csv": _csv, ".parquet": _parquet}.get(path.suffix)
    if rows is None:
        found = _lines(path, name) if by_line else iter([(name, _whole(path), "")])
    else:
        found = rows(path, name, column)
    return (one for one in found if one[1].strip() or one[2])


def _whole(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig", errors="replace")


def _lines(path: Path, name: str) -> Found:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            yield f"{name}:{number}", line.rstrip("\r\n"), ""


def _json_lines(path: Path, name: str, column: str) -> Found:
    for label, line, _ in _lines(path, name):
        if not line.strip():
            continue
        try:
            yield label, *_field(json.loads(line), column)
        except (ValueError, RecursionError):  # also a number of thousands of digits
            yield label, "", "The line is not JSON."


def _csv(path: Path, name: str, column: str) -> Found:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.DictReader(file)
        if column not in (reader.fieldnames or ()):
            raise _no_column(name, column, list(reader.fieldnames or ()))
        for number, row in enumerate(reader, start=1):
            yield f"{name}:{number}", *_field(row, column)


def _parquet(path: Path, name: str, column: str) -> Found:
    arrows, parquet = arrow()
    try:
        yield from _parquet_rows(parquet, path, name, column)
    except arrows.ArrowException as error:
        raise BadInput(
            what=f"{name} cannot be read.",
            why="It is damaged, or no Parquet file.",
            todo="Write it again.",
        ) from error


def _parquet_rows(parquet: Any, path: Path, name: str, column: str) -> Found:
    with parquet.ParquetFile(path) as file:
        if column not in file.schema_arrow.names:
            raise _no_column(name, column, file.schema_arrow.names)
        number = 0
        for batch in file.iter_batches(batch_size=256, columns=[column]):
            for value in batch.column(0).to_pylist():
                number += 1
                yield f"{name}:{number}", *_field({column: value}, column)


def _field(row: Any, column: str) -> tuple[str, str]:
    """(text, problem) of a row."""
    value = row.get(column) if isinstance(row, dict) else None
    if isinstance(value, str):
        return value, ""
    return "", f"The row has no text in {column!r}."


def _no_column(name: str, column: str, columns: list[str]) -> BadInput:
    return BadInput(
        what=f"{name} has no column {column!r}.",
        why=f"Its columns are {', '.join(map(str, columns)) or 'none'}.",
        todo="Name the one that holds the texts.",
    )
