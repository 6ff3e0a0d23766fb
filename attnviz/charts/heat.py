"""One matrix of a head as a small map, on a scale that the caller fixes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnviz.charts import cell_images
from attnviz.charts.palettes import ACCENT, hexes, ramp

MAX_RECTS = 1024  # cells drawn one by one, each with its number on hover
SIDE = 268  # pixels with labels and all
_ROOM = 90  # of them, for labels
_LARGEST, _READABLE = 28, 8.5  # pixels of a cell; the smallest whose token is named beside it


@dataclass(frozen=True)
class _Sides:
    """The labels of rows and columns, the pixels of a cell, and what sets the names of the label
    lists of one map apart from those of another in one picture."""

    queries: Sequence[str]
    keys: Sequence[str]
    cell: float
    name: str = ""
    origin: tuple[int, int] = (0, 0)

    @property
    def width(self) -> int:
        return max(20, round(self.cell * len(self.keys)))

    @property
    def height(self) -> int:
        return max(20, round(self.cell * len(self.queries)))

    def labels(self) -> list[alt.Parameter]:
        lists = {"of_names": self.queries, "to_names": self.keys}
        return [alt.param(name=n + self.name, value=list(words)) for n, words in lists.items()]

    def placed(self) -> list[Any]:
        """Encodings of a rectangle with the fields left, right, top and bottom."""
        across, down = len(self.keys), len(self.queries)
        return [
            alt.X("left:Q", scale=_span(across), axis=self._axis("to_names", across, "key")),
            alt.X2("right"),
            alt.Y(
                "top:Q",
                scale=_span(down, reverse=True),
                axis=self._axis("of_names", down, "query"),
            ),
            alt.Y2("bottom"),
        ]

    def _axis(self, names: str, count: int, title: str) -> alt.Axis:
        if self.cell < _READABLE:
            first = self.origin[1 if names == "to_names" else 0]
            number = f"format(datum.value+{first},'d')"
            return alt.Axis(title=title, labelExpr=number, tickMinStep=1, tickCount=6, grid=False)
        return alt.Axis(
            title=None,
            values=list(range(count)),
            labelExpr=f"{names}{self.name}[datum.value]",  # looked up, never part of the expression
            labelLimit=80,
            labelOverlap=False,
            labelAngle=-90 if names == "to_names" else 0,
            labelFontSize=min(10, int(self.cell) - 1),
            grid=False,
            ticks=False,
            domain=False,
        )


def heat(
    values: NDArray,
    shown: NDArray[np.bool_],
    *,
    colours: str,
    low: float,
    high: float,
    title: str,
    queries: Sequence[str],
    keys: Sequence[str],
    row: int | None = None,
    side: int = SIDE,
    origin: tuple[int, int] = (0, 0),
) -> alt.LayerChart:
    """The matrix in colours, query 0 at the top; two maps with the same ends can be compared.

    Args:
        values: (query, key).
        shown: (query, key), False where a cell stays blank.
        colours: the name of a ramp of `attnviz.charts.palettes`.
        low, high: the numbers at the ends of the ramp; what lies beyond has the end's colour.
        queries, keys: labels, shown as they are where there is room for them.
        row: the row that is outlined.
        side: pixels of the picture.
        origin: the positions, in the text, of the first query and of the first key.

    >>> names = ["a", "b"]
    >>> ends = {"low": 0, "high": 1}
    >>> chart = heat(np.eye(2), np.eye(2) > 0, colours="weight", **ends, title="",
    ...              queries=names, keys=names)
    >>> len(chart.layer)
    1
    """  # fmt: skip
    layers, sides = _map(values, shown, colours, low, high, queries, keys, row, side, origin=origin)
    return _dressed(
        alt.layer(*layers)
        .add_params(*sides.labels())
        .properties(
            width=sides.width,
            height=sides.height,
            title=_title(title),
            autosize="pad",
        )
    )


def heats(maps: Sequence[Mapping[str, Any]], *, columns: int) -> alt.ConcatChart:
    """Several maps as one picture, so many in a row; each as the options of `heat` have it.

    >>> names = ["a", "b"]
    >>> one = dict(
    ...     values=np.eye(2),
    ...     shown=np.eye(2) > 0,
    ...     colours="weight",
    ...     low=0,
    ...     high=1,
    ...     title="one",
    ...     queries=names,
    ...     keys=names,
    ... )
    >>> len(heats([one, one | {"title": "two"}], columns=2).concat)
    2
    """
    charts, labels = [], []
    for number, options in enumerate(maps):
        drawn = {name: value for name, value in options.items() if name != "title"}
        layers, sides = _map(**drawn, name=f"_{number}")
        size = {"width": sides.width, "height": sides.height}
        charts.append(alt.layer(*layers).properties(**size, title=_title(options["title"])))
        labels += sides.labels()
    together = alt.concat(*charts, columns=columns).resolve_scale(color="independent")
    return _dressed(together.add_params(*labels))


def _map(
    values: NDArray,
    shown: NDArray[np.bool_],
    colours: str,
    low: float,
    high: float,
    queries: Sequence[str],
    keys: Sequence[str],
    row: int | None = None,
    side: int = SIDE,
    name: str = "",
    origin: tuple[int, int] = (0, 0),
) -> tuple[list[alt.Chart], _Sides]:
    cell = min((side - _ROOM) / max(values.shape), _LARGEST)
    sides = _Sides(queries, keys, cell, name, origin)
    make = _image if int(shown.sum()) > MAX_RECTS else _rects
    layers = make(values, shown, colours, (low, high), sides)
    if row is not None:
        outline = alt.Chart(pd.DataFrame([_edges(row, row + 1, 0, len(keys))]))
        frame = outline.mark_rect(fill=None, stroke=ACCENT, strokeWidth=1.5, aria=False)
        layers.append(frame.encode(*sides.placed()))
    return layers, sides


def _title(words: str) -> alt.TitleParams:
    return alt.TitleParams(words, fontSize=12, anchor="start", fontWeight="normal")


def _dressed(chart: Any) -> Any:
    return (
        chart.properties(usermeta={"embedOptions": {"renderer": "svg"}})
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=10, titleFontSize=10, titleFontWeight="normal")
    )


def _rects(
    values: NDArray,
    shown: NDArray[np.bool_],
    colours: str,
    ends: tuple[float, float],
    sides: _Sides,
) -> list[alt.Chart]:
    frame = pd.DataFrame(
        [
            _edges(q, q + 1, k, k + 1)
            | {
                "of": sides.queries[q],
                "to": sides.keys[k],
                "number": float(values[q, k]),
                "said": f"{sides.queries[q]} to {sides.keys[k]}: {values[q, k]:.3g}",
            }
            for q, k in zip(*np.nonzero(shown), strict=True)
        ],
        columns=["top", "bottom", "left", "right", "of", "to", "number", "said"],
    )
    tooltip = [
        alt.Tooltip("of:N", title="from"),
        alt.Tooltip("to:N", title="to"),
        alt.Tooltip("number:Q", title="number", format=".4~g"),
    ]
    cells = alt.Chart(frame).mark_rect()
    channels = [*sides.placed(), _colour(colours, ends)]
    return [cells.encode(*channels, tooltip=tooltip, description="said:N")]


def _image(
    values: NDArray,
    shown: NDArray[np.bool_],
    colours: str,
    ends: tuple[float, float],
    sides: _Sides,
) -> list[alt.Chart]:
    low, high = ends
    share = (values - low) / (high - low)
    png = cell_images.cells(np.where(shown, share, 0), ramp(colours), shown)
    frame = pd.DataFrame([_edges(0, len(values), 0, values.shape[1]) | {"number": low}])
    base = alt.Chart(frame)
    ground = base.mark_rect(opacity=0, aria=False)
    picture = base.mark_image(
        width=sides.width, height=sides.height, align="left", baseline="top",
        aspect=False, smooth=False, aria=False,
    ).encode(x=alt.value(0), y=alt.value(0), url=alt.value(png))  # fmt: skip
    return [ground.encode(*sides.placed(), _colour(colours, ends)), picture]


def _edges(top: int, bottom: int, left: int, right: int) -> dict[str, Any]:
    return {"top": top - 0.5, "bottom": bottom - 0.5, "left": left - 0.5, "right": right - 0.5}


def _span(count: int, *, reverse: bool = False) -> alt.Scale:
    return alt.Scale(domain=[-0.5, count - 0.5], nice=False, zero=False, reverse=reverse)


def _colour(colours: str, ends: tuple[float, float]) -> alt.Color:
    legend = alt.Legend(
        title=None,
        orient="bottom",
        gradientLength=160,
        gradientThickness=9,
        format=".3~g",
        tickCount=3,
    )
    scale = alt.Scale(domain=list(ends), range=hexes(colours), clamp=True)
    return alt.Color("number:Q", scale=scale, legend=legend)
