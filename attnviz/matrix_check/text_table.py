"""The numbers of a table in a text: printed arrays and tensors, CSV, TSV, whitespace, percent."""

import csv
import re
import statistics

import numpy as np

from attnviz.errors import BadInput
from attnviz.matrix_check.facts import refuse_too_many_cells
from attnviz.matrix_check.verdict import Matrix

Rows = list[list[str]]

_NUMBER = re.compile(
    r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?%?|[+-]?(?:inf|infinity)|nan", re.I
)
_BLANK = {"", "-", "--", "na", "n/a", "null", "none", "."}
_PRINTED = re.compile(r"^\s*(?:\w+\.)*(?:tensor|array|Array|matrix)?\s*\(?\s*\[")
_LONGEST_NUMBER = 64  # characters; a bound keeps the search for a number short


def read_table(text: str) -> tuple[Matrix, list[str]]:
    """The numbers, (query, key) float64, and notes on what was left out.

    A cell without a number is NaN. A first row or column of labels is left out.

    Raises:
        BadInput: no table of numbers, or rows of different lengths.
        TooLarge: more cells than are read.
    """
    text = text.translate({0x2212: "-", 0xA0: " ", 0xFEFF: None, 0x202F: " "})
    rows = _split_printed(text) if _PRINTED.match(text) else _split_lines(text)
    refuse_too_many_cells(len(rows) - 1)  # before any cell is looked at; one row may be labels
    rows = [[cell.strip() for cell in row] for row in rows]
    rows = [[cell.strip("\"'") for cell in row] for row in rows if any(row)]
    if not rows:
        raise BadInput(
            what="There are no numbers.",
            why="The text is empty or holds blank lines only.",
            todo="Paste a matrix: a line a row, its numbers set apart by spaces, commas or tabs.",
        )
    rows, notes = _drop_labels(rows)
    _refuse_ragged(rows)
    refuse_too_many_cells(len(rows) * len(rows[0]))
    values = [[_parse_cell(cell) for cell in row] for row in rows]
    _refuse_words(rows, values)
    percent = sum(cell.endswith("%") for row in rows for cell in row)
    if percent:
        notes.append(f"{percent} numbers had a percent sign and were divided by 100.")
    return np.array(values, np.float64), notes


def _split_printed(text: str) -> Rows:
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


def _split_lines(text: str) -> Rows:
    """Rows of a table of lines. The separator is the first of tab, semicolon and comma that at
    least half of the lines hold. (csv.Sniffer, which pandas asks too, takes the comma of "0,5;0,25"
    and letters of words for separators.)"""
    lines = [line for line in text.splitlines() if line.strip()]
    for separator in ("\t", ";", ","):
        if sum(separator in line for line in lines) >= len(lines) / 2:
            break
    else:
        return [line.split() for line in lines]
    try:
        ended = (f"{line}\n" for line in lines)
        rows = list(csv.reader(ended, delimiter=separator, skipinitialspace=True))
    except csv.Error as error:
        raise BadInput(
            what="The table cannot be read.",
            why="A quote is not closed, or a cell is far too long.",
            todo="Leave the labels out and give the numbers alone.",
        ) from error
    if separator != ",":  # then a comma inside a number is a decimal comma
        decimal = re.compile(r"^(\s*[+-]?\d+),(\d+)")
        rows = [[decimal.sub(r"\1.\2", cell) for cell in row] for row in rows]
    # A line may end with the separator.
    if rows and all(len(row) > 1 and not row[-1].strip() for row in rows):
        rows = [row[:-1] for row in rows]
    return rows


def _drop_labels(rows: Rows) -> tuple[Rows, list[str]]:
    """Leave out a first row and a first column of labels; a label may look like a number."""
    notes = []
    corner = _has_label_corner(rows)
    header = len(rows) > 1 and (corner or _are_mostly_words(rows[0]))
    if header:
        notes.append("The first row was read as labels.")
        rows = rows[1:]
    wide = all(len(row) > 1 for row in rows)
    if wide and (corner or _are_mostly_words([row[0] for row in rows])):
        notes.append("The first column was read as labels.")
        rows = [row[1:] for row in rows]
    return rows, notes


def _has_label_corner(rows: Rows) -> bool:
    """An empty or missing corner over a full column: a table that was saved with its row names."""
    first, widths = rows[0], {len(row) for row in rows[1:]}
    if len(first) < 2 or len(widths) != 1:
        return False
    counted = [str(place) for place in range(len(first))]
    missing = widths == {len(first) + 1} and (_are_mostly_words(first) or first == counted)
    empty = not first[0] and all(first[1:]) and all(row[0] for row in rows[1:])
    return missing or (empty and widths == {len(first)})


def _are_mostly_words(cells: list[str]) -> bool:
    """More than half of the cells are neither numbers nor blank."""
    return sum(_parse_cell(cell) is None for cell in cells) * 2 > len(cells)


def _parse_cell(cell: str) -> float | None:
    """The number in a cell, NaN in a blank one, None in any other."""
    if cell.lower() in _BLANK:
        return float("nan")
    if len(cell) > _LONGEST_NUMBER or _NUMBER.fullmatch(cell) is None:
        return None
    return float(cell[:-1]) / 100 if cell.endswith("%") else float(cell)


def _refuse_ragged(rows: Rows) -> None:
    widths = [len(row) for row in rows]
    usual = statistics.mode(widths)
    odd = next((place for place, width in enumerate(widths) if width != usual), None)
    if odd is not None:
        raise BadInput(
            what="The rows have different lengths.",
            why=f"Row {odd}, counted from 0, has {widths[odd]} cells where others have {usual}.",
            todo="Give every query as many numbers as there are keys; a masked cell may be NaN or "
            "-inf, but has to be there.",
        )


def _refuse_words(rows: Rows, values: list[list[float | None]]) -> None:
    bad = [
        (row, column)
        for row, numbers in enumerate(values)
        for column, number in enumerate(numbers)
        if number is None
    ]
    if any(rows[row][column] in ("...", "\u2026") for row, column in bad):
        raise _cut_short()
    if bad:
        row, column = bad[0]
        raise BadInput(
            what=f"{len(bad)} of {len(rows) * len(rows[0])} cells are not numbers.",
            why=f"The first is {rows[row][column][:40]!r}, in row {row} and column {column}, "
            "counted from 0.",
            todo="Give numbers only; labels may stand in the first row and the first column.",
        )


def _cut_short() -> BadInput:
    return BadInput(
        what="The numbers are cut short with dots.",
        why="A large array prints its ends only.",
        todo="Print all of it (numpy.set_printoptions(threshold=10**9)) or save it to a file.",
    )
