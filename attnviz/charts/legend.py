"""Legends of the maps: the colour bar with its numbers, and what the other looks mean."""

from collections.abc import Sequence
from typing import NamedTuple

import altair as alt
import numpy as np

from attnviz.charts import cell_images, lettering
from attnviz.charts import layers as draw
from attnviz.charts.panel import Panel
from attnviz.charts.scales import ColourScale
from attnviz.heads.masks import MASK_REASONS

LINE = 18  # pixels from one line of entries to the next
_SWATCH, _GAP = 17, 14  # pixels of a swatch and its distance, and from one entry to the next


class Entry(NamedTuple):
    """A look and what it means: a picture if there is one, the words, and where both go."""

    swatch: str | None
    words: str
    x: int
    line: int

    def draw(self, x: str, y: str) -> list[alt.Chart]:
        """The entry on a line of entries that starts at x, y."""
        indent = _SWATCH if self.swatch else 0
        words = draw.caption(draw.quote(self.words), f"{x}+{self.x + indent}", y)
        if not self.swatch:
            return [words]
        return [draw.picture(self.swatch, f"{x}+{self.x}", y, "12", "12"), words]


def below_maps(panels: Sequence[Panel], x: str, y: str, room: int) -> tuple[list[alt.Chart], int]:
    """What the looks mean, once for all maps, from x, y on; and the pixels it takes."""
    found = entries(panels, room=room)
    drawn = [layer for one in found for layer in one.draw(x, f"{y}+{one.line * LINE}")]
    return drawn, LINE * (found[-1].line + 1) if found else 0


def entries(
    panels: Sequence[Panel], *, room: int, start: int = 0, note: str = "", named: bool = True
) -> list[Entry]:
    """What the looks of masked and undefined cells mean, as far as they can be seen.

    Args:
        room: pixels that a line may take.
        start: pixels of the first line that are taken already.
        note: words that come first.
        named: the reason of a mask is told even where there is only one.
    """
    found: list[tuple[str | None, str]] = [(None, note)] if note else []
    hidden = [panel.reason[~panel.shown & panel.attends[:, None]] for panel in panels]
    reasons = [int(reason) for reason in np.unique(np.concatenate(hidden)) if reason]
    for reason in reasons:
        words = f"masked: {MASK_REASONS[reason]}" if named or len(reasons) > 1 else "masked"
        found.append((cell_images.swatch(reason), words))
    if not all(panel.attends.all() for panel in panels):
        found.append((cell_images.swatch(cell_images.NOTHING), "attends to nothing"))
    if any(np.isnan(panel.values[panel.shown]).any() for panel in panels):
        found.append((cell_images.undefined(), "undefined"))
    placed, at, line = [], start, 0
    for swatch, words in found:
        wide = round(lettering.width(words, draw.LABEL_SIZE)) + (_SWATCH if swatch else 0)
        if at > 0 and at + wide > room:
            at, line = 0, line + 1
        placed.append(Entry(swatch, words, at, line))
        at += wide + _GAP
    return placed


def colour_bar(scale: ColourScale, x: str, y: str, length: int) -> list[alt.Chart]:
    """A colour bar with its top left corner at x, y and its numbers below it."""
    at_most = f"(datum.value==={scale.low}?'\u2264 ':'')+" if scale.log else ""
    numbers = {
        "orient": "bottom",
        "offset": draw.ref(f"{y}+8-height"),
        "values": list(dict.fromkeys(scale.marks)),
        "labelExpr": f"{at_most}format(datum.value,'.3~g')",
        "labelPadding": 3,
        "title": None,
    }
    ends = draw.scale([scale.low, scale.high], x, f"{x}+{length}", log=scale.log)
    bar = cell_images.bar(scale.colours, scale.start, scale.end)
    return [
        draw.picture(bar, x, y, str(length), "8", smooth=True),
        draw.anchor(scale.low, x=(ends, numbers)),
    ]
