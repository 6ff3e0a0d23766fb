"""Compared: two heads side by side on one scale, their difference, and one row of both as bars."""

from typing import TYPE_CHECKING, Any

import altair as alt

from attnviz.charts import compared_maps, packing, selected_row
from attnviz.charts import layers as draw
from attnviz.charts.compared_bars import Bars
from attnviz.charts.compared_maps import Maps
from attnviz.charts.compared_panels import Panels, panels
from attnviz.charts.scales import WeightColour

if TYPE_CHECKING:
    from attnviz.heads.head import Head

WIDTH = 1080
_SPACE, _NOTE = 14, 18


def compared(
    a: "Head",
    b: "Head",
    *,
    query: int,
    other_query: int | None = None,
    of: str = "weights",
    weight_colour: WeightColour = "unit",
    names: tuple[str, str] = ("A", "B"),
    near: int | None = None,
    width: int = WIDTH,
) -> alt.LayerChart:
    """The maps of two heads on one colour scale, and B minus A where both axes are the same tokens.

    Rows are queries, columns are keys. Pointing at a row reads it: in all maps where the queries
    are the same tokens, else in its own map alone; the bars follow. Tooltips give the numbers of
    both sides, and their difference, to four significant digits. Clicking a row sets the parameter
    "pick", fields "query" and "side" (0 is A, 1 is B, 2 the difference). A masked cell has no
    colour but a hatch; in the map of differences, a cell that either side masks. From 700 pixels on
    the maps stand side by side.

    Args:
        a, b: the heads.
        query: position of the row of A that is read while the pointer is elsewhere.
        other_query: the row of B, where its queries are other tokens; `query` by default.
        of: what is compared, a name in `attnviz.heads.comparison.QUANTITIES`.
        weight_colour: "unit" spans 0 to 1, "fit" 0 to the largest weight of the two, "log" 0.0001
            to 1 by the logarithm.
        names: titles of the two maps, shown as they are.
        near: of a long text, the key that the window stands around; the place of `query` if None.
        width: pixels to start with; the picture follows the width that the page gives it.

    Raises:
        BadInput: no such query or quantity.

    >>> import numpy as np
    >>> from attnviz.heads.head import Head
    >>> a, b = (Head(q=np.eye(3) * size, k=np.eye(3), v=None) for size in (1, 2))
    >>> chart = compared(a, b, query=1)
    >>> [param.name for param in chart.params if param.name in ("hover", "pick")]
    ['hover', 'pick']
    """
    drawn = panels(
        a,
        b,
        query=query,
        other_query=other_query,
        of=of,
        colour=weight_colour,
        names=names,
        near=near,
    )
    notes = drawn.notes
    maps = Maps(drawn, str(_NOTE * len(notes)))
    groups = ["ab"] if not drawn.apart else ["a", "b"]
    sections, top = [maps.section()], f"{_NOTE * len(notes)}+maps_h+{_SPACE}"
    bars = []
    for letters in groups:
        bars.append(Bars(drawn, letters, top))
        sections.append(bars[-1].section())
        top += f"+{letters[0]}_bars_h+{_SPACE}"
    layers = [
        draw.caption(f"drawn_notes[{line}]", "0", str(_NOTE * line)) for line in range(len(notes))
    ]
    return _compose(drawn, maps, sections, layers, top, width)


def _compose(
    drawn: Panels,
    maps: Maps,
    sections: list[draw.Section],
    layers: list[alt.Chart],
    height: str,
    width: int,
) -> alt.LayerChart:
    ground = draw.box(
        alt.Data(values=[{"place": -1, "key": -1, "side": 0}]),
        "0",
        "0",
        "width",
        height,
        name="ground",
        channels=draw.NO_TOOLTIP,
    )
    layers = [ground, *layers, *(layer for part in sections for layer in part.layers)]
    params = _params(drawn)
    for part in sections[1:]:
        letter = part.spots[0].removeprefix("bars_")
        over, more = compared_maps.cells(maps, letter)
        params += more
        rows = _rows(drawn, maps, letter, part)
        count = len(drawn.each["ab".index(letter)].scene.keys)
        steps = [{"calculate": text, "as": name} for name, text in rows.items()]
        on_keys = [*part.key_layers, over]
        layers.append(alt.LayerChart(draw.sequence(count, "i"), on_keys, transform=steps))
    layers += [layer for part in sections for layer in part.over]
    hovers = [*sections[0].hovers, "ground"]
    spots = [*(name for part in sections for name in part.spots), "ground"]
    selections = [
        draw.selected_by("hover", ["place", "side"], "pointerover", list(dict.fromkeys(hovers))),
        draw.selected_by("spot", ["key", "group"], "pointerover", list(dict.fromkeys(spots))),
        draw.selected_by("pick", ["query", "side"], "click", sections[0].picks),
    ]
    params += [param for part in sections for param in part.params]
    return draw.finish(layers, [*selections, *params], width)


