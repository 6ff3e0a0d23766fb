"""Token labels along the maps and the bars: thinned on purpose, the one in focus always named."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from attnviz.charts import layers as draw
from attnviz.charts import lettering
from attnviz.charts.panel import Panel

READABLE = 11  # pixels from one label to the next
LONGEST = 78  # pixels; longer labels end in an ellipsis


def label_room(labels: Sequence[str], *, numbered: bool) -> int:
    """Pixels for the longest label, printed with its position where labels are thinned."""
    printed = [f"{len(labels)} {label}" for label in labels] if numbered else labels
    widest = round(lettering.widest(printed, draw.LABEL_SIZE)) + 3
    return max(20, min(widest, LONGEST))


def label(tokens: str, place: str, size: str, step: str, unless: str | None = None) -> str:
    """A label as an expression: the token, and its position where only some labels are shown.

    Args:
        tokens: which tokens: "query" or "key", behind the prefix of their lists.
        place: an expression for the token's place among those drawn.
        size, step: expressions for the pixels of one place and the places from label to label.
        unless: an expression for the place in focus, which has a label of its own; labels that
            would run into it are left out.
    """
    text = f"({step}>1?{tokens}_positions[{place}]+' ':'')+{tokens}_labels[{place}]"
    if unless is None:
        return text
    near = f"{unless}>=0&&abs(datum.value-{unless})*{size}<{READABLE}"
    return f"{near}?'':{text}"


def token_look(tokens: str, place: str = "datum.value") -> dict[str, Any]:
    """What all token axes share: special tokens in italics, keys written upwards."""
    special = {"test": f"{tokens}_special[{place}]", "value": "italic"}
    shared = {"labelPadding": 5, "labelFontStyle": {"condition": special, "value": "normal"}}
    if tokens.endswith("query"):
        return {**shared, "orient": "left"}
    return {**shared, "orient": "bottom", **upright()}


def upright() -> dict[str, Any]:
    """Labels below an axis, written upwards."""
    return {"labelAngle": -90, "labelAlign": "right", "labelBaseline": "middle"}


def map_axes(panel: Panel, *, if_stacked: bool = False) -> list[alt.Chart]:
    """The axes of a map: the usual labels, then those of the row and the key in focus.

    Args:
        if_stacked: rows are labelled only where the maps stand one below the other.
    """
    x, y, w, h = panel.box
    rows, keys = len(panel.scene.rows), len(panel.scene.keys)
    focus, spot = f"{panel.rows}focus", f"{panel.keys}spot_place"
    hidden = "wide?'':" if if_stacked else ""
    key_label = (f"{panel.keys}key", "datum.value", "cell_w", "key_step")
    row_label = (f"{panel.rows}query", "datum.value", "cell_h", "row_step")
    across = {
        **token_look(f"{panel.keys}key"),
        "offset": draw.ref(f"{y}+{h}-height"),
        "labelLimit": draw.ref("key_room"),
    }
    down = {
        **token_look(f"{panel.rows}query"),
        "offset": draw.ref(f"-{x}"),
        "labelLimit": draw.ref("label_room"),
    }
    usual = (
        dict(
            **across,
            values=draw.ref(f"sequence(0,{keys},key_step)"),
            labelExpr=label(*key_label, unless=spot),
            title="to (key)",
            titleX=draw.ref(f"{x}+{w}/2"),
            titleY=draw.ref("key_room+6"),
            titleBaseline="top",
        ),
        dict(
            **down,
            values=draw.ref(f"sequence(0,{rows},row_step)"),
            labelExpr=f"{hidden}({label(*row_label, unless=focus)})",
            title=None if if_stacked else "from (query)",
            titleX=draw.ref("-label_room-12"),
            titleY=draw.ref(f"{y}+{h}/2"),
            titleAnchor="middle",
        ),
    )
    in_focus = (
        across | _bold(draw.ref(f"{spot}<0?[]:[{spot}]"), label(*key_label)),
        down | _bold(draw.ref(f"[{focus}]"), f"{hidden}({label(*row_label)})"),
    )
    # whole numbers are the middles of the cells
    horizontal = draw.scale([-0.5, keys - 0.5], x, f"{x}+{w}")
    vertical = draw.scale([-0.5, rows - 0.5], y, f"{y}+{h}")
    return [
        draw.anchor(x=(horizontal, across_axis), y=(vertical, down_axis))
        for across_axis, down_axis in (usual, in_focus)
    ]


def bar_axes(
    keys: str, count: int, domain: tuple[float, float], left: int, *, by_size: bool = False
) -> list[alt.Chart]:
    """The axes of a row of bars, `left` pixels into the picture: the numbers at its left, the
    labels of the keys below it, then that of the key in focus.

    Args:
        keys: the prefix of the lists of keys.
        count: bars.
        domain: the numbers that the bars span.
        by_size: bars stand in the order that the parameter "size_order" gives.
    """
    spot, step, top = f"{keys}spot_place", f"{keys}bar_label_step", f"{keys}bars_top"
    place = "size_order[datum.value]" if by_size else "datum.value"
    known = (f"{keys}key", place, f"{keys}bar_step", step)
    across = {
        **token_look(f"{keys}key", place),
        "offset": draw.ref(f"{top}+{keys}bar_room-height"),
        "labelLimit": LONGEST,
        "title": None,
    }
    usual = across | {
        "values": draw.ref(f"sequence(0,{count},{'1' if by_size else step})"),
        "labelExpr": label(*known, unless=None if by_size else spot),
    }
    numbers = {
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
    slots = draw.scale([-0.5, count - 0.5], str(left), f"{left}+{count}*{keys}bar_step")
    heights = draw.scale(domain, f"{top}+{keys}bar_room", top)
    drawn = [draw.anchor(x=(slots, usual), y=(heights, numbers))]
    if not by_size:
        named = across | _bold(draw.ref(f"{spot}<0?[]:[{spot}]"), label(*known))
        drawn.append(draw.anchor(x=(slots, named)))
    return drawn


def _bold(values: dict[str, str], label: str) -> dict[str, Any]:
    return {"values": values, "labelExpr": label, "labelFontWeight": "bold", "title": None}
