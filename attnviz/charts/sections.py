"""Sections of a picture: built apart to stand one below the other, composed into one view."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from attnviz.charts import layers as draw


@dataclass
class Section:
    """A part of a picture: what it draws, what that needs, and how tall it is.

    Attributes:
        layers: drawn in this order.
        keys: the prefix of the keys that `key_layers` are about, where a picture has several.
        key_layers: drawn above `layers`, from one shared data row a key, known by its place `i`.
        fixed, by_row: fields of those rows, name to expression: what depends on the room alone, and
            what depends on the row in focus. Many marks follow the pointer, so their places are
            fields, worked out once, and not expressions, worked out at every move.
        over: drawn above the key layers.
        params: parameters that the layers use.
        height: an expression, pixels.
        hovers, picks, spots: names of the views whose marks answer to hover, click and a key.
    """

    height: str
    keys: str = ""
    layers: list[alt.Chart] = field(default_factory=list)
    key_layers: list[alt.Chart] = field(default_factory=list)
    fixed: dict[str, str] = field(default_factory=dict)
    by_row: dict[str, str] = field(default_factory=dict)
    over: list[alt.Chart] = field(default_factory=list)
    params: list[alt.VariableParameter] = field(default_factory=list)
    hovers: list[str] = field(default_factory=list)
    picks: list[str] = field(default_factory=list)
    spots: list[str] = field(default_factory=list)


def compose(
    sections: Sequence[Section],
    *,
    keys: Mapping[str, tuple[int, dict[str, str]]],
    params: Sequence[Any] = (),
    pick: Sequence[str] = ("query",),
    width: int,
) -> alt.LayerChart:
    """One picture of several sections, linked by "hover", "spot" and "pick".

    What the pointer is over is in the parameters "hovered" (the place of a row, or -1), "side"
    (the number of its map) and "spotted" (the place of a key, or -1).

    Args:
        sections: built to stand one below the other.
        keys: prefix of a set of keys to how many are drawn, and the fields of their data rows
            that every section may use.
        params: parameters that the sections share.
        pick: fields of the parameter that a click sets.
        width: pixels to start with; the page may set another.
    """
    ground = draw.box(
        alt.Data(values=[{"place": -1, "key": -1, "side": 0}]),
        "0",
        "0",
        "width",
        "+".join(f"({section.height})" for section in sections),
        name="ground",
        channels=draw.NO_TOOLTIP,
    )
    hovers, spots, picks = (
        [name for section in sections for name in getattr(section, kind)]
        for kind in ("hovers", "spots", "picks")
    )
    spot = ["key", "group"] if len(keys) > 1 else ["key"]
    selections = [
        draw.selected_by("hover", ["place", "side"], "pointerover", [*hovers, "ground"]),
        draw.selected_by("spot", spot, "pointerover", [*spots, "ground"]),
    ]
    if picks:
        selections.append(draw.selected_by("pick", list(pick), "click", picks))
    pointer = [
        draw.param("hovered", "isValid(hover.place)?hover.place[0]:-1"),
        draw.param("side", "isValid(hover.side)?hover.side[0]:0"),
        draw.param("spotted", "isValid(spot.key)?spot.key[0]:-1"),
    ]
    layers = [ground, *(layer for section in sections for layer in section.layers)]
    for prefix, (count, known) in keys.items():
        own = [section for section in sections if section.keys == prefix and section.key_layers]
        fields: dict[str, str] = {"group": draw.quote(prefix)} if len(keys) > 1 else {}
        for part in (*(s.fixed for s in own), known, *(s.by_row for s in own)):
            fields |= part
        on_keys = [layer for section in own for layer in section.key_layers]
        if on_keys:
            steps = draw.calculations(fields)
            layers.append(alt.LayerChart(draw.sequence(count, "i"), on_keys, transform=steps))
    layers += [layer for section in sections for layer in section.over]
    own_params = [param for section in sections for param in section.params]
    return draw.finish(layers, [*selections, *pointer, *params, *own_params], width)
