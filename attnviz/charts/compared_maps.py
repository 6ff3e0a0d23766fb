"""The maps of two heads beside each other, rows linked where they are the same tokens."""

from typing import Any

import altair as alt
import numpy as np

from attnviz.charts import axes, cell_images, lettering, packing
from attnviz.charts import layers as draw
from attnviz.charts.compared_panels import Panel, Panels
from attnviz.charts.palettes import ACCENT
from attnviz.heads.masks import MASK_REASONS

WIDE = 700  # pixels from which the maps stand side by side
HEAD = 66  # pixels above a map: its title, what is coloured, the colour bar
_GAP, _BAR, _BELOW = 18, 120, 22
_LARGEST_CELL, _OBLONG = 64, 22
_TITLE_LEFT = 24
_LINE, _ROOM = 18, 500  # a line of the legend of masks, and the pixels it may take


class Maps:
    """The section of the maps.

    Attributes:
        panels: what is drawn.
        top: an expression, pixels.
    """

    def __init__(self, panels: Panels, top: str) -> None:
        self.panels, self.top = panels, top
        self.legend = list(_entries(panels))
        self.lines = self.legend[-1][3] + 1 if self.legend else 0

    def section(self) -> draw.Section:
        part = draw.Section(height="maps_h", params=self._geometry())
        for number, panel in enumerate(self.panels.each):
            part.params += self._pictures(panel)
            part.layers += self._map(number, panel)
            part.hovers.append(f"bands_{panel.letter}")
            part.spots.append(f"cells_{self.keys_of(panel)}")
        part.hovers += list(dict.fromkeys(part.spots))
        part.picks = part.hovers
        part.layers += self._legend()
        return part

    def keys_of(self, panel: Panel) -> str:
        """The letter under which the keys of a panel are known."""
        return panel.letter if self.panels.apart else "a"

    def rows_of(self, panel: Panel) -> str:
        """The letter under which the rows of a panel are known."""
        return "a" if self.panels.linked else panel.letter

    def _geometry(self) -> list[alt.VariableParameter]:
        each = self.panels.each
        count, linked = len(each), self.panels.linked
        rows = max(len(panel.scene.rows) for panel in each)
        keys = max(len(panel.scene.keys) for panel in each)
        square = all(len(panel.scene.rows) == len(panel.scene.keys) for panel in each)
        labels = [label for panel in each for label in panel.scene.query_labels]
        key_labels = [label for panel in each for label in panel.scene.key_labels]
        left = _label_room(labels, rows) + _TITLE_LEFT
        lefts = left * (1 if linked else count)
        least = max(WIDE, count * (keys + _GAP) + lefts)  # a cell is a pixel at least
        expressions = {
            "wide": f"width>={least}",
            "label_room": str(left - _TITLE_LEFT),
            "room_w": f"wide?floor((width-{lefts + (count - 1) * _GAP})/{count}):width-{left}",
            "room_h": "clamp(0.5*windowSize()[1],240,520)",
            "square": f"min(room_w/{keys},room_h/{rows},{_LARGEST_CELL})",
            # a text that looks at a longer or shorter one may fill the room with oblong cells
            "cell_w": _whole("square" if square else f"max(square,min(room_w/{keys},{_OBLONG}))"),
            "cell_h": _whole("square" if square else f"max(square,min(room_h/{rows},{_OBLONG}))"),
            "row_step": f"ceil({axes.READABLE}/cell_h)",
            "key_step": f"ceil({axes.READABLE}/cell_w)",
            "key_room": f"key_step>1?{_label_room(key_labels, keys)}:{_label_room(key_labels, 0)}",
            "panel_h": f"{HEAD}+{rows}*cell_h+key_room+{_BELOW}",
            "maps_only_h": f"wide?panel_h:{count}*panel_h+{(count - 1) * _GAP}",
            "maps_h": f"maps_only_h+{self.lines * _LINE}",
        }
        for number, panel in enumerate(each):
            name, pitch = panel.letter, f"room_w+{_GAP + (0 if linked else left)}"
            expressions |= {
                f"{name}_x": f"{left}+(wide?{number}*({pitch}):0)",
                f"{name}_y": f"({self.top})+{HEAD}+(wide?0:{number}*(panel_h+{_GAP}))",
                f"{name}_w": f"cell_w*{len(panel.scene.keys)}",
                f"{name}_h": f"cell_h*{len(panel.scene.rows)}",
                f"{name}_beside": f"wide&&{str(linked and number > 0).lower()}?0:label_room+8",
            }
        return [draw.param(name, expression) for name, expression in expressions.items()]

    def _pictures(self, panel: Panel) -> list[alt.VariableParameter]:
        """The hatch of a panel's masked cells, sent once for all that look the same."""
        if panel.shown.all() or self._hatch(panel) != f"{panel.letter}_hatch":
            return []
        hatch = cell_images.hatch(panel.reason, ~panel.attends)
        return [draw.constant(f"{panel.letter}_hatch", hatch)]

    def _hatch(self, panel: Panel) -> str:
        """The name of the first hatch that looks like that of a panel."""
        for other in self.panels.each:
            same = np.array_equal(other.reason, panel.reason)
            if same and np.array_equal(other.attends, panel.attends):
                return f"{other.letter}_hatch"
        raise AssertionError("a panel looks like itself")

    def _map(self, number: int, panel: Panel) -> list[alt.Chart]:
        name = panel.letter
        x, y, w, h = (f"{name}_{side}" for side in "xywh")
        layers = _heading(panel, number)
        if not panel.shown.all():
            layers.append(draw.picture(draw.px(self._hatch(panel)), x, y, w, h, smooth=True))
        position = panel.scale.position(np.where(panel.shown, panel.values, np.nan))
        png = cell_images.cells(position, panel.scale.colours, panel.shown)
        layers.append(draw.picture(png, x, y, w, h))
        return [*layers, *self._axes(number, panel), *self._outlines(panel), self._bands(number)]

    def _axes(self, number: int, panel: Panel) -> list[alt.Chart]:
        x, y = f"{panel.letter}_x", f"{panel.letter}_y"
        keys, rows = f"{self.keys_of(panel)}_key", f"{self.rows_of(panel)}_query"
        spot, focus = f"{self.keys_of(panel)}_spot", f"{self.rows_of(panel)}_focus"
        across = {
            **_look(keys),
            "orient": "bottom",
            **axes.upright(),
            "labelLimit": draw.ref("key_room"),
        }
        across["offset"] = draw.ref(f"{y}+{panel.letter}_h-height")
        down = {**_look(rows), "orient": "left", "labelLimit": draw.ref("label_room")}
        down["offset"] = draw.ref(f"-{x}")
        named = "" if number == 0 or not self.panels.linked else "wide?'':"  # once for all
        of_keys = (keys, "datum.value", "cell_w", "key_step")
        of_rows = (rows, "datum.value", "cell_h", "row_step")
        usual = (
            dict(
                **across,
                values=draw.ref(f"sequence(0,{len(panel.scene.keys)},key_step)"),
                labelExpr=axes.label(*of_keys, unless=spot),
                title="to (key)",
                titleX=draw.ref(f"{x}+{panel.letter}_w/2"),
                titleY=draw.ref("key_room+6"),
                titleBaseline="top",
            ),
            dict(
                **down,
                values=draw.ref(f"sequence(0,{len(panel.scene.rows)},row_step)"),
                labelExpr=f"{named}({axes.label(*of_rows, unless=focus)})",
                title=None if named else "from (query)",
                titleX=draw.ref("-label_room-12"),
                titleY=draw.ref(f"{y}+{panel.letter}_h/2"),
                titleAnchor="middle",
            ),
        )
        in_hand: dict[str, Any] = {"labelFontWeight": "bold", "title": None}
        now = (
            dict(
                **across,
                **in_hand,
                values=draw.ref(f"{spot}<0?[]:[{spot}]"),
                labelExpr=axes.label(*of_keys),
            ),
            dict(
                **down,
                **in_hand,
                values=draw.ref(f"[{focus}]"),
                labelExpr=f"{named}({axes.label(*of_rows)})",
            ),
        )
        horizontal = draw.scale([-0.5, len(panel.scene.keys) - 0.5], x, f"{x}+{panel.letter}_w")
        vertical = draw.scale([-0.5, len(panel.scene.rows) - 0.5], y, f"{y}+{panel.letter}_h")
        return [draw.anchor(x=(horizontal, one), y=(vertical, two)) for one, two in (usual, now)]

    def _outlines(self, panel: Panel) -> list[alt.Chart]:
        """The column of the key pointed at, the row that was picked, the row that is read."""
        x, y, w, h = (f"{panel.letter}_{side}" for side in "xywh")
        spot, focus = f"{self.keys_of(panel)}_spot", f"{self.rows_of(panel)}_focus"
        column: dict[str, Any] = {
            "stroke": ACCENT,
            "strokeOpacity": draw.ref(f"{spot}<0?0:0.55"),
            "strokeWidth": 1,
        }
        away = draw.ref(f"{focus}==={panel.scene.place}?0:1")
        picked: dict[str, Any] = {"stroke": ACCENT, "strokeDash": [3, 3], "strokeWidth": away}
        read: dict[str, Any] = {"stroke": ACCENT, "strokeWidth": 2}

        def around(place: str, look: dict[str, Any]) -> alt.Chart:
            return draw.box(
                draw.ONE, f"{x}-1", f"{y}+{place}*cell_h-1", f"{w}+2", "cell_h+2", **look
            )

        return [
            draw.box(draw.ONE, f"{x}+max({spot},0)*cell_w-0.5", y, "cell_w+1", h, **column),
            around(str(panel.scene.place), picked),
            around(focus, read),
        ]

    def _bands(self, number: int) -> alt.Chart:
        """One unseen rectangle a row, labels included: what the pointer meets. The bands of A
        carry the sentences of both for a screen reader where the rows are the same."""
        panel = self.panels.each[number]
        name, spoken = panel.letter, number == 0 or not self.panels.linked
        said = "a_said[datum.place]"
        if self.panels.linked:
            said += "+' '+b_said[datum.place]"
        elif number:
            said = "b_said[datum.place]"
        return draw.box(
            draw.sequence(len(panel.scene.rows), "place"),
            f"{name}_x-{name}_beside",
            f"{name}_y+datum.place*cell_h",
            f"{name}_w+{name}_beside",
            "cell_h",
            name=f"bands_{name}",
            aria=spoken,
            cursor="pointer",
            calculate={
                "query": f"{self.rows_of(panel)}_query_positions[datum.place]",
                "side": str(number),
            },
            channels=draw.NO_TOOLTIP | ({"description": draw.px(said)} if spoken else {}),
        )

    def _legend(self) -> list[alt.Chart]:
        """What the hatches mean, once for all maps."""
        top = f"({self.top})+maps_only_h"
        layers = []
        for swatch, words, at, line in self.legend:
            y = f"{top}+{line * _LINE}"
            layers.append(draw.picture(swatch, f"label_room+{at}", y, "12", "12"))
            layers.append(draw.caption(draw.quoted(words), f"label_room+{at + 17}", y))
        return layers


