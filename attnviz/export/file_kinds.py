"""Files: every kind that a view can be saved as, and what a file gives when it is read back."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnviz.errors import BadInput, TooLarge
from attnviz.export import array_files, provenance, still_pictures, tables, webpage
from attnviz.export.rerun import Saved

if TYPE_CHECKING:
    from attnviz.export.view import View

MOST_READ = 512 * 2**20  # bytes of a file that is read back


@dataclass(frozen=True)
class Kind:
    """One kind of file: what a reader calls it, what it holds, its type on the web."""

    title: str
    holds: str
    mime: str
    make: "Callable[[View], bytes]"


def _write_script(view: "View") -> bytes:
    note = provenance.write(view.provenance)
    return f"{view.script}\n# provenance: {note}\n".encode()


def _read_script(contents: bytes) -> dict[str, Any]:
    return provenance.read(contents.rpartition(b"\n# provenance: ")[2])


KINDS: dict[str, Kind] = {
    "svg": Kind("SVG", "the picture, sharp at any size", "image/svg+xml", still_pictures.to_svg),
    "png": Kind("PNG", "the picture in dots, for slides", "image/png", still_pictures.to_png),
    "csv": Kind("CSV", "all numbers, a row a cell", "text/csv", tables.to_csv),
    "parquet": Kind(
        "Parquet", "the same table, for programs", "application/octet-stream", tables.to_parquet
    ),
    "npz": Kind("NPZ", "the arrays, for numpy", "application/octet-stream", array_files.to_npz),
    "json": Kind("JSON", "the arrays, for anything else", "application/json", array_files.to_json),
    "html": Kind("HTML", "one page that works offline", "text/html", webpage.to_html),
    "py": Kind("Python", "a script that makes the same numbers", "text/x-python", _write_script),
}
"""Every kind of file by its ending. All hold the provenance."""


def data(view: "View", kind: str) -> bytes:
    """A view as the bytes of a file.

    Raises:
        BadInput: no such kind.
        TooLarge, AttnvizError: the picture could not be drawn; see the message.
    """
    if _check_kind(kind) not in view.kinds:
        raise BadInput(
            what=f"There is no {KINDS[kind].title} of this view.",
            why="It has no picture, no numbers or no script.",
            todo=f"Choose one of {', '.join(view.kinds)}.",
        )
    return KINDS[kind].make(view)


def save(view: "View", path: str | Path) -> Path:
    """Write a view into a file; its ending says what it will hold, see `KINDS`."""
    path = Path(path)
    contents = data(view, _check_kind(path.suffix.removeprefix(".").lower()))
    try:
        path.write_bytes(contents)
    except OSError as error:
        raise BadInput(
            what=f"The file {path.name} cannot be written.",
            why=f"{error.strerror}.",
            todo="Give a path in a folder that is there and may be written to.",
        ) from error
    return path


def _check_kind(kind: str) -> str:
    if kind not in KINDS:
        raise BadInput(
            what=f"There is no file of the kind {kind!r}." if kind else "The file has no ending.",
            why="The ending of its name says what a file is to hold.",
            todo=f"Choose one of {', '.join(KINDS)}.",
        )
    return kind


def read(path: str | Path) -> Saved:
    """A file that attnviz wrote, of any kind.

    Raises:
        BadInput: it cannot be read, or holds no view of attnviz.
        TooLarge: it has more than `MOST_READ` bytes.
    """
    path = Path(path)
    kind = _check_kind(path.suffix.removeprefix(".").lower())
    try:
        if path.stat().st_size > MOST_READ:
            raise TooLarge(
                what=f"The file {path.name} has more than {MOST_READ // 2**20} MB.",
                why="No view of attnviz is as large.",
                todo="Give a file that attnviz wrote.",
            )
        contents = path.read_bytes()
    except OSError as error:
        raise BadInput(
            what=f"The file {path.name} cannot be read.",
            why=f"{error.strerror}.",
            todo="Give the path of a file.",
        ) from error
    return from_bytes(contents, kind)


def from_bytes(contents: bytes, kind: str) -> Saved:
    """What the bytes of a file of this kind hold."""
    kind = _check_kind(kind)
    if kind == "npz":
        return Saved(*array_files.read_npz(contents))
    if kind == "html":
        packed, made = webpage.read_page(contents)
        return Saved(array_files.read_npz(packed)[0], made)
    return Saved({}, _READERS[kind](contents))


_READERS: dict[str, Callable[[bytes], dict[str, Any]]] = {
    "svg": still_pictures.read_svg_provenance,
    "png": still_pictures.read_png_provenance,
    "csv": tables.read_csv_provenance,
    "parquet": tables.read_parquet_provenance,
    "json": array_files.read_json_provenance,
    "py": _read_script,
}
"""What reads the provenance of each kind of file that is read for it alone."""
