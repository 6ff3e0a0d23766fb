"""The verdict on a matrix on its page: words to quote, pictures, evidence, doubts."""

import re

import pandas as pd
import streamlit as st

from attnviz.matrix_check import KINDS, MatrixVerdict
from attnviz.matrix_check.matrix_picture import draw_matrix
from attnviz.matrix_check.verdict import Matrix
from dashboard.check_matrix import views
from dashboard.check_matrix.controls import Given
from dashboard.widgets import export_panel

_PICTURE, _BESIDE = 400, 400  # pixels
_MAX_TABLE = 40_000  # cells shown as a table


def draw_verdict(given: Given, verdict: MatrixVerdict) -> None:
    """Everything that was found, from the answer to its limits."""
    for note in given.notes:
        st.text(note)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(KINDS[verdict.kind], anchor=False)
        matrices = (given.matrix, given.other)
        export_panel.draw_export("matrix", views.view_matrix, matrices, link=False)
    st.code(verdict.verdict, language=None, wrap_lines=True)
    if given.really_is:
        st.text(f"What this example really is: {given.really_is}")
    # Side by side where there is room, one above the other where there is not.
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=_PICTURE):
            _pictures(given, verdict)
        with st.container(width=_BESIDE):
            _evidence(verdict)
            _lines("What the numbers cannot tell", verdict.cannot_tell)
            _lines("Keep in mind", verdict.caveats)
    _tables(given)


def _pictures(given: Given, verdict: MatrixVerdict) -> None:
    rows, columns = given.matrix.shape
    st.altair_chart(
        draw_matrix(given.matrix),
        key="matrix_picture",
        width="content",
        alt=f"The matrix, {rows} by {columns}. {verdict.verdict}",
    )
    if given.other is not None:
        rows, columns = given.other.shape
        st.text("The second matrix")
        other = verdict.other.verdict if verdict.other else ""
        st.altair_chart(
            draw_matrix(given.other),
            key="other_picture",
            width="content",
            alt=f"The second matrix, {rows} by {columns}. {other}",
        )
        second = (given.other, None)
        export_panel.draw_export("other_matrix", views.view_matrix, second, link=False)


def _evidence(verdict: MatrixVerdict) -> None:
    st.header("Evidence", anchor=False)
    st.table(
        {
            "Looked at": [_plain(item.name) for item in verdict.evidence],
            "Found": [_plain(item.value) for item in verdict.evidence],
            "It says": [_plain(item.says) for item in verdict.evidence],
        },
        border="horizontal",
        hide_index=True,
        alt="What was looked at in the matrix, what was found, and what that says",
    )


def _lines(title: str, lines: list[str]) -> None:
    if lines:
        st.header(title, anchor=False)
        for line in lines:
            st.text(line)


def _tables(given: Given) -> None:
    for title, matrix in (("The numbers", given.matrix), ("The second matrix", given.other)):
        if matrix is None:
            continue
        with st.expander(title):
            _table(title, matrix)


def _table(title: str, matrix: Matrix) -> None:
    if matrix.size > _MAX_TABLE:
        st.text(f"The first {_MAX_TABLE // matrix.shape[1]} rows:")
        matrix = matrix[: max(1, _MAX_TABLE // matrix.shape[1])]
    st.dataframe(pd.DataFrame(matrix), alt=f"{title}, a row a line")


def _plain(words: str) -> str:
    """Words for a table, whose cells are read as Markdown: every sign that means something there
    is escaped."""
    return re.sub(r"([^A-Za-z0-9 .,;%()])", r"\\\1", words)