def _rows(drawn: Panels, maps: Maps, letter: str, part: draw.Section) -> dict[str, str]:
    """Fields of the data rows of one axis of keys, each known by its place `i`."""
    mine = [panel for panel in drawn.each if maps.keys_of(panel) == letter]
    focus = f"{maps.rows_of(mine[0])}_focus"
    side = "side" if len(mine) > 1 else str("abd".index(letter))
    fields = {
        "key": "datum.i",
        "group": draw.quoted(letter),
        "place": focus,
        "side": side,
        "query": f"{maps.rows_of(mine[0])}_query_positions[{focus}]",
        "to": _name(f"{letter}_key", "datum.i"),
        "cell_x": f"{letter}_cells_x+datum.i*cell_w",
        "cell_x2": "datum.cell_x+cell_w",
        **part.fixed,
    }
    tip = {"from (query)": f"{letter}_from", "to (key)": "datum.to"}
    titles = compared_maps.tips(drawn.of)
    for panel in mine:
        fields |= compared_maps.numbers(panel.letter, focus)
        tip[titles[panel.letter]] = f"datum.{panel.letter}_text"
    return fields | {"tip": selected_row.tooltip(tip)} | part.read


def _params(drawn: Panels) -> list[alt.VariableParameter]:
    """Tokens, packed numbers and sentences, and what of them belongs to the rows in hand."""
    constants: dict[str, Any] = {
        "digits": packing.DIGITS,
        "special_names": packing.NAMES,
        "panel_titles": [panel.title for panel in drawn.each],
        "drawn_notes": drawn.notes,
    }
    for panel, said in zip(drawn.each, drawn.said, strict=False):
        constants |= _tokens(drawn, panel.letter) | {f"{panel.letter}_said": said}
    expressions = {
        "hovered": "isValid(hover.place)?hover.place[0]:-1",
        "side": "isValid(hover.side)?hover.side[0]:0",
        "spotted": "isValid(spot.key)?spot.key[0]:-1",
    }
    for number, panel in enumerate(drawn.each):
        name = panel.letter
        constants[f"{name}_rows"] = panel.packed
        rows = "a" if drawn.linked else name
        if name != "d":
            here = "hovered<0" if drawn.linked else f"hovered<0||side!=={number}"
            where = "spotted" if not drawn.apart else f"spot.group[0]==='{name}'?spotted:-1"
            expressions |= {
                f"{name}_focus": f"{here}?{panel.scene.place}:hovered",
                f"{name}_spot": where if not drawn.apart else f"spotted<0?-1:({where})",
                f"{name}_from": _name(f"{rows}_query", f"{rows}_focus"),
            }
        expressions[f"{name}_row"] = f"{name}_rows[{rows}_focus]"
    return [
        *(draw.constant(name, value) for name, value in constants.items()),
        *(draw.param(name, expression) for name, expression in expressions.items()),
    ]


def _tokens(drawn: Panels, letter: str) -> dict[str, Any]:
    """Labels, positions and specialness of a panel's keys and queries; those of B only where they
    are its own."""
    scene = drawn.each["ab".index(letter)].scene
    found: dict[str, Any] = {}
    if letter == "a" or drawn.apart:
        found |= {
            f"{letter}_key_labels": scene.key_labels,
            f"{letter}_key_special": [int(special) for special in scene.key_special],
            f"{letter}_key_positions": scene.keys.tolist(),
        }
    if letter == "a" or not drawn.linked:
        found |= {
            f"{letter}_query_labels": scene.query_labels,
            f"{letter}_query_special": [int(special) for special in scene.query_special],
            f"{letter}_query_positions": scene.rows.tolist(),
        }
    return found


def _name(kind: str, place: str) -> str:
    return f"'\"'+{kind}_labels[{place}]+'\" ('+{kind}_positions[{place}]+')'"
