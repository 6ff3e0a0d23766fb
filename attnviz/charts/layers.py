"""The building blocks of a picture that lays itself out in the browser.

A picture is one layered Vega-Lite view. Every place in it is an expression of the view's `width`,
so that it answers to the room it gets without a new specification: this is what no concatenation
of views can do. Words that must follow the page's theme are axis labels, the only text that
Streamlit colours; words never become part of an expression, they are looked up in parameters.
"""

import json
from collections.abc import Sequence
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


def ref(expression: str) -> dict[str, str]:
    return {"expr": expression}


def px(expression: str) -> dict[str, Any]:
    """A place, size or text computed in the browser; may use `datum`."""
    return {"value": ref(expression)}


def quote(text: str) -> str:
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
        transform=calculations(calculate) if calculate else ONE,
        encoding=alt.FacetedEncoding(**channels),
    )


def calculations(fields: dict[str, str]) -> list[dict[str, str]]:
    """Fields of data rows, name to expression, as Vega-Lite has them."""
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


def boxes(
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
