"""A view as a table, a row a cell: CSV for spreadsheets, Parquet for programs.

In CSV, cells of text that a spreadsheet would take for a formula get an apostrophe in front, and
so do those that begin with one; numbers are left alone. To undo it, take one apostrophe off. The
first lines of the file say so, and hold the provenance.
"""

import csv
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from attnviz.export import provenance
from attnviz.parquet import arrow

if TYPE_CHECKING:
    from attnviz.export.view import View

_RISKY = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "'")
_RISKY_SPACES = ("\t", "\r", "\n")
_NOTES = (
    "attnviz: the table begins in line 5, with the names of its columns. In Python: {recipe}; "
    "attnviz.export.read(FILE).again() makes the numbers again.",
    "An empty cell is masked, for the reason in the column mask; NaN is not a number. Layers, "
    "heads and positions count from 0.",
    "A cell of text that begins with one of = + - @ ' (spaces aside), or with a tab or a line "
    "break, has an apostrophe ' in front, so that no spreadsheet runs it: take one off to undo it.",
)
_META = b"attnviz"


def escape_formula(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    >>> escape_formula("=1+1"), escape_formula("'tis"), escape_formula("the")
    ("'=1+1", "''tis", 'the')
    """
    risky = text.lstrip().startswith(_RISKY) or text.startswith(_RISKY_SPACES)
    return f"'{text}" if risky else text


def to_csv(view: "View") -> bytes:
    """The view's frame as CSV in UTF-8 with a byte order mark, which spreadsheets ask for.

    Numbers have as many digits as it takes to read the same float32 back.
    """
    frame = view.frame
    columns = [_write_cells(frame, name, view.provenance) for name in frame.columns]
    out = io.StringIO(newline="")
    notes = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for note in _NOTES:
        notes.writerow([f"# {note.format(recipe=_write_recipe(frame))}"])
    notes.writerow([f"# provenance: {provenance.write(view.provenance)}"])
    notes.writerow(frame.columns)
    for cells in zip(*columns, strict=True):
        out.write(",".join(cells) + "\n")
    return out.getvalue().encode("utf-8-sig")


def _write_recipe(frame: pd.DataFrame) -> str:
    """How pandas reads the table, so that numbers are numbers and words such as NA are words."""
    numbers = [name for name in frame if frame[name].dtype.kind == "f"]
    empty = f", na_values=dict.fromkeys({numbers}, ['', 'NaN'])" if numbers else ""
    return f"pandas.read_csv(FILE, skiprows=4, keep_default_na=False{empty})"


def _write_cells(frame: pd.DataFrame, name: str, made: Mapping[str, Any]) -> list[str]:
    column = frame[name]
    if column.dtype.kind in "iub":
        return [str(value) for value in column.tolist()]
    if column.dtype.kind != "f":
        return [_quote(escape_formula(str(text))) for text in column.tolist()]
    values = column.to_numpy()
    words = [write_number(value) for value in values]
    if _is_masked(made, name):
        words = [w if why == "" else "" for w, why in zip(words, frame["mask"], strict=True)]
    return words


def _is_masked(made: Mapping[str, Any], name: str) -> bool:
    return "masked" in made["arrays"].get(name, {})


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def write_number(value: Any) -> str:
    """The shortest decimal that reads as the same number."""
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(value)


def read_csv_provenance(data: bytes) -> dict[str, Any]:
    """The provenance in a CSV that `to_csv` wrote; its cells are left alone."""
    lines = data[: 2 * provenance.MOST_READ].split(b"\n", len(_NOTES) + 1)
    first, note = b'"# provenance: ', lines[len(_NOTES) :][:1]
    whole = note and note[0].startswith(first) and data.endswith(b"\n")
    return provenance.read(note[0][len(first) :].replace(b'""', b'"') if whole else "")


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


def read_parquet_provenance(data: bytes) -> dict[str, Any]:
    """The provenance in a Parquet file that `to_parquet` wrote; its columns are left alone."""
    pa, parquet = arrow()
    try:
        about = parquet.read_metadata(io.BytesIO(data)).metadata or {}
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        provenance.refuse_file(error)
    return provenance.read(about.get(_META, ""))
