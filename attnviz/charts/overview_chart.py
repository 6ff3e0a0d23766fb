"""The overview of a long text, with the window whose cells are drawn."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from attnviz.charts import cell_images
from attnviz.charts.palettes import ACCENT, hexes
from attnviz.charts.scales import LOG_FLOOR, weight_scale
from attnviz.charts.scene import window_of
from attnviz.heads.overview import Overview

SIDE = 230  # pixels of the longer side


def overview_map(view: Overview, *, query: int, near: int) -> alt.LayerChart:
    """The largest weight in each block of cells, on a log scale, under a frame to be dragged.

    The frame is the parameter "window", an interval of the fields "key" and "query", positions in
    the text: it stands around the selected query and the key `near`, and spans the rows and
    keys whose cells are drawn one by one elsewhere.

    Args:
        view: the overview.
        query, near: positions of the row and of the key that the window stands around.
    """
    colours = weight_scale(view.weights, np.zeros(1), "log")
    shown = ~np.isnan(view.weights)
    png = cell_images.cells(colours.position(view.weights), colours.colours, shown)
    # the last blocks may reach beyond the text: the picture is drawn as wide as its blocks are
    down, across = (count * view.step for count in view.weights.shape)
    longer = max(view.queries, view.keys)
    width, height = (max(40, round(SIDE * n / longer)) for n in (view.keys, view.queries))
    ends = pd.DataFrame(
        {"query": [0.0, view.queries], "key": [0.0, view.keys], "weight": [LOG_FLOOR, 1.0]}
    )
    base = alt.Chart(ends)
    picture = base.mark_image(
        url=png, aspect=False, smooth=False, align="left", baseline="top", aria=False, clip=True,
        width=width * across / view.keys, height=height * down / view.queries,
    ).encode(x=alt.XValue(0), y=alt.YValue(0))  # fmt: skip
    window = alt.selection_interval(
        name="window",
        encodings=["x", "y"],
        value={"x": _span(near, view.keys), "y": _span(query, view.queries)},
        mark=alt.BrushConfig(stroke=ACCENT, strokeWidth=2, fill=ACCENT, fillOpacity=0.08,
                             cursor="move"),
        zoom=False,
    )  # fmt: skip
    ground = base.mark_point(opacity=0, aria=False).encode(
        x=alt.X("key:Q", scale=_scale(view.keys), axis=_axis("to (key), position")),
        y=alt.Y("query:Q", scale=_scale(view.queries, reverse=True),
                axis=_axis("from (query), position")),
        color=alt.Color("weight:Q", scale=_colours(), legend=_legend(view)),
    )  # fmt: skip
    return (
        alt.LayerChart(layer=[picture, ground.add_params(window)])
        .properties(
            width=width,
            height=height,
            autosize="pad",  # Streamlit's own "fit" takes the room of legend and axes from the map
            # not SVG, where the frame's parts would be images without a name to a screen reader
            usermeta={"embedOptions": {"renderer": "canvas"}},
        )
        .configure(
            aria=False
        )  # the frame's parts have no names of their own; the alt text says all
        .configure_view(stroke="#8888", strokeWidth=1)
    )


def _span(middle: int, count: int) -> list[float]:
    first, last = window_of(middle, count)
    return [float(first), float(last + 1)]


def _scale(count: int, *, reverse: bool = False) -> alt.Scale:
    return alt.Scale(domain=[0, count], nice=False, zero=False, reverse=reverse)


def _axis(title: str) -> alt.Axis:
    return alt.Axis(title=title, format="d", tickCount=5, grid=False)


def _colours() -> alt.Scale:
    return alt.Scale(type="log", domain=[LOG_FLOOR, 1], range=hexes("weight"), clamp=True)


def _legend(view: Overview) -> alt.Legend:
    block: Any = f"the largest of each {view.step} x {view.step} cells"
    return alt.Legend(
        title=["Weight, log scale,", block],
        orient="right",
        gradientLength=120,
        gradientThickness=10,
        values=[LOG_FLOOR, 1e-3, 1e-2, 0.1, 1],
        format="~g",
        titleFontWeight="normal",
        titleLimit=0,
    )
