"""The row being read, as a table: the accessible twin of the picture."""

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from attnviz import charts
from attnviz.heads.contributions import MEASURES
from dashboard.session import state
from dashboard.session.selection import SettledSelection

if TYPE_CHECKING:
    from streamlit.elements.lib.column_types import ColumnConfig

    from attnviz.heads.head import Head

_COLUMNS = {
    "weight": "Weight",
    "value_norm": "Value norm",
    "weighted_value_norm": "Weight x value norm",
    "contribution_norm": "Norm through W_O",
    "signed_share": "Signed share",
}


def row_table(selection: SettledSelection, head: "Head") -> None:
    """An expander with the numbers of the row; worked out only while it is open."""
    box = st.expander("This row as a table", key="row_open", on_change=state.touch)
    if not box.open:
        return
    with box:
        st.text(charts.describe_pair(head, selection.query))
        st.dataframe(
            table(head, selection.query),
            hide_index=True,
            key="row_table",
            placeholder="",
            column_config=_formats(),
            alt=f"Row {selection.query}: every token with its score, weight and contributions",
        )


def table(head: "Head", query: int) -> "pd.DataFrame":
    """A row a key: position, token, whether it may be looked at, and the numbers if so.

    A masked key has no numbers and says why instead. A model with a sink gets a last row for it.
    """
    from attnviz.heads.masks import MASK_REASONS

    row = head.rows(query, query + 1)
    frame = row.contributions(query)
    allowed = row.allowed[0]
    out = pd.DataFrame(
        {
            "Position": frame["position"],
            "Token": [token.label for token in head.key_tokens],
            "Mask": [
                "" if reason == 0 else f"masked: {MASK_REASONS[reason]}"
                for reason in row.mask_reason[0]
            ],
            "Score": frame["score"],
            **{title: frame[name] for name, title in _COLUMNS.items()},
        }
    )
    numbers = ["Score", *_COLUMNS.values()]
    out.loc[~allowed, numbers] = float("nan")
    out = out.drop(columns=[name for name in numbers if out[name].isna().all()])
    if allowed.all():
        out = out.drop(columns="Mask")
    if row.sink[0] > 0:
        sink = {"Token": "(sink: no token)", "Weight": float(row.sink[0])}
        out = pd.concat([out, pd.DataFrame([sink])], ignore_index=True)
    return out


def _formats() -> "dict[str, ColumnConfig]":
    number = st.column_config.NumberColumn
    titles = {title: MEASURES[name].definition for name, title in _COLUMNS.items()}
    return {
        "Position": number(format="%d", width="small"),
        "Token": st.column_config.TextColumn(width="small"),
        "Score": number(format="%.4f", help="As softmax received it, unit-less."),
        **{title: number(format="%.4f", help=text) for title, text in titles.items()},
    }
