"""The same few things measured in two or three ways, as bars side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnviz.charts.palettes import MUTED
from attnviz.charts.scales import short

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
"""A chart as wide as the page lets it, whose bars or points are as tall as they say."""
MOST = 32  # things drawn
LABEL = 110  # pixels of a label at most


def paired_bars(
    labels: Sequence[str],
    series: Mapping[str, NDArray],
    *,
    title: str,
    colours: Sequence[str],
    lying: bool = False,
    domain: tuple[float, float] | None = None,
    height: int = 150,
) -> alt.Chart:
    """One group of bars a label, one bar a series, all on one scale.

    Args:
        labels: different from one another, and shown as they are; at most `MOST` are drawn, those
            with the largest numbers, in the order given.
        series: {name: (label,)}; NaN draws no bar.
        title: what the numbers are, with their unit.
        colours: one a series.
        lying: bars lie, with the labels at their left.
        domain: the ends of the scale; else all numbers and 0.
        height: pixels of the bars that stand; bars that lie take what they need.

    >>> chart = paired_bars(["a", "b"], {"before": [1, 2]}, title="", colours=["#868b9a"])
    >>> chart.to_dict()["mark"]["type"]
    'bar'
    """
    names = list(series)
    frame = _frame(labels, {name: np.asarray(v, float) for name, v in series.items()})
    ends = alt.Scale(domain=list(domain)) if domain else alt.Scale(zero=True)
    axis = alt.Axis(title=title, tickCount=5, format=".3~g", grid=True, gridOpacity=0.4)
    across = alt.Axis(
        title=None, labelLimit=LABEL, labelOverlap=False, labelAngle=0 if lying else -90
    )
    thing = {"sort": None, "axis": across}
    offset = alt.YOffset if lying else alt.XOffset
    along: list[Any] = (
        [alt.Y("label:N", **thing), alt.X("value:Q", scale=ends, axis=axis)]
        if lying
        else [alt.X("label:N", **thing), alt.Y("value:Q", scale=ends, axis=axis)]
    )
    legend = None
    if len(names) > 1:
        legend = alt.Legend(title=None, orient="top", labelLimit=0, symbolType="square")
    chart = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            *along,
            offset("series:N", sort=names),
            alt.Color(
                "series:N",
                scale=alt.Scale(domain=names, range=list(colours)),
                legend=legend,
            ),
            tooltip=[
                alt.Tooltip("label:N", title="at"),
                alt.Tooltip("series:N", title="series"),
                alt.Tooltip("value:Q", title="value", format=".4~g"),
            ],
            description="said:N",
        )
    )
    size = {"height": alt.Step(9)} if lying else {"height": height}
    return chart.properties(
        **size, autosize=FIT, usermeta={"embedOptions": {"renderer": "svg"}}
    ).configure_axis(labelFontSize=11, titleFontSize=11, titleFontWeight="normal")


def find_drawn(series: Mapping[str, NDArray]) -> NDArray[np.int_]:
    """The places of the labels that `paired_bars` draws, ascending."""
    sizes = np.nanmax(np.abs(np.stack([np.nan_to_num(v) for v in series.values()])), axis=0)
    return np.sort(np.argsort(-sizes, kind="stable")[:MOST])


def _frame(labels: Sequence[str], series: Mapping[str, NDArray]) -> pd.DataFrame:
    places = find_drawn(series)
    rows = [
        {
            "label": labels[place],
            "series": name,
            "value": float(values[place]),
            "said": f"{labels[place]}, {name}: {short(float(values[place]))}",
        }
        for place in places
        for name, values in series.items()
        if np.isfinite(values[place])
    ]
    return pd.DataFrame(rows, columns=["label", "series", "value", "said"])


BEFORE = MUTED
"""The colour of what was there before a change."""
