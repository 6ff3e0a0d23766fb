"""Token labels along the maps and the bars: thinned on purpose, the place in hand always named."""

from typing import Any

import altair as alt

from attnviz.charts import layers as draw

READABLE = 11  # pixels from one label to the next
LONGEST = 78  # pixels; longer labels end in an ellipsis


def label(kind: str, place: str, size: str, step: str, unless: str | None = None) -> str:
    """A label as an expression: the token, and its position where only some labels are shown.

    Args:
        kind: "query" or "key".
        place: an expression for the token's place among those drawn.
        size, step: expressions for the pixels of one place and the places from label to label.
        unless: an expression for the place in hand, which has a label of its own; what would run
            into it gives way.
    """
    text = f"({step}>1?{kind}_positions[{place}]+' ':'')+{kind}_labels[{place}]"
    if unless is None:
        return text
    near = f"{unless}>=0&&abs(datum.value-{unless})*{size}<{READABLE}"
    return f"{near}?'':{text}"


def look(kind: str, place: str = "datum.value") -> dict[str, Any]:
    """What all token axes share: special tokens in italics, keys written upwards."""
    special = {"test": f"{kind}_special[{place}]", "value": "italic"}
    shared = {"labelPadding": 5, "labelFontStyle": {"condition": special, "value": "normal"}}
    if kind == "query":
        return {**shared, "orient": "left"}
    return {**shared, "orient": "bottom", **upright()}


def upright() -> dict[str, Any]:
    """Labels below an axis, written upwards."""
    return {"labelAngle": -90, "labelAlign": "right", "labelBaseline": "middle"}


def of_map(rows: int, keys: int, x: str, y: str) -> list[alt.Chart]:
    """The axes of a map that starts at x, y: the usual labels, then those of the place in hand."""
    down = {**look("query"), "offset": draw.ref(f"-{x}"), "labelLimit": draw.ref("label_room")}
    across = {
        **look("key"),
        "offset": draw.ref(f"{y}+map_h-height"),
        "labelLimit": draw.ref("key_room"),
    }
    usual = (
        dict(
            **across,
            values=draw.ref(f"sequence(0,{keys},key_step)"),
            labelExpr=label("key", "datum.value", "cell_w", "key_step", unless="spot_place"),
            title="to (key)",
            titleX=draw.ref(f"{x}+map_w/2"),
            titleY=draw.ref("key_room+6"),
            titleBaseline="top",
        ),
        dict(
            **down,
            values=draw.ref(f"sequence(0,{rows},row_step)"),
            labelExpr=label("query", "datum.value", "cell_h", "row_step", unless="focus"),
            title="from (query)",
            titleX=draw.ref("-label_room-12"),
            titleY=draw.ref(f"{y}+map_h/2"),
            titleAnchor="middle",
        ),
    )
    in_hand = {"labelFontWeight": "bold", "title": None}
    now = (
        dict(
            **across,
            **in_hand,
            values=draw.ref("spot_place<0?[]:[spot_place]"),
            labelExpr=label("key", "datum.value", "cell_w", "key_step"),
        ),
        dict(
            **down,
            **in_hand,
            values=draw.ref("[focus]"),
            labelExpr=label("query", "datum.value", "cell_h", "row_step"),
        ),
    )
    # whole numbers are the middles of the cells
    horizontal = draw.scale([-0.5, keys - 0.5], x, f"{x}+map_w")
    vertical = draw.scale([-0.5, rows - 0.5], y, f"{y}+map_h")
    return [
        draw.anchor(x=(horizontal, across_axis), y=(vertical, down_axis))
        for across_axis, down_axis in (usual, now)
    ]


def amounts(left: int) -> dict[str, Any]:
    """How the axis looks that bars are read off, `left` pixels into the picture."""
    return {
        "orient": "left",
        "offset": -left,
        "tickCount": 4,
        "labelPadding": 5,
        "title": None,
        "domain": True,
        "ticks": True,
        "tickSize": 3,
        "format": ".3~g",
    }
