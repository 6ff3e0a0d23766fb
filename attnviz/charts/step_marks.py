"""Step marks: the boxes, bands, lines and numbers that the four steps are drawn with.

Lengths are in units of "u", which grows with the room there is.
"""

from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnviz.charts import cell_images
from attnviz.charts import layers as draw
from attnviz.charts.palettes import ACCENT, INK, MUTED, PAPER, STEPS, luminance, ramp

ROUND = 5
_LANE = {"field": "lane", "type": "nominal"}
_NUMBERED = 4  # cells of a vector up to which each has its number in it


def shade(usual: float, away: float) -> str:
    """An opacity: as usual while nothing is lit, less for what is not part of the lit path."""
    return f"lit<0||lit===datum.lane?{usual}:{away}"


def lit_outline(place: int | None = None) -> dict[str, Any]:
    """The outline of a box that is lit with its lane."""
    own = "datum.lane" if place is None else str(place)
    return {
        "stroke": draw.ref(f"lit==={own}?'{ACCENT}':'{MUTED}'"),
        "strokeWidth": draw.ref(f"lit==={own}?2.5:1"),
    }


def frame(x: str, y: str, wide: int, tall: float, rows: Any = None) -> alt.Chart:
    """The box of a token, or one a lane."""
    data = draw.ONE if rows is None else alt.Data(values=rows)
    look: dict[str, Any] = {"stroke": MUTED} if rows is None else lit_outline()
    if rows is not None:
        look["strokeDash"] = draw.ref("datum.masked?[4,3]:[1,0]")
    return draw.box(data, x, y, f"{wide}*u", f"{tall}*u", cornerRadius=ROUND, **look)


def hit(name: str, x: str, y: str, w: str, h: str, rows: list[dict[str, Any]]) -> alt.Chart:
    """Unseen rectangles that answer to the pointer and speak to a screen reader."""
    hidden = ("lane", "y", "from", "share", "masked", "told")
    shown = [name for name in dict.fromkeys(n for row in rows for n in row) if name not in hidden]
    tip = "{" + ",".join(f"{draw.quote(n)}:datum[{draw.quote(n)}]" for n in shown) + "}"
    return draw.box(
        alt.Data(values=rows),
        *(x, y, w, h),
        name=name,
        channels={
            "tooltip": draw.px(tip),
            "description": {"field": "told", "type": "nominal"},
        },
        aria=True,
        cursor="pointer",
    )


def line(points: list[dict[str, Any]], start: str, end: str) -> alt.Chart:
    look = {
        "stroke": draw.ref(f"lit===datum.lane?'{ACCENT}':'{MUTED}'"),
        "strokeWidth": draw.ref("(lit===datum.lane?3:1.5)*u"),
        "strokeDash": draw.ref("datum.masked?[4,4]:[1,0]"),
        "opacity": draw.ref(shade(0.9, 0.3)),
        "aria": False,
    }
    place = {"x": draw.px(_across(start, end)), "y": draw.px("datum.y*u"), "detail": _LANE}
    return draw.mark("line", place, alt.Data(values=points), look=look)


def band(points: list[dict[str, Any]], start: str, end: str, colour: str) -> alt.Chart:
    look = {
        "fill": colour,
        "fillOpacity": draw.ref("lit<0?0.38:lit===datum.lane?0.75:0.12"),
        "aria": False,
    }
    place = {
        "x": draw.px(_across(start, end)),
        "y": draw.px("datum.y*u"),
        "y2": draw.px("datum.y2*u"),
        "detail": _LANE,
    }
    return draw.mark("area", place, alt.Data(values=points), look=look)


def _across(start: str, end: str) -> str:
    return f"({start})+(({end})-({start}))*datum.t"


def token_label(label: str, x: str, y: float, wide: int) -> alt.Chart:
    """A token's word, its middle at y, in the middle of its box."""
    limit = f"{wide - 10}*u"
    return words(
        label, f"{x}+{wide / 2}*u", f"{y}*u", size=16, align="center", limit=limit, bold=True
    )


def words(
    label: str,
    x: str,
    y: str,
    *,
    size: int = 12,
    align: str = "left",
    limit: str = "width",
    bold: bool = False,
) -> alt.Chart:
    """A line of text, its middle at y, whose letters grow with the room. `label` is an
    expression."""
    look = {
        "align": align,
        "baseline": "middle",
        "fontSize": draw.ref(f"max(10,{size}*u)"),
        "fontWeight": "bold" if bold else "normal",
        "limit": draw.ref(limit),
        "fill": draw.ref("ink"),
        "aria": False,
    }
    return draw.mark("text", {"x": draw.px(x), "y": draw.px(y), "text": draw.px(label)}, look=look)


def number(text: str, x: str, y: str, ink: str, size: int, *, bold: bool = True) -> alt.Chart:
    """A number on a patch of known colour."""
    look = {
        "align": "center",
        "baseline": "middle",
        "fontSize": draw.ref(f"{size}*u"),
        "fontWeight": "bold" if bold else "normal",
        "fill": draw.ref(ink) if "?" in ink else ink,
        "aria": False,
    }
    return draw.mark("text", {"x": draw.px(x), "y": draw.px(y), "text": {"value": text}}, look=look)


def strip(vector: NDArray, reach: float, x: str, y: float, wide: int) -> list[alt.Chart]:
    """A vector as a row of cells, its middle at y; few cells have their numbers in them."""
    colours = ramp("signed")
    position = 0.5 + np.asarray(vector, float)[None] / (2 * reach)
    address = cell_images.cells(position, colours, np.ones(position.shape, bool))
    left, room, tall = 6, wide - 12, 26
    drawn = [draw.picture(address, f"{x}+{left}*u", f"{y - tall / 2}*u", f"{room}*u", f"{tall}*u")]
    if len(vector) <= _NUMBERED:
        cell = room / len(vector)
        for place, one in enumerate(np.asarray(vector).tolist()):
            colour = colours[round(float(position[0, place].clip(0, 1)) * (STEPS - 1))]
            at = f"{x}+{left + (place + 0.5) * cell}*u"
            drawn.append(number(_decimal(one), at, f"{y}*u", ink_on(colour), 11, bold=False))
    return drawn


def _decimal(number: float) -> str:
    """A number in a small cell."""
    return f"{number + 0.0:.1f}".replace("-0.0", "0.0").replace("-", "\u2212")


def ink_on(colour: NDArray) -> str:
    return PAPER if luminance(colour) < 0.179 else INK
