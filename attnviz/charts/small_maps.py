"""Small maps of all heads as one picture, on one colour scale."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnviz.charts import cell_images
from attnviz.charts import layers as draw
from attnviz.charts.head_grid import head_axes
from attnviz.charts.palettes import ACCENT, MUTED
from attnviz.charts.scales import ColourScale, WeightColour, short, weight_scale
from attnviz.heads.overview import Thumbnails

_LEFT, _TOP, _BELOW = 34, 50, 34
_MARKS = 14  # pixels more above the maps, where the colour bar has numbers below it
_NAME = 0.4  # of a map's width, for its name below it, where it stands out of its place
_POWER = 52  # of the colour bar, for one power of ten
_LARGEST = 110  # pixels of a map


def mosaic(
    maps: Thumbnails,
    *,
    layer: int,
    head: int,
    shown: NDArray[np.bool_],
    order: Sequence[tuple[int, int]] | None = None,
    words: Sequence[str] | None = None,
    colour: WeightColour = "unit",
    width: int = 460,
) -> alt.LayerChart:
    """The weights of every head, small; a click sets the parameter "pick_head", fields "layer" and
    "head". Layers down and heads across, or in the order given, each then with its name.

    All maps are one PNG, whose pixels are as many as the maps have. Masked is transparent.

    Args:
        maps: of `attnviz.detectors.thumbnails`.
        layer, head: the map that is outlined.
        shown: (layer, head) bool; False leaves the place of a head empty.
        order: the heads to draw, row by row; all in their places by default.
        words: what is said of each head of the order, or of all (layer by layer), on hover.
        colour: the colour scale, as in `attnviz.charts.pair`.
        width: pixels to start with; the picture follows the width that the page gives it.

    >>> maps = Thumbnails(np.ones((2, 3, 4, 4), np.float16), 1)
    >>> chart = mosaic(maps, layer=0, head=1, shown=np.ones((2, 3), bool))
    >>> "pick_head" in [param.name for param in chart.params]
    True
    """
    layers, heads, down, across = maps.cells.shape
    by_place = order is None
    places = [divmod(i, heads) for i in range(layers * heads)] if order is None else list(order)
    rows = max(1, -(-len(places) // heads))
    gap = max(1, round(max(down, across) / 16))
    below = gap if by_place else max(gap, round(_NAME * across))
    sheet = _sheet(maps, places, shown, (down + below, across + gap))
    scale = weight_scale(maps.cells.astype(np.float32), np.zeros(1), colour)
    png = cell_images.cells(scale.position(np.nan_to_num(sheet)), scale.colours, ~np.isnan(sheet))
    params = [
        draw.constant("map_layers", [place[0] for place in places]),
        draw.constant("map_heads", [place[1] for place in places]),
        draw.constant("map_words", _words(places, shown, words)),
        draw.constant("map_top", _TOP + (_MARKS if scale.log else 0)),
        draw.param("map_w", f"min({_LARGEST},(width-{_LEFT + 2})/{heads})"),
        draw.param("map_h", f"map_w*{(down + below) / (across + gap)}"),
        draw.param("drawn_h", f"map_w*{down / (across + gap)}"),
    ]
    bottom = f"map_top+{rows}*map_h"
    parts = [
        draw.box(draw.ONE, "0", "0", "width", f"({bottom})+{_BELOW if by_place else 4}"),
        *_legend(scale, maps.block, "" if by_place else " Named layer.head."),
        draw.picture(png, f"{_LEFT}", "map_top", f"{heads}*map_w", f"{rows}*map_h"),
    ]
    if not by_place:
        parts.append(_names(len(places), heads))
    if (layer, head) in places:
        at = places.index((layer, head))
        x, y = f"{_LEFT}+{at % heads}*map_w", f"map_top+{at // heads}*map_h"
        frame = draw.box(
            draw.ONE, f"{x}-1", f"{y}-1", "map_w+1", "drawn_h+2", stroke=ACCENT, strokeWidth=2.5
        )
        parts.append(frame)
    parts.append(_spots(len(places), heads))
    if by_place:
        parts.append(
            head_axes(
                (rows, heads), ("map_w", "map_h"), (_LEFT, "map_top"), bottom, "ceil(12/map_h)"
            )
        )
    pick = draw.selection("pick_head", ["layer", "head"], "click", "heads")
    return draw.finish(parts, [pick, *params], width)


def _sheet(
    maps: Thumbnails,
    places: Sequence[tuple[int, int]],
    shown: NDArray[np.bool_],
    pitch: tuple[int, int],
) -> NDArray[np.float32]:
    """(y, x): the maps side by side, each at its pitch; NaN where nothing is drawn."""
    _, columns, down, across = maps.cells.shape
    rows = max(1, -(-len(places) // columns))
    sheet = np.full((rows * pitch[0], columns * pitch[1]), np.nan, np.float32)
    for number, (layer, head) in enumerate(places):
        if shown[layer, head]:
            y, x = number // columns * pitch[0], number % columns * pitch[1]
            sheet[y : y + down, x : x + across] = maps.cells[layer, head]
    return sheet


def _words(
    places: Sequence[tuple[int, int]], shown: NDArray[np.bool_], words: Sequence[str] | None
) -> list[str]:
    said = [""] * len(places) if words is None else [f": {word}" for word in words]
    return [
        f"layer {place[0]}, head {place[1]}" + (word if shown[place] else ": left out")
        for place, word in zip(places, said, strict=True)
    ]


def _spots(count: int, columns: int) -> alt.Chart:
    text = draw.px("map_words[datum.i]")
    return draw.box(
        draw.sequence(count, "i"),
        f"{_LEFT}+(datum.i%{columns})*map_w",
        f"map_top+floor(datum.i/{columns})*map_h",
        "map_w",
        "map_h",
        name="heads",
        calculate={"layer": "map_layers[datum.i]", "head": "map_heads[datum.i]"},
        channels={"tooltip": text, "description": text},
        aria=True,
        cursor="pointer",
    )


def _names(count: int, columns: int) -> alt.Chart:
    channels: dict[str, Any] = {
        "x": draw.px(f"{_LEFT}+(datum.i%{columns})*map_w"),
        "y": draw.px(f"map_top+floor(datum.i/{columns})*map_h+drawn_h+2"),
        "text": draw.px("map_layers[datum.i]+'.'+map_heads[datum.i]"),
    }
    look = {"align": "left", "baseline": "top", "fontSize": 10, "fill": MUTED, "aria": False}
    return draw.mark("text", channels, draw.sequence(count, "i"), look=look)


def _legend(scale: ColourScale, block: int, names: str) -> list[alt.Chart]:
    size = f"{block} by {block} tokens"
    each = "Each pixel is one weight." if block == 1 else f"Each pixel is the largest of {size}."
    x = f"{_LEFT}"
    return [
        draw.caption(draw.quote(scale.title), x, "0", limit=f"width-{_LEFT}"),
        draw.caption(draw.quote(each + names), x, "15", limit=f"width-{_LEFT}"),
        *(_powers(scale) if scale.log else _ends(scale)),
    ]


def _ends(scale: ColourScale) -> list[alt.Chart]:
    """The colour bar between its two numbers."""
    return [
        draw.caption(draw.quote(short(scale.low)), f"{_LEFT}", "31"),
        draw.picture(cell_images.bar(scale.colours, 0, 1), f"{_LEFT}+40", "33", "90", "7"),
        draw.caption(draw.quote(short(scale.high)), f"{_LEFT}+136", "31"),
    ]


def _powers(scale: ColourScale) -> list[alt.Chart]:
    """The colour bar with each power of ten below it, in equal steps."""
    first, last = (round(np.log10(end)) for end in (scale.low, scale.high))
    marks = [10.0**power for power in range(first, last + 1)]
    numbers = {
        "orient": "bottom",
        "offset": draw.ref("40-height"),
        "values": marks,
        "labelExpr": f"(datum.value<={marks[0] * 1.01}?'\u2264 ':'')+format(datum.value,'~g')",
        "labelPadding": 2,
        "labelOverlap": False,
        "title": None,
    }
    start, end = f"{_LEFT + 22}", f"{_LEFT + 22}+{_POWER}*{len(marks) - 1}"
    across = draw.scale([scale.low, scale.high], start, end, log=True)
    size = f"{_POWER}*{len(marks) - 1}"
    return [
        draw.picture(cell_images.bar(scale.colours, 0, 1), start, "33", size, "7"),
        draw.anchor(scale.low, x=(across, numbers)),
    ]
