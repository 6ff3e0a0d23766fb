"""One row's weights on all keys of a long text, as bars of stretches of keys."""

from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import pandas as pd

from attnviz.charts.palettes import SOLID

if TYPE_CHECKING:
    from attnviz.heads.head import Head

BARS = 256
HEIGHT = 130  # pixels


def row_profile(row: "Head") -> alt.Chart:
    """The largest weight in each stretch of keys, for the only row of `row` (see `Head.rows`).

    >>> from attnviz.heads.head import Head
    >>> head = Head(q=[[0], [2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    >>> row_profile(head.rows(1, 2)).data["largest"].round(3).tolist()
    [0.881, 0.119]
    """
    weights = np.nan_to_num(row.weights[0])
    step = -(-len(weights) // BARS)
    starts = np.arange(0, len(weights), step)
    frame = pd.DataFrame(
        {
            "from": starts,
            "to": np.minimum(starts + step, len(weights)),
            "last": np.minimum(starts + step, len(weights)) - 1,
            "largest": np.maximum.reduceat(weights, starts).astype(float),
            "together": np.add.reduceat(weights, starts).astype(float),
        }
    )
    return (
        alt.Chart(frame)
        .mark_rect(color=SOLID["weight"])
        .encode(
            x=alt.X("from:Q", title=_title(step), axis=alt.Axis(format="d", grid=False),
                    scale=alt.Scale(domain=[0, len(weights)], nice=False)),
            x2="to",
            y=alt.Y("largest:Q", title="weight", axis=alt.Axis(tickCount=3),
                    scale=alt.Scale(domain=[0, max(float(weights.max()), 1e-6)])),
            y2=alt.Y2Datum(0),
            tooltip=[
                alt.Tooltip("from:Q", title="first key", format="d"),
                alt.Tooltip("last:Q", title="last key", format="d"),
                alt.Tooltip("largest:Q", title="largest weight", format=".4~g"),
                alt.Tooltip("together:Q", title="weights together", format=".4~g"),
            ],
        )
        .properties(height=HEIGHT, width="container")
    )  # fmt: skip


def _title(step: int) -> str:
    of = "" if step == 1 else f"; a bar is the largest weight of {step} keys"
    return f"to (key), position{of}"
