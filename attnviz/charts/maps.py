"""The two maps: a head's scores and its weights, same rows, same columns."""

from typing import Any, Literal

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnviz.charts import axes, cell_images, lettering, selected_row
from attnviz.charts import layers as draw
from attnviz.charts.legend import Legend
from attnviz.charts.legend import height as legend_height
from attnviz.charts.palettes import ACCENT
from attnviz.charts.scales import ColourScale, ScoreColour, WeightColour, score_scale, weight_scale
from attnviz.charts.scene import Scene

WIDE = 700  # pixels from which the maps stand side by side
_GAP = 24  # between two maps
_LARGEST_CELL = 64
_TITLE_LEFT, _TITLE_BELOW = 24, 22  # room for the titles of the axes
_ABOVE = 200  # pixels of a page above its picture
_LEAST, _USUAL, _MOST = 0.33, 0.42, 640  # heights of a map: two shares of the window, and pixels
_SURE = 24  # rows up to which every label is sure to be printed
_SINK = 16  # width of the sink's column
_LEGEND_ROOM = {"score": 390, "weight": 320}  # the first may reach above the second's labels

Side = Literal["score", "weight"]


def section(
    scene: Scene, score_colour: ScoreColour, weight_colour: WeightColour, top: str, rest: str
) -> draw.Section:
    """The maps as a section that starts at `top` and leaves `rest` to others, two expressions."""
    scores = _coloured_scores(scene, score_colour)
    weights = np.where(scene.reason == 0, scene.weights, -np.inf)
    maps: list[tuple[Side, NDArray, NDArray, ColourScale]] = [
        ("score", scores, scene.score_shown, score_scale(scores, scene.stage, score_colour)),
        ("weight", weights, scene.reason == 0, weight_scale(weights, scene.sink, weight_colour)),
    ]
    legends = [
        Legend(scene, values, shown, colours, room=_LEGEND_ROOM[side])
        for side, values, shown, colours in maps
    ]
    lines = max(legend.lines for legend in legends)
    part = draw.Section(height="pair_h", params=_geometry(scene, top, rest, lines))
    if (scene.reason > 0).any():
        hatch = cell_images.hatch(scene.reason, ~scene.attends)
        part.params.append(draw.constant("hatch", hatch))
    for (side, values, shown, colours), legend in zip(maps, legends, strict=True):
        part.layers += legend.draw(f"{side}_x", f"{side}_y", lines)
        part.layers += _map(scene, side, values, shown, colours)
    _cells(part)
    part.hovers = part.picks = ["cells", "score_bands", "weight_bands"]
    return part


