"""A chart with its words and its numbers: for those who see it and for those who do not."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.charts.paired_bars import paired_bars
from dashboard.session import page_capture, state
from dashboard.session.selection import SettledSelection
from dashboard.widgets import export_panel, figure_views

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.interventions import Intervention


def draw_chart(chart: Any, key: str, **options: Any) -> None:
    """Draw a chart as `st.altair_chart` does, but without checking it against the schema of
    Vega-Lite, which takes a quarter of a second a click: the tests check the charts."""
    st.vega_lite_chart(spec=chart.to_dict(validate=False), key=key, **options)


def draw_figure(
    key: str,
    chart: Any,
    alt: str,
    table: "pd.DataFrame | None" = None,
    *,
    fixed: bool = False,
    change: "Intervention | None" = None,
    sides: tuple[SettledSelection, ...] = (),
    script: str = "",
) -> None:
    """Draw a chart. `alt` states what it shows; the table has its numbers, on a switch.

    fixed: the chart keeps its own width.
    change: the what-if that it is about.
    sides: whose numbers they are, one or two, where they are not the selection's alone.
    script: lines of Python that make the table of `model`, `capture` and `head`.
    """
    st.altair_chart(chart, key=f"{key}_chart", alt=alt, width="content" if fixed else "stretch")
    if table is not None:
        draw_numbers(key, table, alt, chart=chart, change=change, sides=sides, script=script)


def draw_bars(
    key: str,
    table: "pd.DataFrame",
    alt: str,
    *,
    title: str,
    colours: Sequence[str],
    series: Mapping[str, str] | None = None,
    change: "Intervention | None" = None,
    sides: tuple[SettledSelection, ...] = (),
    script: str = "",
    **looks: Any,
) -> None:
    """Draw a table as bars, with its words and numbers as `figure` does. The first column names
    the rows; `series`, {column: its name in the picture}, are drawn, else all other columns.

    title, colours, looks: as for `attnviz.charts.paired_bars`.
    """
    drawn = {name: name for name in table.columns[1:]} if series is None else series
    bars = {name: table[column].to_numpy() for column, name in drawn.items()}
    chart = paired_bars(table.iloc[:, 0].tolist(), bars, title=title, colours=colours, **looks)
    draw_figure(key, chart, alt, table, change=change, sides=sides, script=script)


def draw_numbers(
    key: str,
    table: "pd.DataFrame",
    alt: str,
    *,
    chart: Any = None,
    change: "Intervention | None" = None,
    sides: tuple[SettledSelection, ...] = (),
    script: str = "",
) -> None:
    """A switch, and under it the numbers of a chart while it is on; and the ways to export them."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        shown = st.toggle("As a table", key=f"{key}_table", on_change=state.touch)
        draw_figure_export(key, alt, chart, table, change, sides, script)
    if shown:
        st.dataframe(
            table,
            hide_index=True,
            key=f"{key}_numbers",
            placeholder="",
            column_config={
                name: st.column_config.NumberColumn(format="%.6g")
                for name in table.columns
                if table[name].dtype.kind == "f"
            },
            alt=f"The numbers of the picture. {alt}",
        )


def draw_figure_export(
    key: str,
    alt: str,
    chart: Any,
    table: "pd.DataFrame",
    change: "Intervention | None" = None,
    sides: tuple[SettledSelection, ...] = (),
    script: str = "",
) -> None:
    """The ways to export a chart and its table, which are small and may be kept for them."""

    def chosen() -> tuple[Any, ...]:
        of = [(page_capture.make_ask(one), one) for one in sides or (state.drawn_selection(),)]
        return *of[0], key, alt, chart, table, change, of[1:], script

    export_panel.draw_export(key, figure_views.view_figure, chosen)
