"""The two maps of one head, its scores and its weights, with their legends and the sink."""

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnviz.charts import axes, cell_images, legend, maps, selected_row
from attnviz.charts import layers as draw
from attnviz.charts.panel import Panel
from attnviz.charts.scales import ScoreColour, WeightColour, score_scale, weight_scale
from attnviz.charts.scene import Scene
from attnviz.charts.sections import Section

_GAP = 24  # between the two maps
_HEADING, _BAR = 46, 150  # pixels above a map without lines of entries; length of a colour bar
_ABOVE = 200  # pixels of a page above its picture
_LEAST, _USUAL, _MOST = 0.33, 0.42, 640  # heights of a map: two shares of the window, and pixels
_SINK = 16  # width of the sink's column
_ROOM = {"score": 390, "weight": 320}  # of a legend: the first may reach above the second's labels


def sections(
    scene: Scene, score_colour: ScoreColour, weight_colour: WeightColour, top: str, rest: str
) -> list[Section]:
    """The maps as sections that start at `top` and leave `rest` to others, two expressions."""
    panels = _panels(scene, score_colour, weight_colour)
    legends = [
        legend.entries(
            [panel], room=_ROOM[panel.name], start=_BAR + 22, note=panel.scale.note, named=False
        )
        for panel in panels
    ]
    lines = max((entries[-1].line for entries in legends if entries), default=0)
    above = _HEADING + legend.LINE * lines
    right = _SINK + 18 if scene.has_sink else 2
    drawn = maps.Maps(panels, top, above, _GAP, _heights(scene, above, rest), right)
    part, *cells = drawn.sections()
    for panel, entries in zip(panels, legends, strict=True):
        part.layers += _legend(panel, entries, above, right)
    if scene.has_sink:
        part.layers += _sink(panels[1])
    return [part, *cells]


def _panels(scene: Scene, score_colour: ScoreColour, weight_colour: WeightColour) -> list[Panel]:
    scores, allowed = _coloured_scores(scene, score_colour), scene.reason == 0
    weights = np.where(allowed, scene.weights, -np.inf)
    of_scores = score_scale(scores, scene.stage, score_colour)
    of_weights = weight_scale(weights, scene.sink, weight_colour)
    return [
        Panel(
            "score",
            of_scores.title,
            "score",
            scene,
            scores,
            scene.score_shown,
            scene.reason,
            scene.attends,
            of_scores,
            sentence=selected_row.sentence("datum.place"),
        ),
        Panel(
            "weight",
            of_weights.title,
            "weight",
            scene,
            weights,
            allowed,
            scene.reason,
            scene.attends,
            of_weights,
            beyond=_SINK + 10 if scene.has_sink else 0,
        ),
    ]


def _coloured_scores(scene: Scene, colour: ScoreColour) -> NDArray[np.float64]:
    """(row, key): what the colours stand for; -inf where there is nothing to colour."""
    scores = np.where(scene.score_shown, scene.scores, -np.inf).astype(np.float64)
    if colour == "zero":
        return scores
    largest = np.fmax.reduce(scores, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # a row with nothing in it
        return np.where(scene.score_shown, scores - largest, -np.inf)


def _heights(scene: Scene, above: int, rest: str) -> dict[str, str]:
    """Cells as tall as lets the window show the picture down to the bars without scrolling, or,
    where that is out of reach, of a usual size."""
    taken = _ABOVE + above + axes.label_room(scene.key_labels, numbered=False) + maps.BELOW
    return {
        "window_h": "windowSize()[1]",
        "spare_h": f"window_h-{taken}-({rest})",
        "fits": f"wide&&spare_h>={_LEAST}*0.6*window_h",
        "room_h": f"min({_MOST},fits?max(spare_h,{_LEAST}*window_h):{_USUAL}*window_h)",
    }


def _legend(panel: Panel, entries: list[legend.Entry], above: int, right: int) -> list[alt.Chart]:
    """Above a map: its title, the colour bar, and what the other looks mean."""
    x, y, *_ = panel.box
    top, limit = f"{y}-{above}", f"room_w+{maps.TITLE_LEFT + right}"
    layers = [
        draw.caption(draw.quote(panel.title), x, top, title=True, limit=limit),
        *legend.colour_bar(panel.scale, x, f"{top}+19", _BAR),
    ]
    for entry in entries:
        line = 17 if entry.line == 0 else 44 + legend.LINE * (entry.line - 1)
        layers += entry.draw(x, f"{top}+{line}")
    return layers


def _sink(panel: Panel) -> list[alt.Chart]:
    """The share of each row that goes to no token, beside the weights: a row and its sink are 1."""
    column = panel.scene.sink[:, None]
    position = panel.scale.position(column)
    png = cell_images.cells(position, panel.scale.colours, np.ones_like(column, bool))
    left, y, width, height = panel.box
    x = f"{left}+{width}+8"
    tip = {
        "from (query)": "focus_name",
        "sink, no token": "format(sinks[focus],'.4~g')",
        "all weights of the row": "format(1-sinks[focus],'.4~g')",
    }
    pointed = {"place": "focus", "query": "query_positions[focus]", "key": "-1", "side": "1"}
    return [
        draw.picture(png, x, y, str(_SINK), height),
        draw.caption(draw.quote("sink"), f"{x}+{_SINK / 2}", f"{y}+{height}+5", **axes.upright()),
        maps.around_row(x, y, "focus", str(_SINK), strokeWidth=2),
        draw.box(
            draw.ONE,
            x,
            f"{y}+focus*cell_h",
            str(_SINK),
            "cell_h",
            name="cells_sink",
            calculate=pointed,
            channels={"tooltip": draw.px(selected_row.tooltip(tip))},
        ),
    ]
