"""All heads of a stack at a glance: layers down, heads across, one colour a head."""

from collections.abc import Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnviz.charts import cell_images
from attnviz.charts import layers as draw
from attnviz.charts.palettes import ACCENT, MUTED, hexes, ramp
from attnviz.charts.scales import short

_LEFT, _TOP, _BELOW = 34, 34, 34
_HEIGHT = 250  # the cells', in pixels
_TALLEST = 22  # a cell's
_READABLE = 11


def grid(
    values: NDArray,
    *,
    layer: int,
    head: int,
    measure_title: str,
    low: float,
    high: float,
    null: float | None = None,
    words: Sequence[str] | None = None,
    tallest: int = _TALLEST,
    height: int = _HEIGHT,
    width: int = 250,
) -> alt.LayerChart:
    """All heads as cells, layers down and heads across; a click sets the parameter "pick_head",
    fields "layer" and "head".

    Args:
        values: (layer, head), one number a head; NaN where a layer has no attention, drawn as an
            empty cell with a dotted edge.
        layer, head: the cell that is outlined.
        measure_title: what the numbers are, in words.
        low, high: the numbers at the two ends of the colours, light and dark.
        null: the null of the heads in the middle, marked on the printed scale.
        words: what is said of each head, layer by layer, after its place; its number by default.
        tallest, height: pixels of a cell, and of all of them, at most.
        width: pixels to start with; the picture follows the width that the page gives it.

    >>> import numpy as np
    >>> chart = grid(np.eye(2), layer=1, head=1, measure_title="Focus", low=0, high=1)
    >>> "pick_head" in [param.name for param in chart.params]
    True
    """
    layers, heads = values.shape
    row_h = min(tallest, height / layers)
    rows_h = row_h * layers
    said = words or ["no attention here" if np.isnan(v) else short(v) for v in values.ravel()]
    texts = [f"layer {i // heads}, head {i % heads}: {word}" for i, word in enumerate(said)]
    flat = [None if np.isnan(v) else float(f"{v:.4g}") for v in np.asarray(values, float).ravel()]
    params = [
        draw.constant("cell_values", flat),
        draw.constant("cell_texts", texts),
        draw.param("cell_w", f"(width-{_LEFT + 2})/{heads}"),
    ]
    cells = _cells(layers, heads, row_h, low, high)
    x, y = f"{_LEFT}+{head}*cell_w", f"{_TOP}+{layer * row_h}"
    outline = draw.box(
        draw.ONE, f"{x}-1", f"{y}-1", "cell_w+1", str(row_h + 1), stroke=ACCENT, strokeWidth=2.5
    )
    bottom = _TOP + rows_h
    frame = draw.box(draw.ONE, "0", "0", "width", str(bottom + _BELOW))
    parts = [frame, *_legend(measure_title, low, high, null), cells, outline]
    cell, step = ("cell_w", str(row_h)), str(_round(int(np.ceil(_READABLE / row_h))))
    parts.append(head_axes((layers, heads), cell, (_LEFT, str(_TOP)), str(bottom), step))
    pick = draw.selection("pick_head", ["layer", "head"], "click", "heads")
    return draw.finish(parts, [pick, *params], width)


def _cells(layers: int, heads: int, row_h: float, low: float, high: float) -> alt.Chart:
    gap = "min(1,cell_w*0.12)"
    steps = np.linspace(low, high, 13).tolist() if high > low else [low, low + 1]
    colours = {"domain": steps, "range": hexes("measure", len(steps)), "clamp": True}
    text = draw.px("cell_texts[datum.i]")
    return draw.box(
        draw.sequence(layers * heads, "i"),
        f"{_LEFT}+datum.head*cell_w",
        f"{_TOP}+datum.layer*{row_h}",
        f"cell_w-{gap}",
        str(row_h - min(1, row_h * 0.12)),
        name="heads",
        calculate={
            "layer": f"floor(datum.i/{heads})",
            "head": f"datum.i%{heads}",
            "value": "cell_values[datum.i]",
        },
        channels={
            "color": {"field": "value", "type": "quantitative", "scale": colours, "legend": None},
            "tooltip": text,
            "description": text,
        },
        fill=alt.Undefined,
        invalid="show",
        fillOpacity=draw.ref("isValid(datum.value)?1:0"),
        stroke=MUTED,
        strokeWidth=draw.ref("isValid(datum.value)?0:1"),
        strokeDash=[1, 2],
        aria=True,
        cursor="pointer",
    )


def _legend(title: str, low: float, high: float, null: float | None) -> list[alt.Chart]:
    bar = cell_images.bar(ramp("measure"), 0, 1)
    x = f"{_LEFT}"
    parts = []
    if null is not None and high > low:
        at = f"{_LEFT}+16+70*{min(max((null - low) / (high - low), 0), 1)}"
        parts = [
            draw.box(draw.ONE, f"{at}-1", "14", "2", "15", fill=ACCENT),
            draw.caption(draw.quote(f"median null {short(null)}"), f"{_LEFT}+140", "16"),
        ]
    return parts + [
        draw.caption(draw.quote(title), x, "0", limit=f"width-{_LEFT}"),
        draw.caption(draw.quote(short(low)), x, "16"),
        draw.picture(bar, f"{_LEFT}+16", "18", "70", "7"),
        draw.caption(draw.quote(short(high)), f"{_LEFT}+92", "16"),
    ]


def head_axes(
    shape: tuple[int, int], cell: tuple[str, str], start: tuple[int, str], bottom: str, step: str
) -> alt.Chart:
    """Numbers of layers at the left of cells, and of heads below them, as many as can be read.

    Args:
        shape: layers and heads.
        cell: expressions, the width and height of a cell.
        start: where the cells start, left and top.
        bottom: an expression, where they end.
        step: an expression, from one layer that is numbered to the next.
    """
    (layers, heads), (w, h), (left, top) = shape, cell, start
    down = {
        "orient": "left",
        "offset": -left,
        "values": list(range(layers)),
        "labelExpr": f"datum.value%{step}===0?format(datum.value,'d'):''",
        "labelPadding": 4,
        "title": "layer",
        "titleX": -27,
        "titleY": draw.ref(f"{top}+{h}*{layers}/2"),
    }
    across = {
        "orient": "bottom",
        "offset": draw.ref(f"{bottom}-height"),
        "values": list(range(heads)),
        "labelExpr": f"datum.value%ceil(16/{w})===0?format(datum.value,'d'):''",
        "labelPadding": 4,
        "title": "head",
        "titleX": draw.ref(f"{left}+{w}*{heads}/2"),
        "titleY": 18,
        "titleBaseline": "top",
    }
    columns = draw.scale([-0.5, heads - 0.5], str(left), f"{left}+{w}*{heads}")
    rows = draw.scale([-0.5, layers - 0.5], top, bottom)
    return draw.anchor(x=(columns, across), y=(rows, down))


def _round(step: int) -> int:
    """The next step of 1, 2, 5, 10, 20 that is as large."""
    return next((nice for nice in (1, 2, 5, 10, 20) if nice >= step), 50)
