"""Where a matrix comes from on the page that checks one: pasted, a file, or an example."""

from dataclasses import dataclass, field

import streamlit as st

from attnviz.errors import AttnvizError
from attnviz.matrix_check import EXAMPLES, ManyMatrices, read_matrix
from attnviz.matrix_check.verdict import Matrix
from dashboard.session import notices, state

MAX_CHARACTERS = 1_000_000
MAX_MEGABYTES = 8
FILE_TYPES = ["csv", "tsv", "txt", "json", "npy", "npz"]
FIRST = "published_triple"
_WAYS = {"example": "An example", "paste": "Paste", "file": "A file"}


@dataclass(frozen=True)
class Given:
    """What there is to check: one matrix or two, what was done to read them, and for an example
    what it really is."""

    matrix: Matrix
    other: Matrix | None = None
    notes: list[str] = field(default_factory=list)
    really_is: str = ""


def ask_for_matrices() -> Given | None:
    """The controls, and what they hold. None where there is nothing yet, or nothing usable; the
    page has then said so."""
    way = st.segmented_control(
        "Matrix from",
        list(_WAYS),
        format_func=_WAYS.__getitem__,
        default="example",
        key="matrix_way",
        required=True,
        on_change=state.touch,
        persist_state="session",
    )
    return _example() if way == "example" else _own(str(way))


def _example() -> Given:
    name = st.selectbox(
        "Example",
        list(EXAMPLES),
        index=list(EXAMPLES).index(FIRST),
        format_func=lambda name: EXAMPLES[name].title,
        key="matrix_example",
        on_change=state.touch,
        help="Matrices as one meets them. What each really is stands under the verdict.",
        persist_state="session",
    )
    example = EXAMPLES[name]
    return Given(example.matrix, example.other, really_is=example.really_is)


def _own(way: str) -> Given | None:
    first = _source(way, "Matrix", "matrix")
    second = None
    if st.toggle(
        "Compare with a second matrix",
        key="matrix_compare",
        on_change=state.touch,
        help="Scores beside weights, in either order: is one the softmax of the other, and at "
        "what temperature?",
        persist_state="session",
    ):
        second = _source(way, "Second matrix", "other")
    try:
        one = _read(first, "matrix")
        two = _read(second, "other")
    except AttnvizError as error:
        notices.show_error(error)
        return None
    if one is None:
        st.text("Give a matrix to check, or look at an example.")
        return None
    notes = one[1] + (two[1] if two else [])
    return Given(one[0], two[0] if two else None, notes)


def _source(way: str, label: str, name: str) -> str | bytes | None:
    if way == "paste":
        return st.text_area(
            label,
            height=160,
            max_chars=MAX_CHARACTERS,
            key=f"{name}_text",
            on_change=state.touch,
            placeholder="0.80 0.15 0.05\n0.30 0.30 0.40",
            help="A line a row. Commas, tabs, spaces, JSON, or an array as Python prints it; "
            "labels may stand in the first row and column. Ctrl+Enter checks it.",
            persist_state="session",
        )
    file = st.file_uploader(
        label,
        type=FILE_TYPES,
        max_upload_size=MAX_MEGABYTES,
        key=f"{name}_file",
        on_change=state.touch,
        help="CSV, TSV, text, JSON, NPY or NPZ. Pickled objects are not opened.",
    )
    return None if file is None else file.getvalue()


def _read(source: str | bytes | None, name: str) -> tuple[Matrix, list[str]] | None:
    """The matrix in a source; where there are several, the one that is chosen here."""
    if source is None or not source.strip():
        return None
    try:
        reading = read_matrix(source)
    except ManyMatrices as error:
        reading = read_matrix(source, _choice(source, error.choices, name))
    return reading.matrix, reading.notes


def _choice(source: str | bytes, choices: list[str], name: str) -> str:
    """Which of several: an array by name, then a head by its place."""
    label = "Which matrix" if name == "matrix" else "Which second matrix"
    chosen = st.selectbox(label, choices, key=f"{name}_choice", on_change=state.touch)
    try:
        read_matrix(source, chosen)
    except ManyMatrices as error:
        chosen = st.selectbox(
            f"{label} of it", error.choices, key=f"{name}_place", on_change=state.touch
        )
    return str(chosen)
