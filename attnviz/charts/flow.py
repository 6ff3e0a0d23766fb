"""The curves of the four-step picture: lines to the keys, bands from scores to the output."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attnviz.charts.lanes import Lanes

Points = list[dict[str, Any]]

_THICK = 26  # of a band where it leaves its score: the same for every key
_AT = np.linspace(0, 1, 25)
_EASE = _AT * _AT * (3 - 2 * _AT)  # level at both ends


def paths(
    lanes: Lanes,
    *,
    top: float,
    tall: float,
    lane_top: Callable[[int, int], float],
    lane_height: float,
) -> tuple[Points, Points, Points, Points]:
    """(query to keys, scores to weights, weights to values, values to output), each as points.

    A point has its lane, how far across it is (`t`, 0 to 1) and its height or heights, in the
    units of `top` and `tall`. A lane without weight has no bands. Beyond the weights a band is as
    thick as its weight's share of `lane_height`.
    """
    lines: Points = []
    to_stack: Points = []
    to_value: Points = []
    to_output: Points = []
    middle = top + tall / 2
    share_top, out_top = top, middle - lane_height / 2
    for place, lane in enumerate(lanes.lanes):
        centre = lane_top(place, len(lanes.lanes)) + lane_height / 2
        known = {"lane": place, "masked": bool(lane.masked), "bare": lane.score is None}
        lines += _points(known, (middle, middle), (centre, centre))
        if lane.weight <= 0:
            continue
        share = (share_top, share_top + lane.weight * tall)
        thick = lane.weight * lane_height
        value = (centre - thick / 2, centre + thick / 2)
        out = (out_top, out_top + thick)
        to_stack += _points(known, (centre - _THICK / 2, centre + _THICK / 2), share)
        to_value += _points(known, share, value)
        to_output += _points(known, value, out)
        share_top, out_top = share[1], out[1]
    return lines, to_stack, to_value, to_output


def _points(known: dict[str, Any], start: tuple[float, float], end: tuple[float, float]) -> Points:
    """A curve from one height, or pair of heights, to another."""
    upper = start[0] + (end[0] - start[0]) * _EASE
    lower = start[1] + (end[1] - start[1]) * _EASE
    return [
        {**known, "t": round(t, 4), "y": round(y, 2), "y2": round(y2, 2)}
        for t, y, y2 in zip(_AT.tolist(), upper.tolist(), lower.tolist(), strict=True)
    ]
