"""Explore: the maps of a head, the text and the contributions of one row, in one picture."""

from typing import TYPE_CHECKING

import altair as alt

from attnviz.charts import bar_row, chip_text, pair_maps, selected_row
from attnviz.charts import layers as draw
from attnviz.charts.bar_row import Order
from attnviz.charts.scales import ScoreColour, WeightColour
from attnviz.charts.scene import Padding, Scene, scene
from attnviz.charts.sections import Section, compose

if TYPE_CHECKING:
    from attnviz.heads.head import Head

WIDTH = 1080
_SPACE = 14  # between two sections


def explore(
    head: "Head",
    *,
    query: int,
    stage: str | None = None,
    measure: str = "contribution_norm",
    score_colour: ScoreColour = "zero",
    weight_colour: WeightColour = "unit",
    order: Order = "text",
    padding: Padding = "hide",
    near: int | None = None,
    width: int = WIDTH,
) -> alt.LayerChart:
    """Two maps of a head, scores left and weights right, the text, and one row's contributions.

    Rows are queries ("from"), columns are keys ("to"). Pointing at a row of either map puts it in
    focus: the chips of the text and the bars answer at once, in the browser. Tooltips give every
    cell's numbers to four significant digits, true ones whatever the colours show. Clicking a row
    or a chip sets the parameter "pick", field "query". From 700 pixels on the maps stand side by
    side, below that one above the other; the picture follows the width that the page gives it.

    A masked cell is transparent and hatched, the direction of the hatch telling the reason; a row
    that attends to nothing is dotted; an undefined number is pink. None of these has a place on a
    colour scale. Of texts of more than 320 tokens, 256 rows around `query` and 256 keys around
    `near` are drawn, and the picture says so.

    Args:
        head: the head.
        query: position of the row that is in focus while the pointer is elsewhere, from 0.
        stage: a name in `head.panels`; None for the scores as softmax receives them.
        measure: what shades the chips and makes the bars, a name in
            `attnviz.heads.contributions.MEASURES`.
        score_colour: "zero" centres the colours on 0; "row" colours each score less the largest
            of its row, which is all that softmax sees of it.
        weight_colour: "unit" spans 0 to 1, "fit" 0 to the largest weight, "log" 0.0001 to 1 by
            the logarithm. None of them changes the weights.
        order: bars in "text" order, or the largest first ("size").
        padding: "hide" leaves out the rows and keys of padding and counts them.
        near: of a long text, the key that the window stands around; the place of `query` if None.
        width: pixels to start with.

    Raises:
        BadInput: no such query, stage or measure.

    >>> from attnviz.heads.head import Head
    >>> head = Head(q=[[0], [2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0, allowed=[[1, 0], [1, 1]])
    >>> chart = explore(head, query=1, measure="weight")
    >>> [param.name for param in chart.params if param.name in ("hover", "pick")]
    ['hover', 'pick']
    """
    drawn = scene(head, query=query, stage=stage, measure=measure, padding=padding, near=near)
    rest = f"{_note_height(drawn)}+chips_h+bars_h+{2 * _SPACE}"
    both = pair_maps.sections(drawn, score_colour, weight_colour, _note_height(drawn), rest)
    chips_top = f"{_note_height(drawn)}+maps_h+{_SPACE}"
    text = chip_text.section(drawn, chips_top)
    below = bar_row.section(drawn, order, f"{chips_top}+chips_h+{_SPACE}")
    return _compose(drawn, [*both, text, below], width)


def _note_height(drawn: Scene) -> str:
    return "20" if drawn.note else "0"


def _compose(drawn: Scene, sections: list[Section], width: int) -> alt.LayerChart:
    if drawn.note:
        note = Section(height="20")
        note.layers.append(draw.caption(draw.quote(drawn.note), "0", "0"))
        sections = [note, *sections]
    tall = [section for section in sections if section.height != "0"]
    gaps = Section(height=str(_SPACE * (len(tall) - 1)))
    return compose(
        [*sections, gaps],
        keys={"": (len(drawn.keys), selected_row.fields(drawn))},
        params=selected_row.params(drawn),
        width=width,
    )


def pair(
    head: "Head",
    *,
    query: int,
    stage: str | None = None,
    score_colour: ScoreColour = "zero",
    weight_colour: WeightColour = "unit",
    padding: Padding = "hide",
    width: int = WIDTH,
) -> alt.LayerChart:
    """The two maps of `explore` alone; arguments as there."""
    drawn = scene(head, query=query, stage=stage, measure="weight", padding=padding)
    note = _note_height(drawn)
    both = pair_maps.sections(drawn, score_colour, weight_colour, note, note)
    return _compose(drawn, both, width)


def chips(
    head: "Head",
    *,
    query: int,
    measure: str = "contribution_norm",
    padding: Padding = "hide",
    width: int = WIDTH,
) -> alt.LayerChart:
    """The text of `explore` alone, shaded by one row; arguments as there."""
    drawn = scene(head, query=query, stage=None, measure=measure, padding=padding)
    return _compose(drawn, [chip_text.section(drawn, _note_height(drawn))], width)


def bars(
    head: "Head",
    *,
    query: int,
    measure: str = "contribution_norm",
    order: Order = "text",
    padding: Padding = "hide",
    width: int = WIDTH,
) -> alt.LayerChart:
    """The bars of `explore` alone, for one row; arguments as there. Nothing to pick."""
    drawn = scene(head, query=query, stage=None, measure=measure, padding=padding)
    return _compose(drawn, [bar_row.section(drawn, order, _note_height(drawn))], width)
