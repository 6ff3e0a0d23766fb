"""How often each outcome of many chance trials came up, with lines at what is compared."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnviz.charts.paired_bars import FIT
from attnviz.charts.palettes import ACCENT, INK, MUTED, SOLID

_BINS = 24
_LINES = [ACCENT, SOLID["contribution"], SOLID["weight"], INK]


def spread(
    values: NDArray,
    *,
    title: str,
    noun: str,
    lines: Mapping[str, float],
    height: int = 170,
) -> alt.LayerChart:
    """A histogram of trials, and named vertical lines.

    Args:
        values: (trial,).
        title: what they are, with their unit.
        noun: what one trial is, in the plural.
        lines: {name: place}; NaN draws no line.

    >>> chart = spread(np.array([0.0, 0.1]), title="", noun="permutations", lines={"even": 0.05})
    >>> len(chart.layer)
    2
    """
    places = {name: place for name, place in lines.items() if np.isfinite(place)}
    ends = [*np.asarray(values, float).tolist(), *places.values(), 0.0]
    high = max(ends) or 1.0
    counts, edges = np.histogram(values, bins=_BINS, range=(0, high))
    frame = pd.DataFrame(
        {
            "left": edges[:-1],
            "right": edges[1:],
            "count": counts,
            "none": 0,
            "said": [
                f"{count} {noun} from {low:.3g} to {up:.3g}"
                for count, low, up in zip(counts, edges[:-1], edges[1:], strict=True)
            ],
        }
    )
    frame = frame[frame["count"] > 0]
    axis = alt.Axis(title=title, tickCount=6, format=".3~g", grid=False)
    x = alt.X("left:Q", axis=axis, scale=alt.Scale(domain=[0, high], nice=False, padding=6))
    up = alt.Axis(title=f"{noun}", tickMinStep=1, tickCount=4, format="d", gridOpacity=0.4)
    bars = (
        alt.Chart(frame)
        .mark_rect(color=MUTED)
        .encode(
            x,
            alt.X2("right"),
            alt.Y("count:Q", axis=up),
            alt.Y2("none"),
            tooltip="said:N",
            description="said:N",
        )
    )
    rules = pd.DataFrame({"left": list(places.values()), "line": list(places)})
    colour = alt.Color(
        "line:N",
        scale=alt.Scale(domain=list(places), range=_LINES[: len(places)]),
        legend=alt.Legend(title=None, orient="top", labelLimit=0, symbolType="stroke"),
    )
    drawn = (
        alt.Chart(rules)
        .mark_rule(strokeWidth=2.5)
        .encode(x, colour, tooltip=["line:N", alt.Tooltip("left:Q", title="at", format=".4~g")])
    )
    return (
        alt.layer(bars, drawn)
        .properties(height=height, autosize=FIT, usermeta={"embedOptions": {"renderer": "svg"}})
        .configure_axis(labelFontSize=11, titleFontSize=11, titleFontWeight="normal")
    )
