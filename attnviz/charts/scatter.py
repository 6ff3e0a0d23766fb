"""One number against another, a point a thing."""

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnviz.charts.paired_bars import FIT
from attnviz.charts.palettes import ACCENT, MUTED, SOLID
from attnviz.charts.scales import short

_POINT = SOLID["contribution"]
_NAMED = 3  # points that carry their name


def scatter(
    labels: list[str],
    x: NDArray,
    y: NDArray,
    *,
    x_title: str,
    y_title: str,
    log: bool = False,
    marked: int | None = None,
    diagonal: bool = False,
    named: int = _NAMED,
    height: int = 260,
) -> alt.LayerChart:
    """A point a label; those with the largest x carry their name.

    Args:
        x, y: (label,); NaN draws no point, and with `log` nor does 0 or less.
        log: logarithms of both.
        marked: the point drawn in the accent colour, named.
        diagonal: a line where both are equal.

    >>> chart = scatter(["a"], np.array([1.0]), np.array([2.0]), x_title="x", y_title="y")
    >>> len(chart.layer)
    2
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    seen = find_drawn(x, y, log=log)
    frame = pd.DataFrame(
        [
            {
                "label": labels[i],
                "x": x[i],
                "y": y[i],
                "marked": i == marked,
                "said": f"{labels[i]}: {short(x[i])}, {short(y[i])}",
            }
            for i in np.flatnonzero(seen)
        ],
        columns=["label", "x", "y", "marked", "said"],
    )
    kind = {"type": "log", "nice": False, "padding": 12} if log else {"zero": True}
    axis = {"tickCount": 5, "grid": True, "gridOpacity": 0.4, "format": ".1~g" if log else ".3~g"}
    across = alt.X("x:Q", scale=alt.Scale(**kind), axis=alt.Axis(title=x_title, **axis))
    up = alt.Y("y:Q", scale=alt.Scale(**kind), axis=alt.Axis(title=y_title, **axis))
    base = alt.Chart(frame).encode(across, up)
    points = base.mark_circle(size=52, opacity=0.85).encode(
        color=alt.condition("datum.marked", alt.value(ACCENT), alt.value(_POINT)),
        tooltip=[
            alt.Tooltip("label:N", title="at"),
            alt.Tooltip("x:Q", title=x_title, format=".4~g"),
            alt.Tooltip("y:Q", title=y_title, format=".4~g"),
        ],
        description="said:N",
    )
    top = frame[(frame["x"].rank(ascending=False, method="first") <= named) | frame["marked"]]
    words = (
        alt.Chart(top)
        .encode(across, up)
        .mark_text(align="left", dx=6, dy=-6, fontSize=11, color=MUTED, aria=False)
    )
    layers = [points, words.encode(text="label:N")]
    if diagonal and len(frame):
        low, high = frame[["x", "y"]].min().min(), frame[["x", "y"]].max().max()
        line = alt.Chart(pd.DataFrame({"x": [low, high], "y": [low, high]}))
        rule = line.mark_line(color=MUTED, strokeDash=[4, 3], aria=False).encode(across, up)
        layers.insert(0, rule)
    return (
        alt.layer(*layers)
        .properties(height=height, autosize=FIT, usermeta={"embedOptions": {"renderer": "svg"}})
        .configure_axis(labelFontSize=11, titleFontSize=11, titleFontWeight="normal")
    )


def find_drawn(x: NDArray, y: NDArray, *, log: bool) -> NDArray[np.bool_]:
    """(label,) which points `scatter` draws."""
    seen = np.isfinite(x) & np.isfinite(y)
    return np.asarray(seen & (x > 0) & (y > 0) if log else seen)
