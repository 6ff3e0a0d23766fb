"""What each key adds to the row that is read, as bars: in text order or the largest first."""

from typing import Any, Literal

import altair as alt
import numpy as np

from attnviz.charts import axes, chip_text, lettering, packing, selected_row
from attnviz.charts import layers as draw
from attnviz.charts.palettes import ACCENT, SOLID
from attnviz.charts.scene import Scene, nice_top

Order = Literal["text", "size"]
MOST = 40  # bars drawn when they are ordered by size
_LOWEST, _TALLEST = 72, 110  # pixels; in between, a share of the window
_LEFT, _RIGHT = 46, 6
_WIDEST = 40  # pixels a bar gets at most


def section(scene: Scene, order: Order, top: str) -> draw.Section:
    """The bars as a section that starts at `top`, an expression."""
    count = len(scene.keys) if order == "text" else min(MOST, len(scene.keys))
    sink = scene.has_sink and scene.measure_name == "weight"
    slots = count + (2 if sink else 0)
    below = min(round(lettering.widest(scene.key_labels, draw.LABEL_SIZE)), axes.LONGEST)
    part = draw.Section(height="bars_h", spots=["bars"])
    part.params = [
        draw.param("bar_step", f"min({_WIDEST},(width-{_LEFT + _RIGHT})/{slots})"),
        draw.param("bar_room", f"clamp(0.09*windowSize()[1],{_LOWEST},{_TALLEST})"),
        draw.param("bars_top", f"{top}+24"),
        draw.param("bars_h", f"bar_room+{24 + below + 10}"),
        draw.param("bar_label_step", f"ceil({axes.READABLE}/bar_step)"),
    ]
    low, high = _domain(scene)
    part.layers += [
        draw.caption(draw.quoted(_title(scene, count)), "0", f"{top}+2"),
        *_axes(count, low, high, order),
    ]
    fixed, read = _places("datum.i" if order == "text" else "datum.slot", scene, low, high)
    if order == "text":
        part.key_layers.append(_bars(scene))
        part.fixed, part.read = fixed, read
    else:
        part.params += _by_size(scene, count)
        known = fixed | {"i": "size_order[datum.slot]"} | selected_row.fields(scene) | read
        part.layers.append(_bars(scene, draw.sequence(count, "slot"), known))
    part.over.append(_outline(order))
    if sink:
        part.layers += _sink_bar(count, high)
    return part


def _domain(scene: Scene) -> tuple[float, float]:
    """The numbers that the bars span: of all rows, so that rows can be compared."""
    low, high = chip_text.domain(scene)
    if not scene.measure.signed:
        return low, high
    drawn = scene.parts[scene.reason == 0]
    least = np.nanmin(drawn, initial=0.0)
    return (-nice_top(least) if least < 0 else 0.0), nice_top(drawn[drawn > 0])


def _title(scene: Scene, count: int) -> str:
    title = f"{scene.measure.title}: {scene.measure.unit}"
    rest = len(scene.keys) - count
    return f"{title}; the {count} largest of {len(scene.keys)}" if rest else title


def _places(
    slot: str, scene: Scene, low: float, high: float
) -> tuple[dict[str, str], dict[str, str]]:
    """Fields of a bar: where it stands, and how far it reaches for the row in hand."""
    name = selected_row.measured(scene)
    fixed = {
        "bar_x": f"{_LEFT}+{slot}*bar_step+min(1,bar_step*0.12)",
        "bar_x2": "datum.bar_x+max(1,bar_step-min(2,bar_step*0.24))",
    }
    read = {
        "bar_y": _y(f"datum.{name}_value", low, high),
        "bar_text": f"datum.to+': '+datum.{name}_text",
    }
    return fixed | {"bar_y2": _y("0", low, high)}, read


