"""A picture of any matrix, with what its rows and columns add up to beside it."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from attnviz.charts.cell_images import cells
from attnviz.charts.palettes import ACCENT, INK, PAPER, SOLID, STEPS, hexes, luminance, ramp
from attnviz.matrix_check.facts import Facts
from attnviz.matrix_check.mask_shape import Cells
from attnviz.matrix_check.verdict import Matrix

MAX_MARKS = 1024  # cells drawn one by one, each with its number on hover
MAX_PIXELS = 512  # of the side of the picture of a larger matrix
_NUMBERS = 10  # columns up to which the number stands in the cell
_WIDE, _SUMS = 270, 70


def draw_matrix(array: object) -> alt.VConcatChart:
    """The matrix in colours, 0 at the top left; where nothing is below 0, bars of the row and
    column sums with a line at 1. Cells that hold no number are left blank.

    A matrix of more than `MAX_MARKS` cells is one image; over `MAX_PIXELS` a side, a pixel is
    the cell of a block that is furthest from 0.

    Raises:
        BadInput, TooLarge: as `attnviz.check_matrix`.
    """
    facts = Facts.from_array(array)
    queries, keys = facts.x.shape
    high = int(np.clip(_WIDE * queries / keys, 36, 300))
    seen = facts.unmasked & np.isfinite(facts.x)
    name, domain = _choose_colours(facts.x[seen])
    drawn = (_draw_rects if facts.x.size <= MAX_MARKS else _draw_image)(facts.x, seen, name, domain)
    heat = drawn.properties(width=_WIDE, height=high)
    if not seen.any() or domain[0] < 0 or not np.isfinite(facts.sums).all():
        return alt.vconcat(heat)  # alone, a page would fit it and its axes into its height
    rows = _draw_sum_bars(facts.sums, "row", _position("top", queries, alt.Y, None), high)
    columns = _draw_sum_bars(
        facts.transpose().sums, "column", _position("top", keys, alt.X, None), _WIDE
    )
    return alt.vconcat(alt.hconcat(heat, rows, spacing=6), columns, spacing=6)


def _choose_colours(values: Matrix) -> tuple[str, list[float]]:
    """The ramp and its ends: around 0 where there are numbers below it."""
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    reach = max(-low, high) or 1.0
    return ("score", [-reach, reach]) if low < 0 else ("weight", [0.0, reach])


def _position(field: str, size: int, channel: Any, title: str | None) -> Any:
    """A position from the first place to the last; rows go down."""
    ends = [-0.5, size - 0.5]
    axis = alt.Axis(title=title, format="d", tickMinStep=1, tickCount=min(size, 12), grid=False)
    return channel(
        f"{field}:Q",
        scale=alt.Scale(domain=ends, nice=False, zero=False, reverse=channel is alt.Y),
        axis=axis if title else None,
    )


def _cell_table(x: Matrix, shown: Cells) -> pd.DataFrame:
    row, column = np.nonzero(shown)
    return pd.DataFrame({
        "row": row, "column": column, "number": x[row, column],
        "left": column - 0.5, "right": column + 0.5, "top": row - 0.5, "bottom": row + 0.5,
    })  # fmt: skip


def _draw_rects(x: Matrix, seen: Cells, name: str, domain: list[float]) -> alt.LayerChart:
    rows, columns = x.shape
    frame = _cell_table(x, seen)
    share = (frame["number"] - domain[0]) / (domain[1] - domain[0])
    step = np.rint(share.clip(0, 1) * (STEPS - 1)).astype(int)
    frame["ink"] = np.where(luminance(ramp(name)[step]) < 0.25, PAPER, INK)
    base = alt.Chart(frame)
    rects = base.mark_rect().encode(
        x=_position("left", columns, alt.X, "column"),
        x2="right",
        y=_position("top", rows, alt.Y, "row"),
        y2="bottom",
        color=_colour_scale(name, domain),
        tooltip=["row:Q", "column:Q", alt.Tooltip("number:Q", format=".6~g")],
    )
    if columns > _NUMBERS or rows > 2 * _NUMBERS:
        return alt.layer(rects)
    numbers = base.mark_text(fontSize=10).encode(
        x="column:Q", y="row:Q", text=alt.Text("number:Q", format=".2~f"),
        color=alt.Color("ink:N", scale=None),
    )  # fmt: skip
    return alt.layer(rects, numbers)


def _draw_image(x: Matrix, seen: Cells, name: str, domain: list[float]) -> alt.LayerChart:
    small, shown = _reduce_blocks(x, seen)
    share = (small - domain[0]) / (domain[1] - domain[0])
    rows, columns = x.shape
    frame = pd.DataFrame({
        "url": [cells(share, ramp(name), shown)], "number": [domain[0]],
        "left": [-0.5], "right": [columns - 0.5], "top": [-0.5], "bottom": [rows - 0.5],
    })  # fmt: skip
    base = alt.Chart(frame)
    frame_of = base.mark_rect(opacity=0).encode(
        x=_position("left", columns, alt.X, "column"),
        x2="right",
        y=_position("top", rows, alt.Y, "row"),
        y2="bottom",
        color=_colour_scale(name, domain),
    )
    image = base.mark_image(
        width={"expr": "width"}, height={"expr": "height"}, align="left", baseline="top",
        aspect=False, smooth=False,
    ).encode(x=alt.value(0), y=alt.value(0), url="url:N")  # fmt: skip
    return alt.layer(frame_of, image)


def _reduce_blocks(x: Matrix, seen: Cells) -> tuple[Matrix, Cells]:
    """At most `MAX_PIXELS` a side: of each block the number that is furthest from 0."""
    step = -(-max(x.shape) // MAX_PIXELS)
    tall, wide = (-(-size // step) * step for size in x.shape)
    padded = np.zeros((tall, wide))
    padded[: x.shape[0], : x.shape[1]] = np.where(seen, x, 0)
    there = np.zeros((tall, wide), bool)
    there[: x.shape[0], : x.shape[1]] = seen
    grid = padded.reshape(tall // step, step, wide // step, step).swapaxes(1, 2)
    flat = grid.reshape(*grid.shape[:2], -1)
    furthest = np.abs(flat).argmax(axis=2)[..., None]
    blocks = there.reshape(tall // step, step, wide // step, step)
    shown: Cells = np.asarray(blocks.any(axis=(1, 3)))
    return np.take_along_axis(flat, furthest, axis=2)[..., 0], shown


def _colour_scale(name: str, domain: list[float]) -> alt.Color:
    legend = alt.Legend(
        title=None, orient="top", gradientLength=180, gradientOpacity=1, format=".3~g", tickCount=3
    )
    return alt.Color("number:Q", scale=alt.Scale(domain=domain, range=hexes(name)), legend=legend)


def _draw_sum_bars(sums: Matrix, which: str, place: Any, length: int) -> alt.LayerChart:
    """Bars of row sums, lying, or of column sums, hanging; a line at 1."""
    if len(sums) > MAX_PIXELS:  # the furthest from 1 of each run
        step = -(-len(sums) // MAX_PIXELS)
        starts = np.arange(0, len(sums), step)
        index = np.array([s + np.abs(sums[s : s + step] - 1).argmax() for s in starts])
    else:
        step, index = 1, np.arange(len(sums))
    frame = pd.DataFrame({which: index, "sum": sums[index]})
    frame["top"] = np.arange(len(index)) * step - 0.5
    frame["bottom"], frame["zero"] = frame["top"] + step, 0
    rows = which == "row"
    along = _sum_axis("row" if rows else "column", max(1.1, float(sums.max()) * 1.05))
    edges = {"x2": "zero", "y2": "bottom"} if rows else {"y2": "zero", "x2": "bottom"}
    tooltip = [f"{which}:Q", alt.Tooltip("sum:Q", format=".8~g")]
    bars = alt.Chart(frame).mark_rect(color=SOLID["weight"], opacity=0.75)
    one = alt.Chart(pd.DataFrame({"sum": [1.0]})).mark_rule(color=ACCENT, strokeWidth=2)
    layers = alt.layer(bars.encode(along, place, **edges, tooltip=tooltip), one.encode(along))
    return layers.properties(width=_SUMS if rows else length, height=length if rows else _SUMS)


def _sum_axis(which: str, high: float) -> Any:
    channel = alt.X if which == "row" else alt.Y
    scale = alt.Scale(domain=[0, high], nice=False)
    axis = alt.Axis(title=f"{which} sum", tickCount=2, format=".3~g", grid=False)
    return channel("sum:Q", scale=scale, axis=axis)
