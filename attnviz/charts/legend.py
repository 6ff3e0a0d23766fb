"""Above each map: what it shows, its colour bar with numbers, what the other looks mean."""

import altair as alt
import numpy as np
from numpy.typing import NDArray

from attnviz.charts import cell_images, lettering
from attnviz.charts import layers as draw
from attnviz.charts.scales import ColourScale
from attnviz.charts.scene import Scene
from attnviz.heads.masks import MASK_REASONS

_BAR = 150  # length of a colour bar
_HEIGHT, _LINE, _GAP = 46, 18, 14


class Legend:
    """The legend of one map.

    Attributes:
        lines: lines of entries below the colour bar; the first stand beside it.
    """

    def __init__(
        self, scene: Scene, values: NDArray, shown: NDArray, colours: ColourScale, room: int
    ) -> None:
        """values: (row, key), the numbers that are coloured; shown: (row, key), where they are;
        room: pixels that entries may take."""
        self.colours = colours
        self.placed: list[tuple[str | None, str, int, int]] = []  # picture, words, x, line
        self.lines, at = 0, _BAR + 22
        for swatch, words in _entries(scene, values, shown, colours):
            wide = round(lettering.width(words, draw.LABEL_SIZE)) + (17 if swatch else 0)
            if at > 0 and at + wide > room:
                self.lines, at = self.lines + 1, 0
            self.placed.append((swatch, words, at, self.lines))
            at += wide + _GAP

    def draw(self, x: str, y: str, lines: int) -> list[alt.Chart]:
        """The legend above a map whose cells start at x, y; `lines` are kept free for entries."""
        top = f"{y}-{height(lines)}"
        colours = self.colours
        at_most = f"(datum.value==={colours.low}?'\u2264 ':'')+" if colours.log else ""
        numbers = {
            "orient": "bottom",
            "offset": draw.ref(f"{top}+27-height"),
            "values": list(dict.fromkeys(colours.marks)),
            "labelExpr": f"{at_most}format(datum.value,'.3~g')",
            "labelPadding": 3,
            "title": None,
        }
        ends = draw.scale([colours.low, colours.high], x, f"{x}+{_BAR}", log=colours.log)
        bar = cell_images.bar(colours.colours, colours.start, colours.end)
        title = draw.quoted(colours.title)
        layers = [
            draw.caption(title, x, top, title=True, limit="panel_w-label_room"),
            draw.picture(bar, x, f"{top}+19", str(_BAR), "8", smooth=True),
            draw.anchor(colours.low, x=(ends, numbers)),
        ]
        for swatch, words, at, line in self.placed:
            line_top = f"{top}+{17 if line == 0 else 44 + _LINE * (line - 1)}"
            if swatch:
                layers.append(draw.picture(swatch, f"{x}+{at}", line_top, "12", "12"))
            start = f"{x}+{at + (17 if swatch else 0)}"
            layers.append(draw.caption(draw.quoted(words), start, line_top))
        return layers


def height(lines: int) -> int:
    """Pixels above a map for a legend with so many lines below the bar."""
    return _HEIGHT + _LINE * lines


def _entries(
    scene: Scene, values: NDArray, shown: NDArray, colours: ColourScale
) -> list[tuple[str | None, str]]:
    """(picture or None, words), only of what is there to be seen."""
    entries: list[tuple[str | None, str]] = []
    if colours.note:
        entries.append((None, colours.note))
    hidden = ~shown & scene.attends[:, None]
    reasons = [int(reason) for reason in np.unique(scene.reason[hidden]) if reason]
    for reason in reasons:
        words = f"masked: {MASK_REASONS[reason]}" if len(reasons) > 1 else "masked"
        entries.append((cell_images.swatch(reason), words))
    if not scene.attends.all():
        entries.append((cell_images.swatch(cell_images.NOTHING), "attends to nothing"))
    if np.isnan(values[shown]).any():
        entries.append((cell_images.undefined(), "undefined"))
    return entries
