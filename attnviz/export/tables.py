"""A view as a table, a row a cell: CSV for spreadsheets, Parquet for programs.

In CSV, cells of text that a spreadsheet would take for a formula get an apostrophe in front, and
so do those that begin with one; numbers are left alone. To undo it, take one apostrophe off. The
first lines of the file say so, and hold the provenance.
"""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import BadInput
from attnviz.export import provenance
from attnviz.export.view import REASON
from attnviz.heads.masks import MASK_REASONS
from attnviz.parquet import arrow

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.export.view import View

Arrays = dict[str, NDArray]
_RISKY = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "'")
_RISKY_SPACES = ("\t", "\r", "\n")
_NOTES = (
    "attnviz: the table begins in line 5, with the names of its columns. In Python: "
    "pandas.read_csv(FILE, skiprows=4, keep_default_na=False), or attnviz.export.read(FILE).",
    "An empty cell is masked, for the reason in the column mask; NaN is not a number. Layers, "
    "heads and positions count from 0.",
    "A cell of text that begins with one of = + - @ ' (spaces aside), or with a tab or a line "
    "break, has an apostrophe ' in front, so that no spreadsheet runs it: take one off to undo it.",
)
_META = b"attnviz"
MOST_UNPACKED = 2**30  # bytes of a Parquet file before it was packed
MOST_NUMBERS = 2**27  # cells of one: a column of equal ones packs into nothing


def safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    >>> safe("=1+1"), safe("'tis"), safe("the")
    ("'=1+1", "''tis", 'the')
    """
    risky = text.lstrip().startswith(_RISKY) or text.startswith(_RISKY_SPACES)
    return f"'{text}" if risky else text


def unsafe(text: str) -> str:
    """The text that `safe` was given."""
    return text[1:] if text.startswith("'") else text


def to_csv(view: "View") -> bytes:
    """The view's frame as CSV in UTF-8 with a byte order mark, which spreadsheets ask for.

    Numbers have as many digits as it takes to read the same float32 back.
    """
    frame = view.frame
    columns = [_cells(frame, name, view.provenance) for name in frame.columns]
    out = io.StringIO(newline="")
    notes = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for note in _NOTES:
        notes.writerow([f"# {note}"])
    notes.writerow([f"# provenance: {provenance.write(view.provenance)}"])
    notes.writerow(frame.columns)
    for cells in zip(*columns, strict=True):
        out.write(",".join(cells) + "\n")
    return out.getvalue().encode("utf-8-sig")


def _cells(frame: "pd.DataFrame", name: str, made: Mapping[str, Any]) -> list[str]:
    column = frame[name]
    if column.dtype.kind in "iub":
        return [str(value) for value in column.tolist()]
    if column.dtype.kind != "f":
        return [_quoted(safe(str(text))) for text in column.tolist()]
    values = column.to_numpy()
    words = [number(value) for value in values]
    if _is_masked(made, name):
        words = [w if why == "" else "" for w, why in zip(words, frame["mask"], strict=True)]
    return words


def _is_masked(made: Mapping[str, Any], name: str) -> bool:
    return "masked" in made["arrays"].get(name, {})


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def number(value: Any) -> str:
    """The shortest decimal that reads as the same number."""
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(value)


def from_csv(data: bytes) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and the provenance of a CSV that `to_csv` wrote."""
    text = data.decode("utf-8-sig", "replace")
    *notes, table = text.split("\n", len(_NOTES) + 1)
    first, mark = '"# provenance: ', notes[-1] if notes else ""
    if len(notes) != len(_NOTES) + 1 or not (mark.startswith(first) and mark.endswith('"')):
        raise provenance.not_ours()
    found = mark[len(first) : -1].replace('""', '"')
    lines = csv.reader(io.StringIO(table, newline=""))
    names = next(lines, [])
    made = provenance.read(found)
    rows = list(lines)
    if any(len(row) != len(names) for row in rows):
        raise _cut_short()
    columns = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    return _arrays(made, lambda name: columns[name], _read_cells), made


def _read_cells(cells: Iterable[str]) -> NDArray:
    cells = list(cells)
    if all(cell in ("True", "False") for cell in cells):
        return np.array([cell == "True" for cell in cells], bool)
    if all(len(cell) < 20 and cell.lstrip("-").isdecimal() for cell in cells):
        return np.array([int(cell) for cell in cells])  # not by way of float: of 2**53 or more too
    return np.array([float(cell) if cell else -np.inf for cell in cells])


def to_parquet(view: "View") -> bytes:
    """The view's frame as Parquet, its provenance in the schema under "attnviz".

    Masked cells are null, so that no mean of a column counts them; NaN is NaN.

    Raises:
        AttnvizError: pyarrow is not installed.
    """
    pa, parquet = arrow()
    frame, made = view.frame, view.provenance
    masked = frame["mask"].to_numpy() != "" if "mask" in frame else None
    columns = {}
    for name in frame.columns:
        values = frame[name].to_numpy()
        hidden = masked if _is_masked(made, name) else None
        if values.dtype == object or values.dtype.kind not in "iufb":
            columns[name] = pa.array([str(text) for text in values], pa.string())
        else:
            columns[name] = pa.array(values, mask=hidden, from_pandas=False)
    table = pa.table(columns).replace_schema_metadata({_META: provenance.write(made).encode()})
    out = io.BytesIO()
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def from_parquet(data: bytes) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and the provenance of a Parquet file that `to_parquet` wrote."""
    pa, parquet = arrow()
    try:
        about = parquet.read_metadata(io.BytesIO(data))
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        if about.num_rows * about.num_columns > MOST_NUMBERS or (
            sum(group.total_byte_size for group in groups) > MOST_UNPACKED
        ):
            raise provenance.not_ours()
        table = parquet.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError) as error:
        raise provenance.not_ours() from error
    written = (table.schema.metadata or {}).get(_META)
    if written is None:
        raise provenance.not_ours()
    made = provenance.read(written)

    def numbers(cells: Any) -> NDArray:
        if pa.types.is_floating(cells.type):
            cells = cells.fill_null(-np.inf)
        return np.asarray(cells.to_numpy())

    return _arrays(made, table.column, numbers), made


def _arrays(
    made: Mapping[str, Any], column: Callable[[str], Any], numbers: Callable[[Any], NDArray]
) -> Arrays:
    """The arrays of a view from the columns of its table."""
    order = made["axis_order"]
    places = {name: np.array(made["axes"][name]["places"], np.int64) for name in order}
    shape = tuple(len(place) for place in places.values())
    found: Arrays = {}
    for name, about in made["arrays"].items():
        try:
            cells = _reasons(column("mask")) if name == REASON else numbers(column(name))
            spread = cells.reshape(shape)
        except (KeyError, ValueError) as error:
            raise _cut_short() from error
        first = tuple(slice(None) if axis in about["axes"] else 0 for axis in order)
        found[name] = spread[first].astype(about["dtype"])
    return found | {f"{name}_places": place for name, place in places.items()}


def _reasons(words: Iterable[Any]) -> NDArray:
    numbers = {word: number for number, word in enumerate(MASK_REASONS)} | {"": 0}
    return np.array([numbers[str(word)] for word in words])


def _cut_short() -> BadInput:
    return BadInput(
        what="The table of this file is not whole.",
        why="It has other rows or columns than it was written with.",
        todo="Make the file again, or give the file as attnviz wrote it.",
    )
