"""Two rows of weights over the same keys, side by side."""

from typing import TYPE_CHECKING

import streamlit as st

from dashboard.misconceptions.subject import Reader
from dashboard.widgets.figure import figure

if TYPE_CHECKING:
    from attnviz.heads.softmax import Array


def two_rows(
    reader: Reader,
    key: str,
    finding: str,
    grey: "tuple[str, Array]",
    own: "tuple[str, Array]",
    *,
    script: str,
) -> None:
    """Say the finding, and draw both rows, each (name, (key,) weights), over the keys that the
    row may see. `script` makes them again."""
    import pandas as pd

    from attnviz.charts.paired_bars import BEFORE, paired_bars
    from attnviz.charts.palettes import SOLID

    st.text(finding)
    series = {name: weights[reader.seen] for name, weights in (grey, own)}
    chart = paired_bars(
        reader.seen_keys,
        series,
        title="weight, share of the row",
        colours=[BEFORE, SOLID["weight"]],
        height=120,
    )
    table = pd.DataFrame({"Key": reader.seen_keys} | series)
    figure(key, chart, finding, table, script=script)