def cells(maps: Maps, letter: str) -> tuple[alt.Chart, list[alt.VariableParameter]]:
    """One unseen rectangle a key over the row that is read, in the map that the pointer is in: the
    exact numbers of its cell. And the parameters it needs."""
    mine = [
        (number, panel)
        for number, panel in enumerate(maps.panels.each)
        if maps.keys_of(panel) == letter
    ]
    which = f"max(0,indexof({[number for number, _ in mine]},side))"
    places = {
        "x": ",".join(f"{panel.letter}_x" for _, panel in mine),
        "y": ",".join(f"{p.letter}_y+{maps.rows_of(p)}_focus*cell_h" for _, p in mine),
    }
    params = [
        draw.param(f"{letter}_cells_{axis}", f"[{found}][{which}]")
        for axis, found in places.items()
    ]
    params.append(draw.param(f"{letter}_cells_y2", f"{letter}_cells_y+cell_h"))
    down = {"y": draw.px(f"{letter}_cells_y"), "y2": draw.px(f"{letter}_cells_y2")}
    channels = draw.between("x", "cell_x") | down | {"tooltip": draw.px("datum.tip")}
    return draw.placed(f"cells_{letter}", channels=channels, cursor="pointer"), params


def _heading(panel: Panel, number: int) -> list[alt.Chart]:
    """A map's title, what is coloured, and the colour bar with its numbers."""
    x, top, scale = f"{panel.letter}_x", f"{panel.letter}_y-{HEAD}", panel.scale
    words = ", ".join(part for part in (scale.title, scale.note) if part)
    at_most = f"(datum.value==={scale.low}?'\u2264 ':'')+" if scale.log else ""
    numbers = {
        "orient": "bottom",
        "offset": draw.ref(f"{top}+44-height"),
        "values": list(dict.fromkeys(scale.marks)),
        "labelExpr": f"{at_most}format(datum.value,'.3~g')",
        "labelPadding": 3,
        "title": None,
    }
    ends = draw.scale([scale.low, scale.high], x, f"{x}+{_BAR}", log=scale.log)
    bar = cell_images.bar(scale.colours, scale.start, scale.end)
    return [
        draw.caption(f"panel_titles[{number}]", x, top, title=True, limit="room_w"),
        draw.caption(draw.quoted(words), x, f"{top}+19", limit="room_w"),
        draw.picture(bar, x, f"{top}+35", str(_BAR), "8", smooth=True),
        draw.anchor(scale.low, x=(ends, numbers)),
    ]


