"""Numbers out of pasted text: tables, printed arrays and tensors, whitespace, percent signs."""

import csv
import io
import json
import re
from typing import Any

import numpy as np

from attnviz.errors import BadInput
from attnviz.matrix_check.verdict import Matrix

_NUMBER = re.compile(
    r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?%?|[+-]?(?:inf|infinity)|nan", re.I
)
_BLANK = {"", "-", "--", "na", "n/a", "null", "none", "."}
_PRINTED = re.compile(r"^\s*(?:\w+\.)*(?:tensor|array|Array|matrix)?\s*\(?\s*\[")
_LONGEST_NUMBER = 64  # characters

csv.field_size_limit(1 << 20)


def table_of(text: str) -> tuple[Matrix, list[str]]:
    """The numbers of a text that is no JSON, and notes on what was left out.

    A cell without a number is NaN. A first row or column of labels is left out.

    Raises:
        BadInput: no table of numbers, or rows of different lengths.
    """
    text = text.translate({0x2212: "-", 0xA0: " ", 0xFEFF: None, 0x202F: " "})
    rows = _printed(text) if _PRINTED.match(text) else _separated(text)
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        raise BadInput(
            what="There are no numbers.",
            why="The text is empty or holds blank lines only.",
            todo="Paste a matrix: a line a row, its numbers set apart by spaces, commas or tabs.",
        )
    return _numbers(rows)


def _printed(text: str) -> list[list[str]]:
    """Rows of a numpy array or a tensor as Python prints it: the innermost brackets."""
    if "..." in text:
        raise _cut_short()
    body = text[: text.rfind("]") + 1]  # what follows is a dtype or a device
    if re.search(r"\[\s*\[\s*\[", body):
        raise BadInput(
            what="This is more than one matrix.",
            why="The printed array has three axes or more.",
            todo="Print one head of it, such as array[0], or save it to a file and choose there.",
        )
    return [re.split(r"[,\s]+", row.strip()) for row in re.findall(r"\[([^\[\]]*)\]", body)]


def _separated(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.strip()]
    for mark in ("\t", ";", ","):
        if sum(mark in line for line in lines) >= len(lines) / 2:
            break
    else:
        return [line.split() for line in lines]
    try:
        rows = list(
            csv.reader(io.StringIO("\n".join(lines)), delimiter=mark, skipinitialspace=True)
        )
    except csv.Error as error:
        raise BadInput(
            what="The table cannot be read.",
            why="A quote is not closed, or a cell is far too long.",
            todo="Leave the labels out and give the numbers alone.",
        ) from error
    if mark != ",":  # then a comma inside a number is a decimal comma
        rows = [
            [re.sub(r"^([+-]?\d+),(\d+)", r"\1.\2", cell.strip()) for cell in row] for row in rows
        ]
    # A line may end with the mark.
    if rows and all(len(row) > 1 and not row[-1].strip() for row in rows):
        rows = [row[:-1] for row in rows]
    return rows


def _numbers(rows: list[list[str]]) -> tuple[Matrix, list[str]]:
    notes: list[str] = []
    rows = [[cell.strip().strip("\"'") for cell in row] for row in rows]
    rows, notes = _without_labels(rows)
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise _ragged(rows)
    bad = [
        (r, c, cell)
        for r, row in enumerate(rows)
        for c, cell in enumerate(row)
        if not _is_cell(cell)
    ]
    if any(cell in ("...", "\u2026") for _, _, cell in bad):
        raise _cut_short()
    if bad:
        row, column, cell = bad[0]
        raise BadInput(
            what=f"{len(bad)} of {len(rows) * len(rows[0])} cells are not numbers.",
            why=f"The first is {cell[:40]!r}, in row {row} and column {column}, counted from 0.",
            todo="Give numbers only; labels may stand in the first row and the first column.",
        )
    percent = sum(cell.endswith("%") for row in rows for cell in row)
    values = np.array([[_value(cell) for cell in row] for row in rows], np.float64)
    if percent:
        notes.append(f"{percent} numbers had a percent sign and were divided by 100.")
    return values, notes


def _without_labels(rows: list[list[str]]) -> tuple[list[list[str]], list[str]]:
    """Leave out a first row and a first column of labels; a label may look like a number."""
    notes = []
    header = len(rows) > 1 and (_mostly_words(rows[0]) or _corner(rows))
    body = rows[1:] if header else rows
    column = [row[0] for row in body if row]
    wide = all(len(row) > 1 for row in body)
    labels = wide and ((header and _corner(rows)) or _mostly_words(column))
    if header:
        notes.append("The first row was read as labels.")
    if labels:
        notes.append("The first column was read as labels.")
        body = [row[1:] for row in body]
    return body, notes


def _corner(rows: list[list[str]]) -> bool:
    """An empty or missing corner over a full column: a table that was saved with its row names."""
    first, widths = rows[0], {len(row) for row in rows[1:]}
    if len(first) < 2 or len(widths) != 1:
        return False
    counted = [str(place) for place in range(len(first))]
    missing = widths == {len(first) + 1} and (_mostly_words(first) or first == counted)
    empty = not first[0] and all(first[1:]) and all(row[0] for row in rows[1:])
    return missing or (empty and widths == {len(first)})


def _mostly_words(cells: list[str]) -> bool:
    """More than half of the cells are neither numbers nor blank."""
    return sum(not _is_cell(cell) for cell in cells) * 2 > len(cells)


def _is_cell(cell: str) -> bool:
    # A bound on the length keeps the search for a number short.
    number = len(cell) <= _LONGEST_NUMBER and _NUMBER.fullmatch(cell) is not None
    return number or cell.lower() in _BLANK


def _value(cell: str) -> float:
    if cell.lower() in _BLANK:
        return float("nan")
    return float(cell[:-1]) / 100 if cell.endswith("%") else float(cell)


def _cut_short() -> BadInput:
    return BadInput(
        what="The numbers are cut short with dots.",
        why="A large array prints its ends only.",
        todo="Print all of it (numpy.set_printoptions(threshold=10**9)) or save it to a file.",
    )


def _ragged(rows: list[list[str]]) -> BadInput:
    widths = [len(row) for row in rows]
    usual = max(set(widths), key=widths.count)
    odd = next(place for place, width in enumerate(widths) if width != usual)
    return BadInput(
        what="The rows have different lengths.",
        why=f"Row {odd}, counted from 0, has {widths[odd]} cells where others have {usual}.",
        todo="Give every query as many numbers as there are keys; a masked cell may be NaN or "
        "-inf, but has to be there.",
    )


def from_json(text: str) -> Any:
    """What the text holds, if it is JSON; otherwise None."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