def _coloured_scores(scene: Scene, colour: ScoreColour) -> NDArray[np.float64]:
    """(row, key): what the colours stand for; -inf where there is nothing to colour."""
    scores = np.where(scene.score_shown, scene.scores, -np.inf).astype(np.float64)
    if colour == "zero":
        return scores
    largest = np.fmax.reduce(scores, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # a row with nothing in it
        return np.where(scene.score_shown, scores - largest, -np.inf)


def _geometry(scene: Scene, top: str, rest: str, lines: int) -> list[alt.VariableParameter]:
    """Where the maps stand and how large their cells are: as large as lets the window show the
    picture down to the bars without scrolling, or, where that is out of reach, of a usual size."""
    rows, keys = len(scene.rows), len(scene.keys)
    label_room = _label_room(scene.query_labels, positions=rows > _SURE)
    left = label_room + _TITLE_LEFT
    bare, numbered = (_label_room(scene.key_labels, positions=p) for p in (False, True))
    right = _SINK + 18 if scene.has_sink else 2
    expressions = {
        "wide": f"width>={WIDE}",
        "panel_w": f"wide?floor((width-{_GAP})/2):width",
        "room_w": f"panel_w-{left + right}",
        "window_h": "windowSize()[1]",
        "spare_h": f"window_h-{_ABOVE + legend_height(lines) + bare + _TITLE_BELOW}-({rest})",
        "fits": f"wide&&spare_h>={_LEAST}*0.6*window_h",
        "room_h": f"min({_MOST},fits?max(spare_h,{_LEAST}*window_h):{_USUAL}*window_h)",
        "square": f"min(room_w/{keys},room_h/{rows},{_LARGEST_CELL})",
        # a text that looks at a longer or shorter one may fill the room with oblong cells
        "cell_w": _whole("square" if rows == keys else f"max(square,min(room_w/{keys},22))"),
        "cell_h": _whole("square" if rows == keys else f"max(square,min(room_h/{rows},22))"),
        "map_w": f"cell_w*{keys}",
        "map_h": f"cell_h*{rows}",
        "panel_h": f"{legend_height(lines)}+map_h+key_room+{_TITLE_BELOW}",
        "pair_h": f"wide?panel_h:2*panel_h+{_GAP}",
        "score_x": str(left),
        "score_y": f"({top})+{legend_height(lines)}",
        "weight_x": f"{left}+(wide?panel_w+{_GAP}:0)",
        "weight_y": f"score_y+(wide?0:panel_h+{_GAP})",
        "row_step": f"ceil({axes.READABLE}/cell_h)",
        "key_step": f"ceil({axes.READABLE}/cell_w)",
        "label_room": str(label_room),
        "key_room": f"key_step>1?{numbered}:{bare}",
    }
    return [draw.param(name, expression) for name, expression in expressions.items()]


def _label_room(labels: list[str], *, positions: bool) -> int:
    """Pixels for the longest label, printed with its position where labels are thinned."""
    printed = [f"{len(labels)} {label}" for label in labels] if positions else labels
    widest = round(lettering.widest(printed, draw.LABEL_SIZE)) + 3
    return max(20, min(widest, axes.LONGEST))


def _whole(size: str) -> str:
    """Whole pixels where a cell has many, so that all cells look the same; never under 1."""
    return f"{size}>=10?floor({size}):max(1,{size})"


def _map(
    scene: Scene, side: Side, values: NDArray, shown: NDArray, colours: ColourScale
) -> list[alt.Chart]:
    x, y = f"{side}_x", f"{side}_y"
    layers = []
    if not shown.all():
        layers.append(draw.picture(draw.px("hatch"), x, y, "map_w", "map_h", smooth=True))
    position = colours.position(np.where(shown, values, np.nan))
    png = cell_images.cells(position, colours.colours, shown)
    layers.append(draw.picture(png, x, y, "map_w", "map_h"))
    layers += axes.of_map(len(scene.rows), len(scene.keys), x, y)
    sink = side == "weight" and scene.has_sink
    layers += [*_outlines(scene, side), _bands(scene, side, sink)]
    return [*layers, *_sink(scene, colours)] if sink else layers


def _bands(scene: Scene, side: Side, sink: bool) -> alt.Chart:
    """One unseen rectangle a row, labels included: what the pointer meets. One map's bands carry
    the sentence of each row for a screen reader."""
    spoken = side == "score"
    margin = "label_room+8"
    beside = _SINK + 10 if sink else 0
    sentence = {"description": draw.px(selected_row.sentence("datum.place"))} if spoken else {}
    return draw.box(
        draw.sequence(len(scene.rows), "place"),
        f"{side}_x-({margin})",
        f"{side}_y+datum.place*cell_h",
        f"map_w+{margin}+{beside}",
        "cell_h",
        name=f"{side}_bands",
        aria=spoken,
        cursor="pointer",
        calculate={"query": "query_positions[datum.place]", "side": "01"[not spoken]},
        channels=draw.NO_TOOLTIP | sentence,
    )


def _cells(part: draw.Section) -> None:
    """One unseen rectangle a key, over the row that is read, in the map that the pointer is in:
    the exact numbers of its cell."""
    part.fixed |= {"cell_x": "cells_x+datum.i*cell_w", "cell_x2": "datum.cell_x+cell_w"}
    part.read |= {"side": "side"}
    part.params += [
        draw.param("side", "isValid(hover.side)?hover.side[0]:0"),
        draw.param("cells_x", "side?weight_x:score_x"),
        draw.param("cells_y", "(side?weight_y:score_y)+focus*cell_h"),
        draw.param("cells_y2", "cells_y+cell_h"),
    ]
    down = {"y": draw.px("cells_y"), "y2": draw.px("cells_y2")}
    channels = draw.between("x", "cell_x") | down | {"tooltip": draw.px("datum.tip")}
    part.key_layers.append(draw.placed("cells", channels=channels, cursor="pointer"))
    part.spots.append("cells")


def _outlines(scene: Scene, side: Side) -> list[alt.Chart]:
    """The column of the key pointed at, the row that was picked, the row that is read."""
    x, y = f"{side}_x", f"{side}_y"
    column = f"{x}+max(spot_place,0)*cell_w-0.5"
    spot: dict[str, Any] = {
        "stroke": ACCENT,
        "strokeOpacity": draw.ref("spot_place<0?0:0.55"),
        "strokeWidth": 1,
    }
    away = draw.ref(f"focus==={scene.place}?0:1")
    picked: dict[str, Any] = {"stroke": ACCENT, "strokeDash": [3, 3], "strokeWidth": away}
    return [
        draw.box(draw.ONE, column, y, "cell_w+1", "map_h", **spot),
        _around_row(x, y, str(scene.place), "map_w", **picked),
        _around_row(x, y, "focus", "map_w", stroke=ACCENT, strokeWidth=2),
    ]


def _around_row(x: str, y: str, place: str, w: str, **look: Any) -> alt.Chart:
    return draw.box(draw.ONE, f"{x}-1", f"{y}+{place}*cell_h-1", f"{w}+2", "cell_h+2", **look)


def _sink(scene: Scene, colours: ColourScale) -> list[alt.Chart]:
    """The share of each row that goes to no token, beside the weights: a row and its sink are 1."""
    column = scene.sink[:, None]
    png = cell_images.cells(colours.position(column), colours.colours, np.ones_like(column, bool))
    x, y = "weight_x+map_w+8", "weight_y"
    tip = {
        "from (query)": "focus_name",
        "sink, no token": "format(sinks[focus],'.4~g')",
        "all weights of the row": "format(1-sinks[focus],'.4~g')",
    }
    cell = draw.box(
        draw.ONE,
        x,
        f"{y}+focus*cell_h",
        str(_SINK),
        "cell_h",
        name="cells_sink",
        calculate={"query": "query_positions[focus]", "key": "-1", "side": "1"},
        channels={"tooltip": draw.px(selected_row.tooltip(tip))},
    )
    return [
        draw.picture(png, x, y, str(_SINK), "map_h"),
        draw.caption(draw.quoted("sink"), f"{x}+{_SINK / 2}", f"{y}+map_h+5", **axes.upright()),
        _around_row(x, y, "focus", str(_SINK), stroke=ACCENT, strokeWidth=2),
        cell,
    ]
