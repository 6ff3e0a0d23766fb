"""Maps of arrays that come from anywhere: one to three side by side, for the same tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnviz.charts import layers as draw
from attnviz.charts import legend, maps
from attnviz.charts.palettes import ramp
from attnviz.charts.panel import Panel
from attnviz.charts.scales import ColourScale, short
from attnviz.charts.scene import Scene, scene
from attnviz.charts.sections import Section, compose
from attnviz.errors import BadInput
from attnviz.heads.head import Head
from attnviz.tokens import Token

if TYPE_CHECKING:
    from attnviz.heads.softmax import Mask

_HEADING, _BAR, _GAP, _ROOM = 46, 120, 18, 300  # pixels; as with the maps of heads
_TALLEST = {1: 420, 2: 320, 3: 260}  # pixels of the cells, by the number of maps
_PREFIXES = "abc"


@dataclass(frozen=True, eq=False)
class ArrayMap:
    """An array and the colours it is drawn in.

    Attributes:
        array: (query, key) numbers; -inf where masked, NaN where undefined.
        title: above the map.
        colours: the name of a ramp of `attnviz.charts.palettes`; one that suits the numbers if
            empty.
        low, high: the numbers at the ends of the ramp; what lies beyond has the end's colour. By
            default 0 to 1 where all numbers are in there, else from 0 or centred on 0.
    """

    array: ArrayLike
    title: str = ""
    colours: str = ""
    low: float | None = None
    high: float | None = None

    def scale(self, drawn: NDArray) -> ColourScale:
        """The colours of the numbers that are drawn."""
        drawn = drawn[np.isfinite(drawn)]
        least, most = float(drawn.min(initial=0)), float(drawn.max(initial=0))
        shares = least >= 0 and most <= 1
        reach = max(-least, most) or 1.0
        low = self.low if self.low is not None else -reach if least < 0 else 0.0
        high = self.high if self.high is not None else 1.0 if shares else reach
        usual = "score" if low < 0 else "weight" if shares else "measure"
        marks = (low, 0.0, high) if low < 0 < high else (low, high)
        return ColourScale("", "", low, high, 0, 1, ramp(self.colours or usual), marks)


def heatmap(
    arrays: Any,
    tokens: Sequence[str | Token],
    *,
    key_tokens: Sequence[str | Token] | None = None,
    allowed: "Mask | None" = None,
    query: int = 0,
    width: int | None = None,
) -> alt.LayerChart:
    """One to three arrays as maps: weights of another library, a mean of heads, a difference.

    Rows are queries, columns are keys. Pointing at a row of any map gives the exact numbers of its
    cells in all of them. Masked cells are hatched, undefined ones (NaN) are pink. Of more than 320
    tokens, 256 around `query` are drawn, and the picture says so.

    Args:
        arrays: (query, key), or what `ArrayMap` makes of one, or up to three of those.
        tokens, key_tokens: labels, or tokens of a capture, of rows and of columns; the columns
            have those of the rows by default.
        allowed: (query, key) bool, False where masked; by default all but -inf.
        query: position of the row that is outlined while the pointer is elsewhere.
        width: pixels to start with; the picture follows the width that the page gives it.

    Raises:
        BadInput: tokens and arrays do not fit together, or there is no such query.

    >>> chart = heatmap([[1, 0], [0.25, 0.75]], ["a", "b"])
    >>> [param.name for param in chart.params if param.name == "hover"]
    ['hover']
    """
    given = list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]
    if not all(isinstance(one, ArrayMap) for one in given):
        given = [ArrayMap(arrays)]
    if len(given) > len(_PREFIXES):
        raise BadInput(what=f"{len(given)} maps were given.", todo="Give 1 to 3.")
    keys = tokens if key_tokens is None else key_tokens
    scenes = [_scene(one.array, tokens, keys, allowed, query) for one in given]
    names = [one.title or "number" for one in given]
    if len(set(names)) < len(names):
        names = [f"map {number}" for number in range(1, len(given) + 1)]
    panels = [
        _panel(prefix, one, name, drawn)
        for prefix, one, name, drawn in zip(_PREFIXES, given, names, scenes, strict=False)
    ]
    note = scenes[0].note
    top = Section(height="20" if note else "0")
    if note:
        top.layers.append(draw.caption(draw.quote(note), "0", "0"))
    heights = {"room_h": f"min(room_w,{_TALLEST[len(panels)]})"}
    drawn = maps.Maps(panels, top.height, _HEADING, _GAP, heights, labels_once=True)
    part, *cells = drawn.sections()
    for number, panel in enumerate(panels):
        x, y, *_ = panel.box
        above, title = f"{y}-{_HEADING}", f"panel_titles[{number}]"
        part.layers.append(draw.caption(title, x, above, title=True, limit="room_w"))
        part.layers += legend.colour_bar(panel.scale, x, f"{above}+19", _BAR)
    looks, tall = legend.below_maps(panels, "label_room", f"{top.height}+maps_h", _ROOM)
    part.layers += looks
    part.height = f"maps_h+{tall}"
    words = {"panel_titles": [one.title for one in given], "said": _sentences(panels)}
    return compose(
        [top, part, *cells],
        keys=maps.linked_keys(panels),
        params=[
            *maps.linked_params(panels),
            *(draw.constant(name, value) for name, value in words.items()),
        ],
        width=width or (480 if len(given) == 1 else 1080),
    )


def _scene(
    array: ArrayLike,
    tokens: Sequence[str | Token],
    key_tokens: Sequence[str | Token],
    allowed: "Mask | None",
    query: int,
) -> Scene:
    """The array in the place of a head's scores."""
    values = np.asarray(array, np.float32)
    if values.shape != (len(tokens), len(key_tokens)):
        raise BadInput(
            what=f"An array of shape {values.shape} does not fit {len(tokens)} query tokens and "
            f"{len(key_tokens)} key tokens.",
            why="A map has a row for each query token and a column for each key token.",
            todo="Give an array (query, key), and key_tokens where they are other tokens.",
        )
    head = Head(
        None,
        None,
        v=None,
        given={"scaled": values},
        allowed=~np.isneginf(values) if allowed is None else allowed,
        query_tokens=_tokens(tokens),
        key_tokens=_tokens(key_tokens),
    )
    return scene(head, query=query)


def _tokens(given: Sequence[str | Token]) -> list[Token]:
    return [
        Token(place, one, one, place, None, None, special=False) if isinstance(one, str) else one
        for place, one in enumerate(given)
    ]


def _panel(prefix: str, given: ArrayMap, number: str, drawn: Scene) -> Panel:
    values, shown = drawn.scores.astype(np.float64), drawn.reason == 0
    return Panel(
        prefix,
        given.title,
        number,
        drawn,
        values,
        shown,
        drawn.reason,
        drawn.attends,
        given.scale(values[shown]),
        rows="a_",
        keys="a_",
        sentence="said[datum.place]" if prefix == "a" else "",
    )


def _sentences(panels: Sequence[Panel]) -> list[str]:
    """What a screen reader says of each row: where the largest number of each map is."""
    labels = panels[0].scene.query_labels
    said = [f'"{label}":' for label in labels]
    for panel in panels:
        values = np.where(panel.shown & ~np.isnan(panel.values), panel.values, -np.inf)
        for place, key in enumerate(values.argmax(axis=1).tolist()):
            largest = float(values[place, key])
            if np.isfinite(largest):
                word = panel.scene.key_labels[key]
                said[place] += f' {panel.number} at most {short(largest)}, to "{word}".'
    return said
