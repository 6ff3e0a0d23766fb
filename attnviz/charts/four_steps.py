"""Four steps: from one token's query to its new vector, by way of a few keys."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnviz.charts import flow
from attnviz.charts import layers as draw
from attnviz.charts.lanes import Lane, Lanes
from attnviz.charts.palettes import ACCENT, MUTED, PAPER, SOLID, STEPS, hex_of, ramp
from attnviz.charts.scales import short
from attnviz.charts.step_marks import (
    ROUND,
    band,
    frame,
    hit,
    ink_on,
    line,
    lit_outline,
    number,
    shade,
    strip,
    token_label,
    words,
)

if TYPE_CHECKING:
    from attnviz.heads.head import Head

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
_EDGE = 1  # pixels left free beside the outer boxes, for their outlines


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
        query: position of the token whose row is followed, from 0.
        keys: positions of the keys that are followed, in the order drawn, at most 6.
        lit: which of the keys, from 0, is lit while the pointer is elsewhere.
        width: pixels to start with.

    Raises:
        BadInput: no such query or key, too many keys, or a head without values.

    >>> from attnviz.heads.head import Head
    >>> head = Head(q=[[0], [2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    >>> chart = four_steps(head, query=1, keys=[0, 1])
    >>> "pick" in [param.name for param in chart.params]
    True
    """
    lanes = Lanes(head, query, keys)
    count = len(lanes.lanes)
    chosen = -1 if lit is None or not 0 <= lit < count else lit
    hits = ["cards", "segments", "values"]
    nothing, size = alt.Data(values=[{"lane": -1}]), ("width", f"{_TOP + _TALL + 8}*u")
    ground = draw.box(nothing, "0", "0", *size, name="ground", channels=draw.NO_TOOLTIP)
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


def _headings() -> list[alt.Chart]:
    places = (f"{_EDGE}", "x_card", "x_stack", "x_value")
    rooms = ("x_card-8", "x_stack-x_card-8", "x_value-x_stack-4", "width-x_value")
    drawn = []
    for (title, below), x, room in zip(STEPS_TAKEN, places, rooms, strict=True):
        drawn.append(words(draw.quote(title), x, "9*u", size=17, limit=room, bold=True))
        drawn.append(words(draw.quote(below), x, "30*u", size=12, limit=room))
    return drawn


def _focus(lanes: Lanes) -> list[alt.Chart]:
    """The query's token, at half the height of the lanes."""
    drawn = [
        frame(f"{_EDGE}", f"{_MIDDLE - 42}*u", _FOCUS, 84),
        token_label("focus_word", f"{_EDGE}", _MIDDLE - 18, _FOCUS),
    ]
    if lanes.head.q is not None:
        query = lanes.head.q[lanes.query]
        drawn += strip(query, _reach(lanes.compared_vectors), f"{_EDGE}", _MIDDLE + 16, _FOCUS)
    return drawn


def _cards(lanes: Lanes, rows: list[dict[str, Any]]) -> list[alt.Chart]:
    """Each key: its word, its vector, and its score."""
    tall = _lane_height(len(lanes.lanes))
    reach, top = _reach(lanes.compared_vectors), lanes.largest_score
    drawn = [frame("x_card", "datum.y*u", _CARD, tall, rows)]
    for place, lane in enumerate(lanes.lanes):
        middle = rows[place]["y"] + tall / 2
        bare = lane.key is None
        drawn.append(token_label(f"words[{place}]", "x_card", middle - (0 if bare else 15), _CARD))
        if lane.key is not None:
            drawn += strip(lane.key, reach, "x_card", middle + 14, _CARD)
        drawn += _score(lane, place, middle, top)
    wide = f"{_CARD + _GAP + _SCORE}*u"
    return [*drawn, hit("cards", "x_card", "datum.y*u", wide, f"{tall}*u", rows)]


