"""The charts of Heads: every head as a small map, or as a cell of a grid."""

from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz import charts
from attnviz.charts.scales import short
from attnviz.charts.small_maps import mosaic
from dashboard.heads.head_numbers import Numbers
from dashboard.session.selection import SettledSelection

if TYPE_CHECKING:
    from attnviz.detectors import Thumbnails


def maps(
    selection: SettledSelection,
    numbers: Numbers | None,
    left: Any,
    order: list[tuple[int, int]],
    small: "Thumbnails",
) -> tuple[Any, str]:
    """The heads left in as small maps, and what is drawn, in words."""
    by_place = selection.sort == "place" or numbers is None
    places = list(np.ndindex(left.shape)) if by_place else order
    chart = mosaic(
        small,
        layer=selection.layer,
        head=selection.head,
        shown=left,
        order=None if by_place else places,
        words=_said(numbers, places),
        colour=selection.weights,
    )
    how = "in layers and heads" if by_place else "sorted by the measure"
    colours = ", coloured by powers of ten" if selection.weights == "log" else ""
    return chart, f"The weights of {int(left.sum())} heads as small maps, {how}{colours}."


def grid(selection: SettledSelection, numbers: Numbers, left: Any) -> tuple[Any, str]:
    """The heads left in as a grid of one measure, and what is drawn, in words."""
    values = np.where(left, numbers.values, np.nan)
    places = list(np.ndindex(left.shape))
    said = _said(numbers, places)
    words = [word if left[at] else "left out" for at, word in zip(places, said, strict=True)]
    ceiling = np.nanmax(
        np.where(np.isfinite(numbers.grids.ceiling), numbers.grids.ceiling, -np.inf)
    )
    top = float(np.nanmax(numbers.values)) if np.isfinite(numbers.values).any() else 1.0
    null = np.nanmedian(numbers.grids.null) if np.isfinite(numbers.grids.null).any() else None
    chart = charts.grid(
        values,
        layer=selection.layer,
        head=selection.head,
        measure_title=f"{numbers.title}, {numbers.unit}",
        low=0.0,
        high=1.0 if ceiling <= 1 and ceiling > 0 else top or 1.0,
        null=None if null is None else float(null),
        words=words,
        tallest=30,
        height=560,
        width=460,
    )
    return chart, f"Every head, coloured by {numbers.title.lower()}."


def _said(numbers: Numbers | None, places: list[Any]) -> list[str]:
    if numbers is None:
        return ["not measured"] * len(places)
    return [
        f"{numbers.title} "
        + ("without a number" if np.isnan(numbers.values[at]) else short(float(numbers.values[at])))
        for at in places
    ]
