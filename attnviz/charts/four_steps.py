"""Four steps: from one token's query to its new vector, by way of a few keys."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnviz.charts import flow, pictures
from attnviz.charts import layers as draw
from attnviz.charts.lanes import Lane, Lanes
from attnviz.charts.palettes import ACCENT, INK, MUTED, PAPER, SOLID, STEPS, luminance, ramp
from attnviz.charts.scales import short

if TYPE_CHECKING:
    from attnviz.head import Head

WIDTH = 880
STEPS_TAKEN = (
    ("1  Query", "what the token looks for"),
    ("2  Scores", "the query against each key"),
    ("3  Weights", "shares of 1"),
    ("4  New vector", "weight times value, added up"),
)
"""The columns: what each is called and what happens there."""

# All lengths below are in units of "u", which grows with the room there is.
_FOCUS, _CARD, _SCORE, _STACK, _OUT = 104, 104, 68, 62, 104  # widths of boxes
_GAP = 10  # between a key's card and its score
_TOP, _TALL, _BETWEEN = 58, 282, 12  # where lanes start, all lanes together, from lane to lane
_DARK, _LIGHT = "#262730", "#f3f4f6"  # words on a light and on a dark page
_MIDDLE = _TOP + _TALL / 2
_ROUND = 5
_EDGE = 1  # pixels left free beside the outer boxes, for their outlines
_LANE = {"field": "lane", "type": "nominal"}
_NUMBERED = 4  # cells of a vector up to which each has its number in it


def four_steps(
    head: "Head", *, query: int, keys: Sequence[int], lit: int | None = None, width: int = WIDTH
) -> alt.LayerChart:
    """One query, a few keys, four columns: query, scores, weights, new vector.

    The bar of weights is 1 tall. A band is as thick, in the last column, as its share of that
    bar; keys that are not followed share one lane, and a sink has a part of the bar and no value.
    Strips are vectors, a cell a number: ochre below 0, teal above it. Pointing at a key lights
    its whole path in the browser; clicking sets the parameter "pick", field "lane".

    A masked key is drawn in dashes and without a score; no band leaves it.

    Args:
        head: the head; it needs values.
        query: position of the token that reads, from 0.
        keys: positions of the keys that are followed, in the order drawn, at most 6.
        lit: which of the keys, from 0, is lit while the pointer is elsewhere.
        width: pixels to start with.

    Raises:
        BadInput: no such query or key, too many keys, or a head without values.

    >>> from attnviz.head import Head
    >>> head = Head(q=[[0], [2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    >>> chart = four_steps(head, query=1, keys=[0, 1])
    >>> "pick" in [param.name for param in chart.params]
    True
    """
    lanes = Lanes(head, query, keys)
    count = len(lanes.lanes)
    chosen = -1 if lit is None or not 0 <= lit < count else lit
    hits = ["cards", "segments", "values"]
    everywhere = ("0", "0", "width", f"{_TOP + _TALL + 8}*u")
    ground = draw.box(
        alt.Data(values=[{"lane": -1}]), *everywhere, name="ground", channels=draw.NO_TOOLTIP
    )
    params = [
        draw.selected_by("spot", ["lane"], "pointerover", [*hits, "ground"]),
        draw.selected_by("pick", ["lane"], "click", hits),
        draw.constant("words", [lane.word for lane in lanes.lanes]),
        draw.constant("focus_word", lanes.word),
        # the page's ground is a signal of Vega's own; without one, it is light
        draw.param("ink", f"luminance(background||'white')<0.2?'{_LIGHT}':'{_DARK}'"),
        draw.param("u", "min(1.9,max(0.4,width/790))"),
        draw.param(
            "gap", f"(width-{2 * _EDGE}-{_FOCUS + 2 * _CARD + _GAP + _SCORE + _STACK + _OUT}*u)/4"
        ),
        draw.param("x_card", f"{_EDGE}+{_FOCUS}*u+gap"),
        draw.param("x_score", f"x_card+{_CARD + _GAP}*u"),
        draw.param("x_stack", f"x_score+{_SCORE}*u+gap"),
        draw.param("x_value", f"x_stack+{_STACK}*u+gap"),
        draw.param("x_out", f"x_value+{_CARD}*u+gap"),
        draw.param("lit", f"isValid(spot.lane)&&spot.lane[0]>=0?spot.lane[0]:{chosen}"),
    ]
    rows = _rows(lanes)
    drawn = [
        ground,
        *_headings(),
        *_paths(lanes),
        *_focus(lanes),
        *_cards(lanes, rows),
        *_stack(lanes, rows),
        *_values(lanes, rows),
        *_output(lanes),
    ]
    return draw.finish(drawn, params, width)


# What the lanes know


def _rows(lanes: Lanes) -> list[dict[str, Any]]:
    """A data row a lane: its place, what a pointer shows, what a screen reader says."""
    rows = []
    top = 0.0
    for place, lane in enumerate(lanes.lanes):
        numbers = _numbers(lane, lanes.temperature)
        told = ", ".join(f"{name} {value}" for name, value in numbers.items())
        rows.append(
            {
                "lane": place,
                "token": lane.word,
                "y": _lane_top(place, len(lanes.lanes)),
                "from": _TOP + top * _TALL,
                "share": lane.weight * _TALL,
                "masked": bool(lane.masked),
                "told": f"{lane.word}: {told}",
                **numbers,
            }
        )
        top += lane.weight
    return rows


def _numbers(lane: Lane, temperature: float) -> dict[str, str]:
    """What a pointer shows of a lane, title to text."""
    out = {}
    if lane.masked:
        out["score"] = f"masked ({lane.masked})"
    elif lane.score is not None:
        out["score"] = short(lane.score)
        if temperature != 1 and lane.received is not None:
            out["score / temperature"] = short(lane.received)
    out["weight"] = short(lane.weight)
    out["length of value"] = short(float(np.linalg.norm(lane.value)))
    out["length of weight x value"] = short(float(np.linalg.norm(lane.part)))
    return out


def _lane_height(count: int) -> float:
    return (_TALL - _BETWEEN * (count - 1)) / count


def _lane_top(place: int, count: int) -> float:
    return _TOP + place * (_lane_height(count) + _BETWEEN)


# What is drawn


def _headings() -> list[alt.Chart]:
    places = (f"{_EDGE}", "x_card", "x_stack", "x_value")
    rooms = ("x_card-8", "x_stack-x_card-8", "x_value-x_stack-4", "width-x_value")
    drawn = []
    for (title, below), x, room in zip(STEPS_TAKEN, places, rooms, strict=True):
        drawn.append(_words(draw.quoted(title), x, "9*u", size=17, limit=room, bold=True))
        drawn.append(_words(draw.quoted(below), x, "30*u", size=12, limit=room))
    return drawn


def _focus(lanes: Lanes) -> list[alt.Chart]:
    """The token that reads, at half the height of the lanes."""
    drawn = [
        _frame(f"{_EDGE}", f"{_MIDDLE - 42}*u", _FOCUS, 84),
        _named("focus_word", f"{_EDGE}", _MIDDLE - 18, _FOCUS),
    ]
    if lanes.head.q is not None:
        query = lanes.head.q[lanes.query]
        drawn += _strip(query, _reach(_asked(lanes)), f"{_EDGE}", _MIDDLE + 16, _FOCUS)
    return drawn


def _cards(lanes: Lanes, rows: list[dict[str, Any]]) -> list[alt.Chart]:
    """Each key: its word, its vector, and its score."""
    tall = _lane_height(len(lanes.lanes))
    reach, top = _reach(_asked(lanes)), _top_score(lanes)
    drawn = [_frame("x_card", "datum.y*u", _CARD, tall, rows)]
    for place, lane in enumerate(lanes.lanes):
        middle = rows[place]["y"] + tall / 2
        bare = lane.key is None
        drawn.append(_named(f"words[{place}]", "x_card", middle - (0 if bare else 15), _CARD))
        if lane.key is not None:
            drawn += _strip(lane.key, reach, "x_card", middle + 14, _CARD)
        drawn += _score(lane, place, middle, top)
    wide = f"{_CARD + _GAP + _SCORE}*u"
    return [*drawn, _hit("cards", "x_card", "datum.y*u", wide, f"{tall}*u", rows)]


def _score(lane: Lane, place: int, middle: float, top: float) -> list[alt.Chart]:
    """A patch in the score's colour with its number; a masked one has no colour."""
    box = ("x_score", f"{middle - 20}*u", f"{_SCORE}*u", "40*u")
    centre = f"x_score+{_SCORE / 2}*u"
    if lane.masked:
        patch = draw.box(draw.ONE, *box, stroke=MUTED, strokeDash=[4, 3], cornerRadius=_ROUND)
        return [
            patch, _words(draw.quoted("masked"), centre, f"{middle}*u", size=13, align="center")
        ]  # fmt: skip
    if lane.score is None:
        return []
    colour = ramp("score")[round((0.5 + lane.score / (2 * top)) * (STEPS - 1))]
    patch = draw.box(draw.ONE, *box, **_outlined(place), fill=_hex(colour), cornerRadius=_ROUND)
    return [patch, _number(short(round(lane.score, 2)), centre, f"{middle}*u", _ink_on(colour), 17)]


def _paths(lanes: Lanes) -> list[alt.Chart]:
    """What leads from column to column, under everything else."""
    lines, to_stack, to_value, to_output = flow.paths(
        lanes, top=_TOP, tall=_TALL, lane_top=_lane_top, lane_height=_lane_height(len(lanes.lanes))
    )
    # a lane without a score starts at its card, and runs level past where the score would be
    starts = f"datum.bare&&datum.t===0?x_card+{_CARD}*u:x_score+{_SCORE}*u"
    return [
        _line(lines, f"{_EDGE}+{_FOCUS}*u", "x_card"),
        _band(to_stack, starts, "x_stack", SOLID["weight"]),
        _band(to_value, f"x_stack+{_STACK}*u", "x_value", SOLID["weight"]),
        _band(to_output, f"x_value+{_CARD}*u", "x_out", SOLID["contribution"]),
    ]


def _stack(lanes: Lanes, rows: list[dict[str, Any]]) -> list[alt.Chart]:
    """The bar of weights, 1 tall, with the number of each share that has the room for it."""
    wide, middle = f"{_STACK}*u", f"x_stack+{_STACK / 2}*u"
    place = ("x_stack", "datum.from*u+0.75", wide, "max(0,datum.share*u-1.5)")
    drawn = [
        draw.box(
            draw.ONE, "x_stack", f"{_TOP}*u", wide, f"{_TALL}*u", stroke=MUTED, strokeDash=[4, 3]
        ),
        draw.box(
            alt.Data(values=rows),
            *place,
            fill=SOLID["weight"],
            fillOpacity=draw.ref(_shade(1, 0.4)),
            stroke=draw.ref(f"lit===datum.lane?'{ACCENT}':null"),
            strokeWidth=2.5,
        ),
    ]
    for row, lane in zip(rows, lanes.lanes, strict=True):
        if row["share"] >= 13:
            size = 18 if row["share"] >= 24 else 12
            y = f"{row['from'] + row['share'] / 2}*u"
            ink = f"({_shade(1, 0)})?'{PAPER}':ink"
            drawn.append(_number(_share(lane.weight), middle, y, _lane(ink, row), size))
    if lanes.sink > 0:
        y = f"{_TOP + (1 - lanes.sink / 2) * _TALL}*u"
        label = draw.quoted(f"sink {_share(lanes.sink)}")
        drawn.append(_words(label, middle, y, align="center"))
    return [*drawn, _hit("segments", *place, rows)]


def _values(lanes: Lanes, rows: list[dict[str, Any]]) -> list[alt.Chart]:
    """Each key's value vector and the weight that multiplies it."""
    tall, reach = _lane_height(len(lanes.lanes)), _reach(_given(lanes))
    drawn = [_frame("x_value", "datum.y*u", _CARD, tall, rows)]
    for place, lane in enumerate(lanes.lanes):
        middle = rows[place]["y"] + tall / 2
        label = draw.quoted(f"{_share(lane.weight)} ×")
        at = f"x_value+{_CARD / 2}*u"
        drawn.append(_words(label, at, f"{middle - 15}*u", size=16, align="center", bold=True))
        drawn += _strip(lane.value, reach, "x_value", middle + 14, _CARD)
    return [*drawn, _hit("values", "x_value", "datum.y*u", f"{_CARD}*u", f"{tall}*u", rows)]


def _output(lanes: Lanes) -> list[alt.Chart]:
    """The blend: one new vector for the token that reads."""
    return [
        _frame("x_out", f"{_MIDDLE - 42}*u", _OUT, 84),
        _named("focus_word", "x_out", _MIDDLE - 18, _OUT),
        *_strip(lanes.output, _reach(_given(lanes)), "x_out", _MIDDLE + 16, _OUT),
    ]


# The kinds of mark


def _shade(usual: float, away: float) -> str:
    """An opacity: as usual while nothing is lit, less for what is not part of the lit path."""
    return f"lit<0||lit===datum.lane?{usual}:{away}"


def _outlined(place: int | None = None) -> dict[str, Any]:
    """The outline of a box that is lit with its lane."""
    own = "datum.lane" if place is None else str(place)
    return {
        "stroke": draw.ref(f"lit==={own}?'{ACCENT}':'{MUTED}'"),
        "strokeWidth": draw.ref(f"lit==={own}?2.5:1"),
    }


def _frame(x: str, y: str, wide: int, tall: float, rows: Any = None) -> alt.Chart:
    """The box of a token, or one a lane."""
    data = draw.ONE if rows is None else alt.Data(values=rows)
    look: dict[str, Any] = {"stroke": MUTED} if rows is None else _outlined()
    if rows is not None:
        look["strokeDash"] = draw.ref("datum.masked?[4,3]:[1,0]")
    return draw.box(data, x, y, f"{wide}*u", f"{tall}*u", cornerRadius=_ROUND, **look)


def _hit(name: str, x: str, y: str, w: str, h: str, rows: list[dict[str, Any]]) -> alt.Chart:
    """Unseen rectangles that answer to the pointer and speak to a screen reader."""
    hidden = ("lane", "y", "from", "share", "masked", "told")
    shown = [name for name in dict.fromkeys(n for row in rows for n in row) if name not in hidden]
    tip = "{" + ",".join(f"{draw.quoted(n)}:datum[{draw.quoted(n)}]" for n in shown) + "}"
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


def _line(points: list[dict[str, Any]], start: str, end: str) -> alt.Chart:
    look = {
        "stroke": draw.ref(f"lit===datum.lane?'{ACCENT}':'{MUTED}'"),
        "strokeWidth": draw.ref("(lit===datum.lane?3:1.5)*u"),
        "strokeDash": draw.ref("datum.masked?[4,4]:[1,0]"),
        "opacity": draw.ref(_shade(0.9, 0.3)),
        "aria": False,
    }
    place = {"x": draw.px(_across(start, end)), "y": draw.px("datum.y*u"), "detail": _LANE}
    return draw.mark("line", place, alt.Data(values=points), look=look)


def _band(points: list[dict[str, Any]], start: str, end: str, colour: str) -> alt.Chart:
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


def _named(label: str, x: str, y: float, wide: int) -> alt.Chart:
    """A token's word, its middle at y, in the middle of its box."""
    limit = f"{wide - 10}*u"
    return _words(
        label, f"{x}+{wide / 2}*u", f"{y}*u", size=16, align="center", limit=limit, bold=True
    )


def _words(
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


def _number(text: str, x: str, y: str, ink: str, size: int, *, bold: bool = True) -> alt.Chart:
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


def _strip(vector: NDArray, reach: float, x: str, y: float, wide: int) -> list[alt.Chart]:
    """A vector as a row of cells, its middle at y; few cells have their numbers in them."""
    colours = ramp("signed")
    position = 0.5 + np.asarray(vector, float)[None] / (2 * reach)
    address = pictures.cells(position, colours, np.ones(position.shape, bool))
    left, room, tall = 6, wide - 12, 26
    drawn = [draw.picture(address, f"{x}+{left}*u", f"{y - tall / 2}*u", f"{room}*u", f"{tall}*u")]
    if len(vector) <= _NUMBERED:
        cell = room / len(vector)
        for place, number in enumerate(np.asarray(vector).tolist()):
            colour = colours[round(float(position[0, place].clip(0, 1)) * (STEPS - 1))]
            at = f"{x}+{left + (place + 0.5) * cell}*u"
            drawn.append(_number(_decimal(number), at, f"{y}*u", _ink_on(colour), 11, bold=False))
    return drawn


# Numbers of the colours


def _asked(lanes: Lanes) -> list[NDArray]:
    """Query and keys, which share their colours."""
    found = [lane.key for lane in lanes.lanes if lane.key is not None]
    return found if lanes.head.q is None else [lanes.head.q[lanes.query], *found]


def _given(lanes: Lanes) -> list[NDArray]:
    """Values and output, which share their colours."""
    return [*(lane.value for lane in lanes.lanes), lanes.output]


def _reach(vectors: list[NDArray]) -> float:
    """Where the colours end: all but the outermost fiftieth, so that one outlier fades nothing."""
    sizes = np.abs(np.concatenate(vectors)) if vectors else np.ones(1)
    return float(np.quantile(sizes, 0.98)) or 1.0


def _top_score(lanes: Lanes) -> float:
    scores = [abs(lane.score) for lane in lanes.lanes if lane.score is not None]
    return max(scores, default=1.0) or 1.0


def _share(weight: float) -> str:
    """A weight as a label: two decimals; a small one is not nothing, nor a large one all."""
    if 0 < weight < 0.005:
        return "<0.01"
    return ">0.99" if 0.995 <= weight < 1 else f"{weight:.2f}"


def _decimal(number: float) -> str:
    """A number in a small cell."""
    return f"{number + 0.0:.1f}".replace("-0.0", "0.0").replace("-", "\u2212")


def _ink_on(colour: NDArray) -> str:
    return PAPER if luminance(colour) < 0.179 else INK


def _lane(expression: str, row: dict[str, Any]) -> str:
    """An expression about a lane for a mark whose data does not know it."""
    return expression.replace("datum.lane", str(row["lane"]))


def _hex(colour: NDArray) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour.tolist())