def _score(lane: Lane, place: int, middle: float, top: float) -> list[alt.Chart]:
    """A patch in the score's colour with its number; a masked one has no colour."""
    box = ("x_score", f"{middle - 20}*u", f"{_SCORE}*u", "40*u")
    centre = f"x_score+{_SCORE / 2}*u"
    if lane.masked:
        patch = draw.box(draw.ONE, *box, stroke=MUTED, strokeDash=[4, 3], cornerRadius=ROUND)
        return [
            patch, words(draw.quote("masked"), centre, f"{middle}*u", size=13, align="center")
        ]  # fmt: skip
    if lane.score is None:
        return []
    colour = ramp("score")[round((0.5 + lane.score / (2 * top)) * (STEPS - 1))]
    patch = draw.box(draw.ONE, *box, **lit_outline(place), fill=hex_of(colour), cornerRadius=ROUND)
    return [patch, number(short(round(lane.score, 2)), centre, f"{middle}*u", ink_on(colour), 17)]


def _paths(lanes: Lanes) -> list[alt.Chart]:
    """What leads from column to column, under everything else."""
    lines, to_stack, to_value, to_output = flow.paths(
        lanes, top=_TOP, tall=_TALL, lane_top=_lane_top, lane_height=_lane_height(len(lanes.lanes))
    )
    # a lane without a score starts at its card, and runs level past where the score would be
    starts = f"datum.bare&&datum.t===0?x_card+{_CARD}*u:x_score+{_SCORE}*u"
    return [
        line(lines, f"{_EDGE}+{_FOCUS}*u", "x_card"),
        band(to_stack, starts, "x_stack", SOLID["weight"]),
        band(to_value, f"x_stack+{_STACK}*u", "x_value", SOLID["weight"]),
        band(to_output, f"x_value+{_CARD}*u", "x_out", SOLID["contribution"]),
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
            fillOpacity=draw.ref(shade(1, 0.4)),
            stroke=draw.ref(f"lit===datum.lane?'{ACCENT}':null"),
            strokeWidth=2.5,
        ),
    ]
    for row, lane in zip(rows, lanes.lanes, strict=True):
        if row["share"] >= 13:
            size = 18 if row["share"] >= 24 else 12
            y = f"{row['from'] + row['share'] / 2}*u"
            ink = f"({shade(1, 0)})?'{PAPER}':ink"
            drawn.append(number(_share(lane.weight), middle, y, _lane(ink, row), size))
    if lanes.sink > 0:
        y = f"{_TOP + (1 - lanes.sink / 2) * _TALL}*u"
        label = draw.quote(f"sink {_share(lanes.sink)}")
        drawn.append(words(label, middle, y, align="center"))
    return [*drawn, hit("segments", *place, rows)]


def _values(lanes: Lanes, rows: list[dict[str, Any]]) -> list[alt.Chart]:
    """Each key's value vector and the weight that multiplies it."""
    tall, reach = _lane_height(len(lanes.lanes)), _reach(lanes.added_vectors)
    drawn = [frame("x_value", "datum.y*u", _CARD, tall, rows)]
    for place, lane in enumerate(lanes.lanes):
        middle = rows[place]["y"] + tall / 2
        label = draw.quote(f"{_share(lane.weight)} ×")
        at = f"x_value+{_CARD / 2}*u"
        drawn.append(words(label, at, f"{middle - 15}*u", size=16, align="center", bold=True))
        drawn += strip(lane.value, reach, "x_value", middle + 14, _CARD)
    return [*drawn, hit("values", "x_value", "datum.y*u", f"{_CARD}*u", f"{tall}*u", rows)]


def _output(lanes: Lanes) -> list[alt.Chart]:
    """The blend: one new vector for the query's token."""
    return [
        frame("x_out", f"{_MIDDLE - 42}*u", _OUT, 84),
        token_label("focus_word", "x_out", _MIDDLE - 18, _OUT),
        *strip(lanes.output, _reach(lanes.added_vectors), "x_out", _MIDDLE + 16, _OUT),
    ]


def _reach(vectors: list[NDArray]) -> float:
    """Where the colours end: all but the outermost fiftieth, so that one outlier fades nothing."""
    sizes = np.abs(np.concatenate(vectors)) if vectors else np.ones(1)
    return float(np.quantile(sizes, 0.98)) or 1.0


def _share(weight: float) -> str:
    """A weight as a label: two decimals; a small one is not nothing, nor a large one all."""
    if 0 < weight < 0.005:
        return "<0.01"
    return ">0.99" if 0.995 <= weight < 1 else f"{weight:.2f}"


def _lane(expression: str, row: dict[str, Any]) -> str:
    """An expression about a lane for a mark whose data does not know it."""
    return expression.replace("datum.lane", str(row["lane"]))
