"""A row of bars: a number of each key in the row in focus, of one head or of two side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import altair as alt
import numpy as np

from attnviz.charts import axes, chip_text, lettering, packing, selected_row
from attnviz.charts import layers as draw
from attnviz.charts.palettes import ACCENT, SOLID
from attnviz.charts.scene import Scene, nice_top
from attnviz.charts.sections import Section

Order = Literal["text", "size"]
MOST = 40  # bars drawn when they are ordered by size
_LEFT, _RIGHT = 46, 6


@dataclass(frozen=True)
class Series:
    """The bars of one set of numbers.

    Attributes:
        name: of the view of its marks.
        value: what the fields that hold the numbers begin with.
        start, width: expressions, pixels from the left of a key's place.
        fill: a colour, or an expression that gives one.
        text: an expression, what a screen reader says of a bar before its number.
    """

    name: str
    value: str
    start: str
    width: str
    fill: Any
    text: str = "datum.to+': '"


@dataclass(frozen=True)
class BarRow:
    """Bars over one set of keys, on one scale.

    Attributes:
        scene: the tokens.
        series: one or two, beside each other.
        domain: the numbers that bars span.
        top: an expression, where the section starts.
        above, below: pixels above the bars, and below their labels.
        room: an expression, how tall bars may be.
        widest: pixels a key gets at most.
        keys: the prefix of the parameters about the keys.
        count: bars of a series, if not one a key; `spare` places more are kept free behind them.
        known: where bars are ordered by size, the fields of their data rows; else they stand in
            text order and share the data rows of the keys.
    """

    scene: Scene
    series: Sequence[Series]
    domain: tuple[float, float]
    top: str
    above: int
    below: int
    room: str
    widest: int
    keys: str = ""
    count: int = 0
    spare: int = 0
    known: dict[str, str] = field(default_factory=dict)

    @property
    def bars(self) -> int:
        return self.count or len(self.scene.keys)

    def section(self) -> Section:
        """The bars, their axes and the outline of the key under the pointer. The height is the
        parameter "bars_h"."""
        own = self.keys
        labels = round(lettering.widest(self.scene.key_labels, draw.LABEL_SIZE))
        taken = self.above + min(labels, axes.LONGEST) + self.below
        slots = self.bars + self.spare
        part = Section(
            height=f"{own}bars_h", keys=own, spots=[series.name for series in self.series]
        )
        part.params = [
            draw.param(f"{own}bar_step", f"min({self.widest},(width-{_LEFT + _RIGHT})/{slots})"),
            draw.param(f"{own}bar_room", self.room),
            draw.param(f"{own}bars_top", f"({self.top})+{self.above}"),
            draw.param(f"{own}bars_h", f"{own}bar_room+{taken}"),
            draw.param(f"{own}bar_label_step", f"ceil({axes.READABLE}/{own}bar_step)"),
        ]
        by_size = bool(self.known)
        part.layers = axes.bar_axes(own, self.bars, self.domain, _LEFT, by_size=by_size)
        for series in self.series:
            fixed, by_row = self._fields(series)
            if by_size:
                rows = draw.sequence(self.count, "slot")
                part.layers.append(_bars(series, rows, fixed | self.known | by_row))
            else:
                part.key_layers.append(_bars(series))
                part.fixed |= fixed
                part.by_row |= by_row
        part.over = [self._outline()]
        return part

    def height_of(self, value: str) -> str:
        """Where a number's end is, down from the top of the picture."""
        low, high = self.domain
        share = f"(({value})-({low}))/{high - low}"
        return f"({self.keys}bars_top+{self.keys}bar_room*(1-{share}))"

    def _fields(self, series: Series) -> tuple[dict[str, str], dict[str, str]]:
        """Fields of a bar: where it stands, and how far it reaches for the row in focus."""
        slot, name = "datum.slot" if self.known else "datum.i", series.name
        fixed = {
            f"{name}_x": f"{_LEFT}+{slot}*{self.keys}bar_step+{series.start}",
            f"{name}_x2": f"datum.{name}_x+{series.width}",
            f"{name}_y2": self.height_of("0"),
        }
        by_row = {
            f"{name}_y": self.height_of(f"datum.{series.value}_value"),
            f"{name}_said": f"{series.text}+datum.{series.value}_text",
        }
        return fixed, by_row

    def _outline(self) -> alt.Chart:
        """The column of the key under the pointer."""
        own = self.keys
        spot = slot = f"{own}spot_place"
        if self.known:
            slot = f"indexof(size_order,{spot})"
        x, hidden = f"{_LEFT}+max({slot},0)*{own}bar_step", f"{spot}<0||{slot}<0"
        look: dict[str, Any] = {
            "stroke": ACCENT,
            "strokeWidth": 1,
            "strokeOpacity": draw.ref(f"{hidden}?0:0.55"),
        }
        step, top, room = f"{own}bar_step", f"{own}bars_top", f"{own}bar_room"
        return draw.box(draw.ONE, x, top, step, room, **look)


def _bars(series: Series, data: Any = draw.ONE, fields: dict[str, str] | None = None) -> alt.Chart:
    name = series.name
    said = {"tooltip": draw.px("datum.tip"), "description": draw.px(f"datum.{name}_said")}
    places = draw.between("x", f"{name}_x") | draw.between("y", f"{name}_y")
    look = {"fill": series.fill, "aria": True}
    return draw.boxes(name, data, calculate=fields, channels=places | said, **look)


def section(scene: Scene, order: Order, top: str) -> Section:
    """What each key adds to the row in focus, in text order or the largest first."""
    count = len(scene.keys) if order == "text" else min(MOST, len(scene.keys))
    sink = scene.has_sink and scene.measure_name == "weight"
    colour = SOLID["weight" if scene.measure_name == "weight" else "contribution"]
    value = selected_row.measure_prefix(scene)
    against = draw.ref(f"datum.{value}_value<0?'{SOLID['against']}':'{colour}'")
    start, width = "min(1,bar_step*0.12)", "max(1,bar_step-min(2,bar_step*0.24))"
    by_size = {"i": "size_order[datum.slot]"} | selected_row.fields(scene)
    row = BarRow(
        scene,
        [Series("bars", value, start, width, against if scene.measure.signed else colour)],
        _domain(scene),
        top,
        above=24,
        below=10,
        room="clamp(0.09*windowSize()[1],72,110)",
        widest=40,
        count=count,
        spare=2 if sink else 0,
        known=by_size if order == "size" else {},
    )
    part = row.section()
    part.layers.insert(0, draw.caption(draw.quote(_title(scene, count)), "0", f"{top}+2"))
    if order == "size":
        part.params += _by_size(scene, count)
    if sink:
        part.layers += _sink_bar(row)
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


def _sink_bar(row: BarRow) -> list[alt.Chart]:
    """The share that goes to no token, set apart from the tokens."""
    x, y = f"{_LEFT}+{row.bars + 1}*bar_step", row.height_of("sinks[focus]")
    tall = f"bars_top+bar_room-({y})"
    look: dict[str, Any] = {"stroke": SOLID["weight"], "strokeWidth": 1.5, "strokeDash": [2, 2]}
    tip = selected_row.tooltip({"sink, no token": "format(sinks[focus],'.4~g')"})
    below = "bars_top+bar_room+5"
    return [
        draw.box(
            draw.ONE, x, y, "max(3,bar_step-2)", tall, channels={"tooltip": draw.px(tip)}, **look
        ),
        draw.caption(draw.quote("sink"), f"{x}+bar_step/2", below, **axes.upright()),
    ]
