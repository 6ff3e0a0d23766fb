"""One row of two heads as bars: in pairs where the keys are the same tokens, else one below the
other, always on one scale."""

from typing import Any

import altair as alt

from attnviz.charts import axes, lettering
from attnviz.charts import layers as draw
from attnviz.charts.compared_panels import Panels
from attnviz.charts.palettes import ACCENT, SOLID

COLOURS = {"a": SOLID["against"], "b": SOLID["contribution"]}
"""As in the map of differences: where A is larger, and where B is."""
_LEFT, _RIGHT, _WIDEST, _LINE = 46, 6, 46, 17


class Bars:
    """The bars over one axis of keys.

    Attributes:
        panels: what is drawn.
        letters: whose bars stand here: "ab", or one of the two.
        top: an expression, pixels.
    """

    def __init__(self, panels: Panels, letters: str, top: str) -> None:
        self.panels, self.letters = panels, letters
        self.keys, self.top = letters[0], top
        self.scene = panels.each["ab".index(letters[0])].scene
        self.count = len(self.scene.keys)

    def section(self) -> draw.Section:
        own, head = self.keys, _LINE * len(self.letters) + 22
        below = min(round(lettering.widest(self.scene.key_labels, draw.LABEL_SIZE)), axes.LONGEST)
        part = draw.Section(height=f"{own}_bars_h", spots=[f"bars_{name}" for name in self.letters])
        part.params = [
            draw.param(f"{own}_step", f"min({_WIDEST},(width-{_LEFT + _RIGHT})/{self.count})"),
            draw.param(f"{own}_bars_room", "clamp(0.11*windowSize()[1],80,120)"),
            draw.param(f"{own}_bars_top", f"({self.top})+{head}"),
            draw.param(f"{own}_bars_h", f"{own}_bars_room+{head + below + 12}"),
            draw.param(f"{own}_label_step", f"ceil({axes.READABLE}/{own}_step)"),
        ]
        part.layers = [*self._lines(), *self._axes()]
        part.key_layers = [self._bars(name) for name in self.letters]
        part.fixed = self._places()
        part.read = {
            field: text
            for name in self.letters
            for field, text in {
                f"{name}_bar_y": self._y(f"datum.{name}_value"),
                f"{name}_said": f"datum.to+', {name.upper()}: '+datum.{name}_text",
            }.items()
        }
        part.over = [self._outline()]
        return part

    def _lines(self) -> list[alt.Chart]:
        """What the row of each side attends to most, with the colour of its bars; then the unit."""
        layers = []
        for line, name in enumerate(self.letters):
            focus = "a_focus" if self.panels.linked else f"{name}_focus"
            y = f"({self.top})+{line * _LINE}"
            layers.append(draw.box(draw.ONE, "0", f"{y}+1", "10", "10", fill=COLOURS[name]))
            layers.append(draw.caption(f"{name}_said[{focus}]", "16", y, limit="width-16"))
        unit = {
            "weights": "Weight, share of the row, 0 to 1",
            "scores": "Score, as softmax receives it, unit-less",
        }.get(self.panels.of, "Score less the largest of its row, unit-less")
        y = f"({self.top})+{len(self.letters) * _LINE + 2}"
        return [*layers, draw.caption(draw.quoted(unit), "0", y)]

    def _places(self) -> dict[str, str]:
        """Fields of a bar that depend on the room alone."""
        own, found = self.keys, {}
        for number, name in enumerate(self.letters):
            share = 0.8 / len(self.letters)
            start = f"{_LEFT}+(datum.i+{0.1 + number * share:g})*{own}_step"
            found[f"{name}_bar_x"] = start
            found[f"{name}_bar_x2"] = f"datum.{name}_bar_x+max(0.5,{share:g}*{own}_step)"
            found[f"{name}_bar_y2"] = self._y("0")
        return found

    def _bars(self, name: str) -> alt.Chart:
        said = {"tooltip": draw.px("datum.tip"), "description": draw.px(f"datum.{name}_said")}
        places = draw.between("x", f"{name}_bar_x") | draw.between("y", f"{name}_bar_y")
        return draw.placed(f"bars_{name}", channels=places | said, fill=COLOURS[name], aria=True)

    def _outline(self) -> alt.Chart:
        """The column of the key pointed at."""
        own = self.keys
        return draw.box(
            draw.ONE,
            f"{_LEFT}+max({own}_spot,0)*{own}_step",
            f"{own}_bars_top",
            f"{own}_step",
            f"{own}_bars_room",
            stroke=ACCENT,
            strokeWidth=1,
            strokeOpacity=draw.ref(f"{own}_spot<0?0:0.55"),
        )

    def _axes(self) -> list[alt.Chart]:
        own = self.keys
        special = {"test": f"{own}_key_special[datum.value]", "value": "italic"}
        look: dict[str, Any] = {
            "orient": "bottom",
            **axes.upright(),
            "labelPadding": 5,
            "labelFontStyle": {"condition": special, "value": "normal"},
            "labelLimit": axes.LONGEST,
            "offset": draw.ref(f"{own}_bars_top+{own}_bars_room-height"),
            "title": None,
        }
        args = (f"{own}_key", "datum.value", f"{own}_step", f"{own}_label_step")
        across = dict(
            **look,
            values=draw.ref(f"sequence(0,{self.count},{own}_label_step)"),
            labelExpr=axes.label(*args, unless=f"{own}_spot"),
        )
        now = dict(
            **look,
            values=draw.ref(f"{own}_spot<0?[]:[{own}_spot]"),
            labelExpr=axes.label(*args),
            labelFontWeight="bold",
        )
        ends = f"{_LEFT}+{self.count}*{own}_step"
        slots = draw.scale([-0.5, self.count - 0.5], str(_LEFT), ends)
        bottom = f"{own}_bars_top+{own}_bars_room"
        heights = draw.scale(self.panels.domain, bottom, f"{own}_bars_top")
        return [
            draw.anchor(x=(slots, across), y=(heights, axes.amounts(_LEFT))),
            draw.anchor(x=(slots, now)),
        ]

    def _y(self, value: str) -> str:
        low, high = self.panels.domain
        own = self.keys
        return f"({own}_bars_top+{own}_bars_room*(1-(({value})-({low}))/{high - low}))"
