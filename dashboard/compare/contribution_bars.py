"""What each key adds to the rows that are compared, where two heads' numbers are on one scale."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.charts.paired_bars import paired_bars
from attnviz.charts.palettes import SIDES
from attnviz.heads.contributions import MEASURES
from dashboard.compare import scripts as scripts
from dashboard.compare.sides import Side
from dashboard.widgets import text_place
from dashboard.widgets.choices import pick
from dashboard.widgets.figure import figure

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHARED = ("signed_share", "weight")
"""Shares, which mean the same in every model; lengths do not."""


def draw(a: Side, b: Side) -> None:
    """The rows of both sides by one measure, as bars on one scale and as tables."""
    from attnviz.heads.comparison import same_keys

    st.header("What each key adds", anchor=False)
    two_models = a.selection.model != b.selection.model
    if two_models:
        st.text(
            "Lengths in two models are not on one scale: each has a residual stream of its own. "
            "So only shares are compared here."
        )
    options = list(SHARED) if two_models else [name for name in MEASURES if name != "weight"]
    pick(
        "by",
        "Contribution by",
        options,
        lambda name: MEASURES[name].title,
        "How much each key adds to the head's output at this token.",
        a.selection,
        key="cmp_by",
        width=220,
    )
    by = a.selection.by if a.selection.by in options else options[0]
    rows = {name: _row(side, by) for name, side in (("A", a), ("B", b))}
    known = {name: np.isfinite(row) for name, row in rows.items()}
    for name in rows:
        if not known[name].any():
            st.text(f"{name} gives no such numbers for this row.")
    if not any(seen.any() for seen in known.values()):
        return
    if same_keys(a.head, b.head):
        _pair(a, b, rows, known["A"] | known["B"], by)
    else:
        _apart(a, b, rows, known, by)


def _row(side: Side, by: str) -> "NDArray[Any]":
    """(key,); NaN where masked."""
    query = _query(side)
    row = side.head.rows(query, query + 1)
    return np.where(row.allowed[0], row.contribution_matrix(by)[0], np.nan)


def _query(side: Side) -> int:
    return side.selection.query


def _pair(a: Side, b: Side, rows: dict[str, Any], seen: Any, by: str) -> None:
    names = [
        label
        for label, kept in zip(text_place.labels(a.head.key_tokens), seen, strict=True)
        if kept
    ]
    pair = {name: row[seen] for name, row in rows.items()}
    chart = paired_bars(names, pair, title=MEASURES[by].unit, colours=list(SIDES.values()))
    table = pd.DataFrame({"Key": names, **pair})
    table["B \u2212 A"] = table["B"] - table["A"]
    sides = (a.selection, b.selection)
    script = scripts.added_by_two((_query(a), _query(b)), by)
    figure("cmp_adds", chart, _alt(pair, names, by), table, sides=sides, script=script)


def _apart(a: Side, b: Side, rows: dict[str, Any], known: dict[str, Any], by: str) -> None:
    """Bars over keys of their own, on one scale."""
    drawn = np.concatenate([rows[name][known[name]] for name in rows])
    domain = (float(min(drawn.min(), 0)), float(max(drawn.max(), 0)) or 1.0)
    for name, side, colour in zip(rows, (a, b), SIDES.values(), strict=True):
        if not known[name].any():
            continue
        labels = text_place.labels(side.head.key_tokens)
        names = [label for label, kept in zip(labels, known[name], strict=True) if kept]
        one = {name: rows[name][known[name]]}
        chart = paired_bars(
            names,
            one,
            title=f"{name}: {MEASURES[by].unit.split(',')[0]}",
            colours=[colour],
            domain=domain,
        )
        table = pd.DataFrame({"Key": names, **one})
        alt = _alt(one, names, by)
        script = scripts.added_by_one(name, _query(side), by)
        figure(f"cmp_adds_{name}", chart, alt, table, sides=(side.selection,), script=script)


def _alt(rows: dict[str, Any], names: list[str], by: str) -> str:
    tops = [
        f"{name} has the most, {np.nanmax(np.abs(row)):.3g} by size, at "
        f"{names[int(np.nanargmax(np.abs(row)))]}"
        for name, row in rows.items()
        if np.isfinite(row).any()
    ]
    return f"{MEASURES[by].title} of each key: {'; '.join(tops)}."
