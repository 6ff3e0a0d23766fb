"""The row being read, as a table: the accessible twin of the picture."""

from typing import TYPE_CHECKING

import streamlit as st

from attnviz import charts
from attnviz.heads.contributions import MEASURES
from attnviz.heads.row_frame import frame_contributions
from dashboard.session import state
from dashboard.session.selection import SettledSelection

if TYPE_CHECKING:
    from streamlit.elements.lib.column_types import ColumnConfig

    from attnviz.heads.head import Head


def draw_row_table(selection: SettledSelection, head: "Head") -> None:
    """An expander with the numbers of the row; worked out only while it is open."""
    box = st.expander("This row as a table", key="row_open", on_change=state.touch)
    if not box.open:
        return
    with box:
        st.text(charts.describe_pair(head, selection.query))
        st.dataframe(
            frame_contributions(head, selection.query),
            hide_index=True,
            key="row_table",
            placeholder="",
            column_config=_formats(),
            alt=f"Row {selection.query}: every token with its score, weight and contributions",
        )


def _formats() -> "dict[str, ColumnConfig]":
    number = st.column_config.NumberColumn
    return {
        "Position": number(format="%d", width="small"),
        "Token": st.column_config.TextColumn(width="small"),
        "Score": number(format="%.4f", help="As softmax received it, unit-less."),
        **{m.title: number(format="%.4f", help=m.definition) for m in MEASURES.values()},
    }
