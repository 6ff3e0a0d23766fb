"""Pairs of bars, points and spreads: every number drawn is a number given."""

import numpy as np
import pytest

from attnviz.charts import paired_bars, scatter, spread


def rows(chart, layer=None):
    """The data that a chart, or a layer of it, draws."""
    spec = chart.to_dict()
    part = spec if layer is None else spec["layer"][layer]
    return spec["datasets"][part.get("data", spec.get("data"))["name"]]


def test_bars_hold_every_number_and_leave_out_what_is_undefined():
    chart = paired_bars.paired_bars(
        ["0 a", "1 <b>"],
        {"before": np.array([0.25, np.nan]), "after": np.array([-1.0, 0.75])},
        title="",
        colours=["#111111", "#222222"],
    )
    found = {(row["label"], row["series"]): row["value"] for row in rows(chart)}
    assert found == {("0 a", "before"): 0.25, ("0 a", "after"): -1.0, ("1 <b>", "after"): 0.75}


def test_of_many_bars_the_largest_are_drawn_in_text_order():
    values = np.arange(100, dtype=float)
    values[3] = -200
    places = paired_bars.find_drawn({"a": values})
    assert places.tolist() == [3, *range(100 - paired_bars.MOST + 1, 100)]


@pytest.mark.parametrize("log", [False, True])
def test_points_that_a_logarithm_cannot_show_are_left_out_and_counted(log):
    x, y = np.array([0.5, 0.0, np.nan, 0.25]), np.array([0.5, 0.5, 0.5, 0.0])
    chart = scatter.scatter(list("abcd"), x, y, x_title="x", y_title="y", log=log)
    labels = [row["label"] for row in rows(chart, 0)]
    assert labels == (["a"] if log else ["a", "b", "d"])
    assert scatter.find_drawn(x, y, log=log).sum() == len(labels)


def test_a_spread_counts_every_trial_once_and_draws_the_lines_it_can():
    values = np.array([0.0, 0.01, 0.02, 0.5, 1.0])
    chart = spread.spread(values, title="", noun="deals", lines={"even": 0.3, "none": np.nan})
    assert sum(row["count"] for row in rows(chart, 0)) == 5
    assert rows(chart, 1) == [{"left": 0.3, "line": "even"}]