def _entries(panels: Panels) -> Any:
    """(picture, words, x, line) of what the hatches mean, of those that are there to be seen."""
    reasons = {int(r) for p in panels.each for r in np.unique(p.reason[p.attends]) if r}
    found = [
        (cell_images.swatch(reason), f"masked: {MASK_REASONS[reason]}")
        for reason in sorted(reasons)
    ]
    if not all(panel.attends.all() for panel in panels.each):
        found.append((cell_images.swatch(cell_images.NOTHING), "attends to nothing"))
    if any(np.isnan(panel.values[panel.shown]).any() for panel in panels.each):
        found.append((cell_images.undefined(), "undefined"))
    at = line = 0
    for swatch, words in found:
        wide = round(lettering.width(words, draw.LABEL_SIZE)) + 31
        if at > 0 and at + wide > _ROOM:
            at, line = 0, line + 1
        yield swatch, words, at, line
        at += wide


def _label_room(labels: list[str], count: int) -> int:
    """Pixels for the longest label, with its position where there are many."""
    printed = [f"{count} {label}" for label in labels] if count > 24 else labels
    return max(20, min(round(lettering.widest(printed, draw.LABEL_SIZE)) + 3, axes.LONGEST))


def _look(kind: str) -> dict[str, Any]:
    special = {"test": f"{kind}_special[datum.value]", "value": "italic"}
    return {"labelPadding": 5, "labelFontStyle": {"condition": special, "value": "normal"}}


def _whole(size: str) -> str:
    """Whole pixels where a cell has many, so that all cells look the same; never under 1."""
    return f"{size}>=10?floor({size}):max(1,{size})"


def tips(of: str) -> dict[str, str]:
    """What a number is called in a tooltip, by the letter of its panel."""
    noun = {"weights": "weight", "scores": "score"}.get(of, "score below the row's largest")
    return {"a": f"{noun} in A", "b": f"{noun} in B", "d": "B \u2212 A"}


def numbers(letter: str, focus: str) -> dict[str, str]:
    """Fields of a key's data row: the number of one panel in the row that is read, and its text."""
    code, row = f"datum.{letter}_code", f"{letter}_row"
    none = f"{code}<{packing.SPECIAL}"
    return {
        f"{letter}_at": packing.place(row, "datum.i"),
        f"{letter}_code": packing.unpacking(row, f"datum.{letter}_at"),
        f"{letter}_value": f"{none}?0:{packing.number(code)}",
        f"{letter}_text": f"{none}?special_names[{code}]:format(datum.{letter}_value,'.4~g')",
    }
