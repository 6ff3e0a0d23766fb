"""What each key adds to the rows that are compared, where two heads' numbers are on one scale."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from attnviz.charts.palettes import SIDES
from attnviz.experiments.before_after import tabulate_added
from attnviz.heads.comparison import same_keys
from attnviz.heads.contributions import MEASURES
from dashboard.compare.sides import Side
from dashboard.session.script_body import write_call
from dashboard.widgets.choices import draw_picker
from dashboard.widgets.figure import draw_bars

SHARED = ("signed_share", "weight")
"""Shares, which mean the same in every model; lengths do not."""


def draw(a: Side, b: Side) -> None:
    """The rows of both sides by one measure, as bars on one scale and as tables."""
    st.header("What each key adds", anchor=False)
    two_models = a.selection.model != b.selection.model
    if two_models:
        st.text(
            "Lengths in two models are not on one scale: each has a residual stream of its own. "
            "So only shares are compared here."
        )
    options = list(SHARED) if two_models else [name for name in MEASURES if name != "weight"]
    draw_picker(
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
    sides = {"A": a, "B": b}
    tables = {name: _tabulate({name: side}, by) for name, side in sides.items()}
    for name, table in tables.items():
        if table.empty:
            st.text(f"{name} gives no such numbers for this row.")
    if all(table.empty for table in tables.values()):
        return
    if same_keys(a.head, b.head):
        unit = MEASURES[by].unit
        _draw("cmp_adds", sides, _tabulate(sides, by), by, title=unit, colours=[*SIDES.values()])
        return
    # bars over keys of their own, on one scale
    drawn = pd.concat([table.iloc[:, 1] for table in tables.values()])
    domain = (min(drawn.min(), 0.0), max(drawn.max(), 0.0) or 1.0)
    for (name, table), colour in zip(tables.items(), SIDES.values(), strict=True):
        if not table.empty:
            unit = f"{name}: {MEASURES[by].unit.split(',')[0]}"
            looks: dict[str, Any] = {"title": unit, "colours": [colour], "domain": domain}
            _draw(f"cmp_adds_{name}", {name: sides[name]}, table, by, **looks)


def _tabulate(sides: Mapping[str, Side], by: str) -> pd.DataFrame:
    heads = {name: side.head for name, side in sides.items()}
    return tabulate_added(heads, [side.selection.query for side in sides.values()], by)


def _draw(key: str, sides: Mapping[str, Side], table: pd.DataFrame, by: str, **looks: Any) -> None:
    """The rows of one side or of both, as bars and as a table."""
    tops = []
    for name in sides:
        sizes = table[name].abs()
        if sizes.notna().any():
            top = table["Key"][sizes.argmax()]
            tops.append(f"{name} has the most, {sizes.max():.3g} by size, at {top}")
    names = ("head", "other")[: len(sides)]  # as a script has them
    given = ", ".join(f"{name!r}: {head}" for name, head in zip(sides, names, strict=True))
    selections = tuple(side.selection for side in sides.values())
    queries = [at.query for at in selections]
    draw_bars(
        key,
        table,
        f"{MEASURES[by].title} of each key: {'; '.join(tops)}.",
        series={name: name for name in sides},
        sides=selections,
        script=write_call(tabulate_added, f"{{{given}}}", queries=queries, measure=by),
        **looks,
    )