def _bars(scene: Scene, data: Any = draw.ONE, calculate: dict[str, str] | None = None) -> alt.Chart:
    colour = SOLID["weight" if scene.measure_name == "weight" else "contribution"]
    against = f"datum.{selected_row.measured(scene)}_value<0?'{SOLID['against']}':'{colour}'"
    said = {"tooltip": draw.px("datum.tip"), "description": draw.px("datum.bar_text")}
    return draw.placed(
        "bars",
        data,
        calculate=calculate,
        channels=draw.between("x", "bar_x") | draw.between("y", "bar_y") | said,
        fill=draw.ref(against) if scene.measure.signed else colour,
        aria=True,
    )


def _outline(order: Order) -> alt.Chart:
    """The column of the key pointed at."""
    slot = "spot_place" if order == "text" else "indexof(size_order,spot_place)"
    return draw.box(
        draw.ONE,
        f"{_LEFT}+max({slot},0)*bar_step",
        "bars_top",
        "bar_step",
        "bar_room",
        stroke=ACCENT,
        strokeWidth=1,
        strokeOpacity=draw.ref(f"spot_place<0||{slot}<0?0:0.55"),
    )


def _axes(count: int, low: float, high: float, order: Order) -> list[alt.Chart]:
    place = "datum.value" if order == "text" else "size_order[datum.value]"
    look = {
        **axes.look("key", place),
        "offset": draw.ref("bars_top+bar_room-height"),
        "labelLimit": axes.LONGEST,
        "title": None,
    }
    step = "bar_label_step" if order == "text" else "1"
    in_hand = "spot_place" if order == "text" else None
    across = dict(
        **look,
        values=draw.ref(f"sequence(0,{count},{step})"),
        labelExpr=axes.label("key", place, "bar_step", "bar_label_step", unless=in_hand),
    )
    slots = draw.scale([-0.5, count - 0.5], f"{_LEFT}", f"{_LEFT}+{count}*bar_step")
    heights = draw.scale([low, high], "bars_top+bar_room", "bars_top")
    both = draw.anchor(x=(slots, across), y=(heights, axes.amounts(_LEFT)))
    if order == "size":
        return [both]
    now = dict(
        **look,
        values=draw.ref("spot_place<0?[]:[spot_place]"),
        labelExpr=axes.label("key", place, "bar_step", "bar_label_step"),
        labelFontWeight="bold",
    )
    return [both, draw.anchor(x=(slots, now))]


def _by_size(scene: Scene, count: int) -> list[alt.VariableParameter]:
    """For each row, the places of its largest keys; equal ones in text order."""
    sizes = np.where(scene.reason == 0, np.abs(scene.parts), -1)
    largest = np.argsort(-np.nan_to_num(sizes, nan=-1), axis=1, kind="stable")[:, :count]
    places = [packing.unpacking("focus_order", str(3 * slot)) for slot in range(count)]
    return [
        draw.constant("row_orders", packing.pack(largest)),
        draw.param("focus_order", "row_orders[focus]"),
        draw.param("size_order", f"[{','.join(places)}]"),
    ]


def _sink_bar(count: int, high: float) -> list[alt.Chart]:
    """The share that goes to no token, set apart from the tokens."""
    x, y = f"{_LEFT}+{count + 1}*bar_step", _y("sinks[focus]", 0, high)
    tall = f"bars_top+bar_room-({y})"
    look: dict[str, Any] = {"stroke": SOLID["weight"], "strokeWidth": 1.5, "strokeDash": [2, 2]}
    tip = selected_row.tooltip({"sink, no token": "format(sinks[focus],'.4~g')"})
    below = "bars_top+bar_room+5"
    return [
        draw.box(
            draw.ONE, x, y, "max(3,bar_step-2)", tall, channels={"tooltip": draw.px(tip)}, **look
        ),
        draw.caption(draw.quoted("sink"), f"{x}+bar_step/2", below, **axes.upright()),
    ]


def _y(value: str, low: float, high: float) -> str:
    return f"(bars_top+bar_room*(1-(({value})-({low}))/{high - low}))"
