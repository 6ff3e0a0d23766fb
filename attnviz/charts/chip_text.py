"""The text itself, a chip a token, shaded by what each adds to the row in focus."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from attnviz.charts import layers as draw
from attnviz.charts import lettering, selected_row
from attnviz.charts.palettes import ACCENT, INK, MUTED, PAPER, dark_from, hexes
from attnviz.charts.scene import Scene, nice_top
from attnviz.charts.sections import Section

_ROOMS = (280, 400, 540, 660, 820, 1000, 1300)  # widths a text is wrapped for
_LINE = 10_000  # a chip's place is sent as one number: line x 10,000 + x
_MANY = 96  # tokens from which chips get smaller


def section(scene: Scene, top: str) -> Section:
    """The text as a section: for two texts, first the queries, then the keys."""
    part = Section(height="chips_h")
    row = draw.caption(selected_row.sentence("focus"), "0", top, title=True)
    part.layers.append(row)
    if scene.one_text:
        _flow(part, "key", scene.key_labels, f"{top}+26")
        part.params.append(draw.param("chips_h", "26+key_chips_h"))
    else:
        part.layers.append(draw.caption(draw.quote("from"), "0", f"{top}+26"))
        _flow(part, "query", scene.query_labels, f"{top}+42")
        second = f"{top}+50+query_chips_h"
        part.layers.append(draw.caption(draw.quote("to"), "0", second))
        _flow(part, "key", scene.key_labels, f"{second}+16")
        part.params.append(draw.param("chips_h", "66+query_chips_h+key_chips_h"))
        part.layers += _query_chips(scene, len(scene.rows))
        part.picks.append("query_chips")
    _key_chips(scene, part)
    return part


def _flow(part: Section, kind: str, labels: Sequence[str], top: str) -> None:
    """Parameters that place the chips of one text, wrapped for the room there is."""
    size, height, line = _sizes(len(labels))
    widths = [max(14, round(lettering.width(label, size)) + 10) for label in labels]
    wrapped = [lettering.wrap(widths, room, 3) for room in _ROOMS]
    flows = [[_LINE * n + x for x, n in zip(*flow, strict=True)] for flow in wrapped]
    fit = "+".join(f"(width>={room}?1:0)" for room in _ROOMS[1:])
    last = f"floor({kind}_flow[{len(labels) - 1}]/{_LINE})"
    part.params += [
        draw.constant(f"{kind}_chip_w", widths),
        draw.constant(f"{kind}_flows", flows),
        draw.param(f"{kind}_flow", f"{kind}_flows[{fit}]"),
        draw.param(f"{kind}_chips_top", top),
        draw.param(f"{kind}_chips_h", f"{line}*({last}+1)"),
    ]


def _place(kind: str, place: str, line: int) -> tuple[str, str]:
    """Where the chip of a token stands, as two expressions."""
    flow = f"{kind}_flow[{place}]"
    return f"{flow}%{_LINE}", f"{kind}_chips_top+floor({flow}/{_LINE})*{line}"


def _sizes(count: int) -> tuple[float, int, int]:
    """Font size, height of a chip, distance of two lines."""
    return (12, 22, 27) if count <= _MANY else (10.5, 17, 20)


def _key_chips(scene: Scene, part: Section) -> None:
    """The chips of the keys, and the outlines of two: the selected token, and
    the key pointed at."""
    size, height, line = _sizes(len(scene.keys))
    low, high = domain(scene)
    value, absent = f"{selected_row.measure_prefix(scene)}_value", selected_row.is_absent(scene)
    x, y = _place("key", "datum.i", line)
    part.fixed |= {
        "chip_x": x,
        "chip_x2": "datum.chip_x+key_chip_w[datum.i]",
        "chip_y": y,
        "chip_y2": f"datum.chip_y+{height}",
        "chip_middle": "(datum.chip_x+datum.chip_x2)/2",
        "chip_base": f"datum.chip_y+{height / 2}",
        "chip_text": "key_labels[datum.i]",
    }
    share = f"(datum.{value}-({low}))/{high - low}"
    dark = f"{share}>={dark_from(ramp_of(scene)):.3f}"
    part.by_row |= {
        "chip_shade": f"{absent}?0:1",
        "chip_ink": f"{absent}?'{MUTED}':{dark}?'{PAPER}':'{INK}'",
    }
    colours = {"domain": _spread(low, high), "range": hexes(ramp_of(scene)), "clamp": True}
    shade = {"field": value, "type": "quantitative", "scale": colours, "legend": None}
    special = any(scene.key_special)
    chips = draw.boxes(
        "key_chips",
        channels=draw.between("x", "chip_x")
        | draw.between("y", "chip_y")
        | {
            "color": shade,
            "fillOpacity": draw.plain("chip_shade", legend=None),
            "tooltip": draw.px("datum.tip"),
        },
        calculate={"query": "key_positions[datum.key]"} if scene.one_text else None,
        cornerRadius=4,
        fill=alt.Undefined,
        stroke=MUTED,
        strokeWidth=0.6,
        strokeDash=draw.ref("key_special[datum.i]?[3,2]:[1,0]") if special else alt.Undefined,
        cursor="pointer" if scene.one_text else "default",
    )
    if scene.one_text:
        part.picks.append("key_chips")
    words = _words(
        alt.Undefined,
        size,
        draw.ref("key_special[datum.i]?'italic':'normal'") if special else "normal",
        x=draw.plain("chip_middle", axis=None),
        y=draw.plain("chip_base", axis=None),
        text={"field": "chip_text", "type": "nominal"},
        fill=draw.plain("chip_ink", "nominal", legend=None),
    )
    part.key_layers += [chips, words]
    part.spots.append("key_chips")
    part.over += [
        _outline("selected_place", 2, height, line),
        _outline("spot_place", 1.2, height, line),
    ]


def _outline(place: str, thick: float, height: int, line: int) -> alt.Chart:
    """A frame around the chip at a place; none where the place is -1."""
    there = f"max({place},0)"
    x, y = _place("key", there, line)
    return draw.box(
        draw.ONE,
        x,
        y,
        f"key_chip_w[{there}]",
        str(height),
        cornerRadius=4,
        stroke=ACCENT,
        strokeWidth=thick,
        strokeOpacity=draw.ref(f"{place}<0?0:1"),
    )


def _query_chips(scene: Scene, count: int) -> list[alt.Chart]:
    """The chips of the queries, where they are another text."""
    size, height, line = _sizes(count)
    x, y = _place("query", "datum.i", line)
    data = draw.sequence(count, "i")
    chip = draw.box(
        data,
        x,
        y,
        "query_chip_w[datum.i]",
        str(height),
        name="query_chips",
        calculate={"query": "query_positions[datum.i]"},
        channels=draw.NO_TOOLTIP,
        cornerRadius=4,
        cursor="pointer",
        stroke=draw.ref(f"datum.i===focus?'{ACCENT}':'{MUTED}'"),
        strokeWidth=draw.ref("datum.i===focus?2:0.6"),
    )
    words = _words(
        data,
        size,
        draw.ref("query_special[datum.i]?'italic':'normal'"),
        x=draw.px(f"{x}+query_chip_w[datum.i]/2"),
        y=draw.px(f"{y}+{height / 2}"),
        text=draw.px("query_labels[datum.i]"),
        fill={"value": MUTED},
    )
    return [chip, words]


def _words(data: Any, size: float, style: Any, **channels: Any) -> alt.Chart:
    look = {"fontSize": size, "align": "center", "baseline": "middle", "fontStyle": style}
    return draw.mark("text", channels, data, look=look | {"aria": False})


def domain(scene: Scene) -> tuple[float, float]:
    """The numbers that the shades span: of all rows, so that rows can be compared."""
    if scene.measure_name == "weight":
        return 0.0, 1.0
    top = nice_top(scene.parts[scene.reason == 0])
    return (-top, top) if scene.measure.signed else (0.0, top)


def ramp_of(scene: Scene) -> str:
    """Weights keep the colour they have in the map; other measures have one of their own."""
    if scene.measure_name == "weight":
        return "weight"
    return "signed" if scene.measure.signed else "contribution"


def _spread(low: float, high: float, count: int = 13) -> list[float]:
    return [float(f"{low + (high - low) * n / (count - 1):.6g}") for n in range(count)]
