"""Altair charts of attention, for a page or a notebook."""

from attnviz.charts.array_maps import ArrayMap, heatmap
from attnviz.charts.describe import describe_pair
from attnviz.charts.head_grid import grid
from attnviz.charts.visuals import bars, chips, explore, pair

__all__ = [
    "ArrayMap",
    "bars",
    "chips",
    "describe_pair",
    "explore",
    "grid",
    "heatmap",
    "pair",
]
