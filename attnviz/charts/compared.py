"""Compared: two heads side by side on one scale, their difference, and one row of both as bars."""

from typing import TYPE_CHECKING

import altair as alt

from attnviz.charts import bar_row, legend, maps
from attnviz.charts import layers as draw
from attnviz.charts.compared_panels import Panels, panels
from attnviz.charts.palettes import SIDES
from attnviz.charts.scales import WeightColour
from attnviz.charts.sections import Section, compose

if TYPE_CHECKING:
    from attnviz.heads.head import Head

WIDTH = 1080
_SPACE, _NOTE = 14, 18  # pixels between two sections, and of a note above them
_HEADING, _BAR = 66, 120  # pixels above a map, and of its colour bar
_GAP, _ROOM = 18, 500  # between two maps, and for a line of what the hatches mean
_LINE = 17  # from one line above the bars to the next


def compared(
    a: "Head",
    b: "Head",
    *,
    query: int,
    other_query: int | None = None,
    of: str = "weights",
    weight_colour: WeightColour = "unit",
    names: tuple[str, str] | None = None,
    near: int | None = None,
    changed: bool = False,
    bars: bool = True,
    width: int = WIDTH,
) -> alt.LayerChart:
    """The maps of two heads on one colour scale, and B minus A where both axes are the same tokens.

    Rows are queries, columns are keys. Pointing at a row puts it in focus, in all maps where the
    queries are the same tokens, else in its own alone; the bars follow. Tooltips give the numbers
    of both sides, and their difference, to four significant digits. Clicking a row sets the
    parameter "pick", fields "query" and "side" (0 is A, 1 is B, 2 the difference). A masked cell
    has no colour but a hatch; in the map of differences, a cell that either side masks. From 700
    pixels on the maps stand side by side.

    Args:
        a, b: the heads.
        query: position of the row of A that is in focus while the pointer is elsewhere.
        other_query: the row of B, where its queries are other tokens; `query` by default.
        of: what is compared, a name in `attnviz.heads.comparison.QUANTITIES`.
        weight_colour: "unit" spans 0 to 1, "fit" 0 to the largest weight of the two, "log" 0.0001
            to 1 by the logarithm.
        names: titles of the two maps, shown as they are; by default A and B, or before and after.
        near: of a long text, the key that the window stands around; the place of `query` if None.
        changed: b is the head a after a change, and words say so. A weight that the change hid
            is 0 in the difference.
        bars: whether one row of both is drawn as bars below the maps.
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
        changed=changed,
    )
    notes = Section(height=str(_NOTE * len(drawn.notes)))
    notes.layers = [
        draw.caption(f"drawn_notes[{line}]", "0", str(_NOTE * line))
        for line in range(len(drawn.notes))
    ]
    sections = [notes, *_maps(drawn, notes.height)]
    top = f"{notes.height}+{sections[1].height}+{_SPACE}"
    groups = (["a", "b"] if drawn.apart else ["ab"]) if bars else []
    for letters in groups:
        sections.append(_bars(drawn, letters, top))
        top += f"+{sections[-1].height}+{_SPACE}"
    sections.append(Section(height=str(_SPACE * (len(groups) + 1))))
    return compose(
        sections,
        keys=maps.linked_keys(drawn.each),
        params=_params(drawn),
        pick=("query", "side"),
        width=width,
    )


def _maps(drawn: Panels, top: str) -> list[Section]:
    """The maps with their headings, and below them what the hatches mean, once for all."""
    heights = {"room_h": "clamp(0.5*windowSize()[1],240,520)"}
    together = maps.Maps(drawn.each, top, _HEADING, _GAP, heights, labels_once=drawn.linked)
    part, *cells = together.sections()
    for number, panel in enumerate(drawn.each):
        x, y, *_ = panel.box
        above, scale = f"{y}-{_HEADING}", panel.scale
        coloured = ", ".join(words for words in (scale.title, scale.note) if words)
        title = f"panel_titles[{number}]"
        part.layers += [
            draw.caption(title, x, above, title=True, limit="room_w"),
            draw.caption(draw.quote(coloured), x, f"{above}+19", limit="room_w"),
            *legend.colour_bar(scale, x, f"{above}+36", _BAR),
        ]
    looks, tall = legend.below_maps(drawn.each, "label_room", f"({top})+maps_h", _ROOM)
    part.layers += looks
    part.height = f"maps_h+{tall}"
    return [part, *cells]


def _bars(drawn: Panels, letters: str, top: str) -> Section:
    """One row of both heads ("ab"), in pairs, where the keys are the same tokens; else of one of
    them ("a" or "b"). Lines above it say what the row attends to most."""
    chosen = [panel for panel in drawn.each if panel.name in letters]
    keys, share = chosen[0].keys, 0.8 / len(letters)
    step = f"{keys}bar_step"
    series = [
        bar_row.Series(
            name=f"bars_{letter}",
            value=letter,
            start=f"{0.1 + number * share:g}*{step}",
            width=f"max(0.5,{share:g}*{step})",
            fill=SIDES[letter],
            text=f"datum.to+', {letter.upper()}: '",
        )
        for number, letter in enumerate(letters)
    ]
    part = bar_row.BarRow(
        chosen[0].scene,
        series,
        drawn.domain,
        top,
        above=_LINE * len(letters) + 22,
        below=12,
        room="clamp(0.11*windowSize()[1],80,120)",
        widest=46,
        keys=keys,
    ).section()
    for line, panel in enumerate(chosen):
        y, said = f"({top})+{line * _LINE}", f"{panel.name}_said[{panel.rows}focus]"
        part.layers.append(draw.box(draw.ONE, "0", f"{y}+1", "10", "10", fill=SIDES[panel.name]))
        part.layers.append(draw.caption(said, "16", y, limit="width-16"))
    unit = {
        "weights": "Weight, share of the row, 0 to 1",
        "scores": "Score, as softmax receives it, unit-less",
    }.get(drawn.of, "Score less the largest of its row, unit-less")
    y = f"({top})+{len(letters) * _LINE + 2}"
    part.layers.append(draw.caption(draw.quote(unit), "0", y))
    return part


def _params(drawn: Panels) -> list[alt.VariableParameter]:
    """Tokens, packed numbers and words."""
    words = {
        "panel_titles": [panel.title for panel in drawn.each],
        "drawn_notes": drawn.notes,
        **{f"{letter}_said": said for letter, said in zip("ab", drawn.said, strict=True)},
    }
    constants = [draw.constant(name, value) for name, value in words.items()]
    return [*maps.linked_params(drawn.each), *constants]
