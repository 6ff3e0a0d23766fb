"""The building blocks of a picture that lays itself out in the browser.

A picture is one layered Vega-Lite view. Every place in it is an expression of the view's `width`,
so that it answers to the room it gets without a new specification: this is what no concatenation
of views can do. Words that must follow the page's theme are axis labels, the only text that
Streamlit colours; words never become part of an expression, they are looked up in parameters.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

ONE = alt.Undefined  # for what is drawn once: `finish` gives the picture one empty data row
TITLE_SIZE, LABEL_SIZE = 14, 11
_PLAIN_AXIS = {
    "grid": False,
    "ticks": False,
    "domain": False,
    "labelFlush": False,
    "labelBound": False,
    "labelOverlap": False,
    "labelFontSize": LABEL_SIZE,
    "titleFontSize": LABEL_SIZE,
    "titleFontWeight": "normal",
}
NO_TOOLTIP = {"tooltip": {"value": None}}
_UNSEEN = {"fill": "transparent", "aria": False}
# what is written once in the configuration need not be written at every mark and axis
_STYLES = {
    "caption": {"labelPadding": 0, "labelAlign": "left", "labelBaseline": "top"},
    "picture": {"align": "left", "baseline": "top", "aspect": False, "aria": False},
    "anchor": {"opacity": 0, "size": 0, "aria": False},
}


@dataclass
class Section:
    """A part of a picture: what it draws, what that needs, and how tall it is.

    Attributes:
        layers: drawn in this order.
        keys: the prefix of the keys that `key_layers` are about, where a picture has several.
        key_layers: drawn above `layers`, from one shared data row a key, known by its place `i`.
        fixed, read: fields of those rows, name to expression: what depends on the room alone, and
            what depends on the row in focus. Many marks follow the pointer, so their places are
            fields, worked out once, and not expressions, worked out at every move.
        over: drawn above the key layers.
        params: parameters that the layers use.
        height: an expression, pixels.
        hovers, picks, spots: names of the views whose marks answer to hover, click and a key.
    """

    height: str
    keys: str = ""
    layers: list[alt.Chart] = field(default_factory=list)
    key_layers: list[alt.Chart] = field(default_factory=list)
    fixed: dict[str, str] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)
    over: list[alt.Chart] = field(default_factory=list)
    params: list[alt.VariableParameter] = field(default_factory=list)
    hovers: list[str] = field(default_factory=list)
    picks: list[str] = field(default_factory=list)
    spots: list[str] = field(default_factory=list)


def ref(expression: str) -> dict[str, str]:
    return {"expr": expression}


def px(expression: str) -> dict[str, Any]:
    """A place, size or text computed in the browser; may use `datum`."""
    return {"value": ref(expression)}


def quoted(text: str) -> str:
    """Text of ours (never a user's) as a string inside an expression."""
    return json.dumps(text)


def param(name: str, expression: str) -> alt.VariableParameter:
    return alt.VariableParameter(name=name, expr=expression)


def constant(name: str, value: Any) -> alt.VariableParameter:
    return alt.VariableParameter(name=name, value=value)


def mark(
    kind: str,
    channels: dict[str, Any],
    data: Any = ONE,
    *,
    look: dict[str, Any],
    name: Any = ONE,
    calculate: dict[str, str] | None = None,
) -> alt.Chart:
    """A view of one mark a data row.

    Built at once, from plain values: Altair's chained methods copy the chart at every step, and
    guess and check what they are given, which takes most of a second for a whole picture.

    Args:
        channels: name to definition, as Vega-Lite has them.
        look: properties of the mark.
        calculate: fields of the data rows, name to expression.
    """
    return alt.Chart(
        data,
        mark={"type": kind, **look},
        name=name,
        transform=_calculations(calculate) if calculate else ONE,
        encoding=alt.FacetedEncoding(**channels),
    )


def _calculations(fields: dict[str, str]) -> list[dict[str, str]]:
    return [{"calculate": expression, "as": name} for name, expression in fields.items()]


def sequence(count: int, name: str) -> dict[str, Any]:
    """Data rows that hold 0, 1, 2, ..., in a field of this name."""
    return {"sequence": {"start": 0, "stop": count, "as": name}}


def scale(domain: Sequence[float], start: str, end: str, *, log: bool = False) -> dict[str, Any]:
    """A scale from fixed numbers to pixels; never rounded out to nicer numbers."""
    low, high = domain
    if low == high:
        low, high = low - 0.5, high + 0.5
    kind = {"type": "log"} if log else {"zero": False}
    return {"domain": [low, high], "range": [ref(start), ref(end)], "nice": False, **kind}


def anchor(at: float = 0, **axes: tuple[dict[str, Any], dict[str, Any]]) -> alt.Chart:
    """An unseen mark, to hang axes on: x, y or both, each a scale and an axis. It stands at a
    number that the scales know."""
    channels = {
        channel: {"datum": at, "type": "quantitative", "scale": scale, "axis": axis}
        for channel, (scale, axis) in axes.items()
    }
    return mark("point", channels, look={"style": "anchor"})


def caption(
    label: str, x: str, y: str, *, limit: str = "width", title: bool = False, **more: Any
) -> alt.Chart:
    """A line of text in the theme's colour; its top left corner at x, y. `label` is an
    expression."""
    look: dict[str, Any] = {
        "style": "caption",
        "orient": "bottom",
        "offset": ref(f"({y})-height"),
        "values": [0],
        "labelExpr": label,
        "labelLimit": ref(limit),
        "title": None,
    }
    if title:
        look |= {"labelFontSize": TITLE_SIZE, "labelFontWeight": "bold"}
    return anchor(x=(scale([0, 1], x, f"({x})+1"), look | more))


def picture(address: Any, x: str, y: str, w: str, h: str, *, smooth: bool = False) -> alt.Chart:
    """A PNG stretched over a rectangle; crisp cells unless smooth. The address is a text, or the
    `px` of a parameter that holds one."""
    look = {"width": ref(w), "height": ref(h), "smooth": smooth, "style": "picture"}
    url = {"value": address} if isinstance(address, str) else address
    return mark("image", {"x": px(x), "y": px(y), "url": url}, look=look)


def box(
    data: Any,
    x: str,
    y: str,
    w: str,
    h: str,
    *,
    name: Any = ONE,
    calculate: dict[str, str] | None = None,
    channels: dict[str, Any] | None = None,
    **look: Any,
) -> alt.Chart:
    """Rectangles, one a data row; places and sizes are expressions that may use `datum`.

    Invisible unless `look` says otherwise; nothing for a screen reader unless `aria` does.
    """
    place = {"x": px(x), "x2": px(f"({x})+({w})"), "y": px(y), "y2": px(f"({y})+({h})")}
    look = _UNSEEN | look
    return mark("rect", place | (channels or {}), data, name=name, calculate=calculate, look=look)


def placed(
    name: str,
    data: Any = ONE,
    *,
    channels: dict[str, Any],
    calculate: dict[str, str] | None = None,
    **look: Any,
) -> alt.Chart:
    """Rectangles whose places are channels, as of the rows of a key layer."""
    look = _UNSEEN | look
    return mark("rect", channels, data, name=name, calculate=calculate, look=look)


def plain(field: str, kind: str = "quantitative", **more: Any) -> dict[str, Any]:
    """A channel that takes a field's own value: a place in pixels, an opacity, a colour."""
    return {"field": field, "type": kind, "scale": None, **more}


def between(channel: str, field: str) -> dict[str, Any]:
    """The channels x and x2, or y and y2, from two fields that are named alike."""
    return {channel: plain(field, axis=None), f"{channel}2": {"field": f"{field}2"}}


def compose(
    sections: Sequence[Section],
    *,
    keys: Mapping[str, tuple[int, dict[str, str]]],
    params: Sequence[Any] = (),
    pick: Sequence[str] = ("query",),
    width: int,
) -> alt.LayerChart:
    """One picture of several sections, linked by "hover", "spot" and "pick".

    What the pointer is over is in the parameters "hovered" (the place of a row, or -1), "side"
    (the number of its map) and "spotted" (the place of a key, or -1).

    Args:
        sections: built to stand one below the other.
        keys: prefix of a set of keys to how many are drawn, and the fields of their data rows
            that every section may use.
        params: parameters that the sections share.
        pick: fields of the parameter that a click sets.
        width: pixels to start with; the page may set another.
    """
    ground = box(
        alt.Data(values=[{"place": -1, "key": -1, "side": 0}]),
        "0",
        "0",
        "width",
        "+".join(f"({section.height})" for section in sections),
        name="ground",
        channels=NO_TOOLTIP,
    )
    hovers, spots, picks = (
        [name for section in sections for name in getattr(section, kind)]
        for kind in ("hovers", "spots", "picks")
    )
    spot = ["key", "group"] if len(keys) > 1 else ["key"]
    selections = [
        selected_by("hover", ["place", "side"], "pointerover", [*hovers, "ground"]),
        selected_by("spot", spot, "pointerover", [*spots, "ground"]),
    ]
    if picks:
        selections.append(selected_by("pick", list(pick), "click", picks))
    pointer = [
        param("hovered", "isValid(hover.place)?hover.place[0]:-1"),
        param("side", "isValid(hover.side)?hover.side[0]:0"),
        param("spotted", "isValid(spot.key)?spot.key[0]:-1"),
    ]
    layers = [ground, *(layer for section in sections for layer in section.layers)]
    for prefix, (count, known) in keys.items():
        own = [section for section in sections if section.keys == prefix and section.key_layers]
        fields: dict[str, str] = {"group": quoted(prefix)} if len(keys) > 1 else {}
        for part in (*(s.fixed for s in own), known, *(s.read for s in own)):
            fields |= part
        on_keys = [layer for section in own for layer in section.key_layers]
        if on_keys:
            steps = _calculations(fields)
            layers.append(alt.LayerChart(sequence(count, "i"), on_keys, transform=steps))
    layers += [layer for section in sections for layer in section.over]
    own_params = [param for section in sections for param in section.params]
    return finish(layers, [*selections, *pointer, *params, *own_params], width)


def finish(layers: Sequence[Any], params: Sequence[Any], width: int) -> alt.LayerChart:
    """One picture of several views, with the options that every picture here shares."""
    picture = alt.LayerChart(
        data=alt.Data(values=[{}]),
        layer=layers,
        resolve={"scale": dict.fromkeys(("x", "y", "color"), "independent")},
        width=width,
        height=10,  # what is drawn reaches beyond it; "pad" makes room for all of it
        padding=0,
        autosize={"type": "pad", "contains": "padding"},
        # the renderer is fixed: Streamlit would switch it by the number of marks
        usermeta={"embedOptions": {"renderer": "svg"}},
        config={"view": {"stroke": None}, "axis": _PLAIN_AXIS, "style": _STYLES},
    )
    picture.params = list(params)  # the constructor would copy and check each of them
    return picture


def selection(
    name: str, fields: list[str], event: str, view: str, **more: Any
) -> alt.TopLevelSelectionParameter:
    """A parameter that a pointer sets, in the view of that name and in all that share its marks."""
    select = {"type": "point", "fields": fields, "on": event, "toggle": False, **more}
    return alt.TopLevelSelectionParameter(name=name, select=select, views=[view])


def selected_by(
    name: str, fields: list[str], event: str, views: Sequence[str]
) -> alt.TopLevelSelectionParameter:
    """A parameter that some marks set. All marks share one scope, so they are told apart by their
    names, of which Altair may lengthen the end."""
    marks = f"rect:{event}[event.item&&test(/^({'|'.join(views)})/,event.item.mark.name)]"
    return selection(name, fields, marks, "ground", clear=False)
