"""One to three maps in a picture, their rows linked: geometry, cells, axes, and the pointer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from attnviz.charts import axes, cell_images, selected_row
from attnviz.charts import layers as draw
from attnviz.charts.palettes import ACCENT
from attnviz.charts.panel import Panel
from attnviz.charts.sections import Section

WIDE = 700  # pixels from which the maps stand side by side, if a cell is a pixel at least
BELOW = 22  # room for the title of the keys
TITLE_LEFT = 24  # room for the title of the rows
_LARGEST_CELL, _OBLONG = 64, 22
_SURE = 24  # rows up to which every label is sure to be printed


@dataclass(frozen=True)
class Maps:
    """The maps of a picture: side by side where there is room, else one below the other.

    Attributes:
        panels: one to three.
        top: an expression, where the section of the maps starts.
        above: pixels above the cells of a map, for its title and legend.
        gap: pixels between two maps.
        heights: parameters, name to expression; "room_h" is how tall the cells may be together.
        right: pixels that are kept free at the right of each map.
        labels_once: of maps side by side, only the first has labels at its rows.
    """

    panels: Sequence[Panel]
    top: str
    above: int
    gap: int
    heights: Mapping[str, str]
    right: int = 0
    labels_once: bool = False

    def sections(self) -> list[Section]:
        """The maps, and for each set of keys the cells of the row in focus. The height is the
        parameter "maps_h"."""
        part = Section(height="maps_h", params=self._geometry())
        hatches: list[Panel] = []
        for number, panel in enumerate(self.panels):
            alike = next((other for other in hatches if other.is_masked_like(panel)), panel)
            if alike is panel and not panel.shown.all():
                hatches.append(panel)
                hatch = cell_images.hatch(panel.reason, ~panel.attends)
                part.params.append(draw.constant(f"{panel.name}_hatch", hatch))
            part.layers += self._map(number, panel, f"{alike.name}_hatch")
            part.hovers.append(f"{panel.name}_bands")
        part.picks = list(part.hovers)
        return [part, *map(self._cells, dict.fromkeys(panel.keys for panel in self.panels))]

    def _geometry(self) -> list[alt.VariableParameter]:
        """Where the maps stand, and how large their cells are."""
        count, scenes = len(self.panels), [panel.scene for panel in self.panels]
        rows = max(len(scene.rows) for scene in scenes)
        keys = max(len(scene.keys) for scene in scenes)
        square = all(len(scene.rows) == len(scene.keys) for scene in scenes)
        label_room = max(
            axes.label_room(scene.query_labels, numbered=rows > _SURE) for scene in scenes
        )
        bare, numbered = (
            max(axes.label_room(scene.key_labels, numbered=n) for scene in scenes)
            for n in (False, True)
        )
        left = label_room + TITLE_LEFT
        own = left + self.right  # pixels beside the cells of each map
        beside = own if self.labels_once else own * count
        between = (count - 1) * self.gap
        pitch = f"room_w+{self.gap + (0 if self.labels_once else own)}"
        expressions = {
            "wide": f"width>={max(WIDE, count * (keys + self.gap) + beside)}",
            "room_w": f"wide?floor((width-{beside + between})/{count}):width-{own}",
            **self.heights,
            "square": f"min(room_w/{keys},room_h/{rows},{_LARGEST_CELL})",
            # a text that looks at a longer or shorter one may fill the room with oblong cells
            "cell_w": _whole("square" if square else f"max(square,min(room_w/{keys},{_OBLONG}))"),
            "cell_h": _whole("square" if square else f"max(square,min(room_h/{rows},{_OBLONG}))"),
            "row_step": f"ceil({axes.READABLE}/cell_h)",
            "key_step": f"ceil({axes.READABLE}/cell_w)",
            "label_room": str(label_room),
            "key_room": f"key_step>1?{numbered}:{bare}",
            "panel_h": f"{self.above}+{rows}*cell_h+key_room+{BELOW}",
            "maps_h": f"wide?panel_h:{count}*panel_h+{between}",
        }
        for number, panel in enumerate(self.panels):
            x, y, w, h = panel.box
            labelled = "wide?0:" if self._is_labelled_before(number) else ""
            expressions |= {
                x: f"{left}+(wide?{number}*({pitch}):0)",
                y: f"({self.top})+{self.above}+(wide?0:{number}*(panel_h+{self.gap}))",
                w: f"cell_w*{len(panel.scene.keys)}",
                h: f"cell_h*{len(panel.scene.rows)}",
                f"{panel.name}_beside": f"{labelled}label_room+8",
            }
        return [draw.param(name, expression) for name, expression in expressions.items()]

    def _is_labelled_before(self, number: int) -> bool:
        return self.labels_once and number > 0

    def _map(self, number: int, panel: Panel, hatch: str) -> list[alt.Chart]:
        layers = []
        if not panel.shown.all():
            layers.append(draw.picture(draw.px(hatch), *panel.box, smooth=True))
        position = panel.scale.position(np.where(panel.shown, panel.values, np.nan))
        png = cell_images.cells(position, panel.scale.colours, panel.shown)
        layers.append(draw.picture(png, *panel.box))
        layers += axes.map_axes(panel, if_stacked=self._is_labelled_before(number))
        return [*layers, *_outlines(panel), _bands(number, panel)]

    def _cells(self, keys: str) -> Section:
        """One unseen rectangle a key over the row in focus, in the map that the pointer is in: the
        exact numbers of its cell."""
        mine = [(n, panel) for n, panel in enumerate(self.panels) if panel.keys == keys]
        rows = mine[0][1].rows
        which = f"max(0,indexof({[number for number, _ in mine]},side))"
        lefts = ",".join(f"{panel.name}_x" for _, panel in mine)
        tops = ",".join(f"{panel.name}_y+{panel.rows}focus*cell_h" for _, panel in mine)
        name = f"cells_{keys}".removesuffix("_")
        down = {"y": draw.px(f"{keys}cells_y"), "y2": draw.px(f"{keys}cells_y2")}
        channels = draw.between("x", "cell_x") | down | {"tooltip": draw.px("datum.tip")}
        return Section(
            height="0",
            keys=keys,
            params=[
                draw.param(f"{keys}cells_x", f"[{lefts}][{which}]"),
                draw.param(f"{keys}cells_y", f"[{tops}][{which}]"),
                draw.param(f"{keys}cells_y2", f"{keys}cells_y+cell_h"),
            ],
            key_layers=[draw.boxes(name, channels=channels, cursor="pointer")],
            fixed={"cell_x": f"{keys}cells_x+datum.i*cell_w", "cell_x2": "datum.cell_x+cell_w"},
            by_row={
                "place": f"{rows}focus",
                "query": f"{rows}query_positions[{rows}focus]",
                "side": "side" if len(mine) > 1 else str(mine[0][0]),
            },
            hovers=[name],
            picks=[name],
            spots=[name],
        )


def linked_params(panels: Sequence[Panel]) -> list[alt.VariableParameter]:
    """Tokens and packed numbers of the maps, and what of them belongs to the rows in focus.

    For each prefix of rows, "focus" is the place of the row in focus and "focus_name" its token;
    for each prefix of keys, "spot_place" is the place of the key under the pointer, or -1; for
    each panel, "row" is its packed row in focus.
    """
    several = len({panel.keys for panel in panels}) > 1
    linked = len({panel.rows for panel in panels}) == 1
    constants, params = {}, []
    for number, panel in enumerate(panels):
        name, rows, keys = f"{panel.name}_", panel.rows, panel.keys
        constants[f"{name}rows"] = panel.packed
        if keys == name:
            here = f"spotted<0||spot.group[0]!=='{keys}'?-1:spotted"
            params += selected_row.key_tokens(panel.scene, keys)
            params.append(draw.param(f"{keys}spot_place", here if several else "spotted"))
        if rows == name:
            away = "" if linked else f"||side!=={number}"
            focus = f"hovered<0{away}?{panel.scene.place}:hovered"
            params += selected_row.query_tokens(panel.scene, rows)
            params.append(draw.param(f"{rows}focus", focus))
            named = selected_row.token_name(f"{rows}query", f"{rows}focus")
            params.append(draw.param(f"{rows}focus_name", named))
        params.append(draw.param(f"{name}row", f"{name}rows[{rows}focus]"))
    packed = [draw.constant(name, value) for name, value in constants.items()]
    return [*selected_row.unpacking_params(), *packed, *params]


def linked_keys(panels: Sequence[Panel]) -> dict[str, tuple[int, dict[str, str]]]:
    """For each prefix of keys, how many there are and the fields of their data rows."""
    found = {}
    for prefix in dict.fromkeys(panel.keys for panel in panels):
        mine = [panel for panel in panels if panel.keys == prefix]
        numbers = {panel.number: (panel.name, f"{panel.name}_row") for panel in mine}
        fields = selected_row.key_fields(prefix, mine[0].rows, numbers)
        found[prefix] = len(mine[0].scene.keys), fields
    return found


def around_row(panel_x: str, panel_y: str, place: str, w: str, **look: Any) -> alt.Chart:
    """A frame around one row."""
    x, y = f"{panel_x}-1", f"{panel_y}+{place}*cell_h-1"
    return draw.box(draw.ONE, x, y, f"{w}+2", "cell_h+2", stroke=ACCENT, **look)


def _outlines(panel: Panel) -> list[alt.Chart]:
    """The column of the key under the pointer, the selected row, the row in focus."""
    x, y, w, h = panel.box
    spot, focus = f"{panel.keys}spot_place", f"{panel.rows}focus"
    faint: dict[str, Any] = {"strokeWidth": 1, "strokeOpacity": draw.ref(f"{spot}<0?0:0.55")}
    away = draw.ref(f"{focus}==={panel.scene.place}?0:1")
    column = f"{x}+max({spot},0)*cell_w-0.5"
    return [
        draw.box(draw.ONE, column, y, "cell_w+1", h, stroke=ACCENT, **faint),
        around_row(x, y, str(panel.scene.place), w, strokeDash=[3, 3], strokeWidth=away),
        around_row(x, y, focus, w, strokeWidth=2),
    ]


def _bands(number: int, panel: Panel) -> alt.Chart:
    """One unseen rectangle a row, labels included: what the pointer meets."""
    x, y, w, _ = panel.box
    beside = f"{panel.name}_beside"
    sentence = {"description": draw.px(panel.sentence)} if panel.sentence else {}
    return draw.box(
        draw.sequence(len(panel.scene.rows), "place"),
        f"{x}-({beside})",
        f"{y}+datum.place*cell_h",
        f"{w}+{beside}+{panel.beyond}",
        "cell_h",
        name=f"{panel.name}_bands",
        aria=bool(sentence),
        cursor="pointer",
        calculate={
            "query": f"{panel.rows}query_positions[datum.place]",
            "side": str(number),
        },
        channels=draw.NO_TOOLTIP | sentence,
    )


def _whole(size: str) -> str:
    """Whole pixels where a cell has many, so that all cells look the same; never under 1."""
    return f"{size}>=10?floor({size}):max(1,{size})"
