"""View: something that was drawn, with its numbers and with all it takes to make them again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnviz.display import draw_in_notebook
from attnviz.errors import BadInput
from attnviz.export.digests import find_largest, hash_array
from attnviz.export.provenance import FORMAT
from attnviz.heads.masks import MASK_REASONS

REASON = "mask_reason"
WHY_MASKED = "why a cell is masked, by its place in names; 0 is allowed"
"""The quantity that says why a cell is masked; a table has its names, not its numbers."""


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a view's arrays.

    Attributes:
        name: such as "query".
        places: (n,) what is counted along it: positions, layers, heads; from 0.
        columns: more about each place, such as its token, (n,) each; a table has them beside it.
    """

    name: str
    places: NDArray[np.int64]
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Quantity:
    """One array of a view.

    Attributes:
        values: the numbers, in the order of `axes`.
        axes: names of the view's axes, in their order there.
        unit: unit and range, in words.
        masked: whether cells with a mask reason hold nothing; -inf stands for it in the array.
    """

    values: NDArray
    axes: tuple[str, ...]
    unit: str = ""
    masked: bool = False


@dataclass(frozen=True, eq=False)
class View:
    """A picture, its numbers, where they come from, and Python that makes them again.

    Attributes:
        title: what is shown, in a few words.
        finding: what is to be seen in it, as sentences: the alt text of the picture.
        axes: in the order that every array has them.
        make_quantities: works out the arrays, {name: Quantity}; see `quantities`.
        draw_chart: makes the Altair chart; see `chart`. None: there is no picture.
        source: model, input, place, interventions, versions: see `provenance`.
        script: Python that makes the same arrays.
        stem: a name for a file, without its ending: letters, digits, dots and dashes.
        table: what a page shows beside the picture, in words and numbers: (headings, rows).
        flexible: whether the picture answers to the width that it is given.
    """

    title: str
    finding: str
    axes: Sequence[Axis]
    make_quantities: Callable[[], Mapping[str, Quantity]]
    draw_chart: Callable[[], Any] | None
    source: Mapping[str, Any]
    script: str
    stem: str
    table: Callable[[], pd.DataFrame] | None = None
    flexible: bool = False

    @cached_property
    def quantities(self) -> Mapping[str, Quantity]:
        return self.make_quantities()

    @property
    def arrays(self) -> dict[str, NDArray]:
        """{name: array}: every number of the view, and the places along its axes."""
        places = {f"{axis.name}_places": axis.places for axis in self.axes}
        return {name: q.values for name, q in self.quantities.items()} | places

    @cached_property
    def chart(self) -> Any:
        """The picture, an Altair chart; None where there is none."""
        return self.draw_chart() if self.draw_chart else None

    @property
    def kinds(self) -> list[str]:
        """The kinds of file that there are of this view."""
        drawn = () if self.draw_chart else ("svg", "png", "html")
        worded = any(axis.columns for axis in self.axes)  # a table of words has no arrays
        data = () if self.quantities else ("npz",) if worded else ("csv", "parquet", "npz", "json")
        written = () if self.script else ("py",)
        return [kind for kind in _find_writers().KINDS if kind not in (*drawn, *data, *written)]

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Where the numbers come from, as JSON has it: the source, the axes with every token, the
        arrays with their units, axis order and digests, the finding and the script."""
        axes = {
            axis.name: {
                "places": axis.places.tolist(),
                **{k: list(v) for k, v in axis.columns.items()},
            }
            for axis in self.axes
        }
        arrays = {
            name: {
                "axes": list(q.axes),
                "shape": list(q.values.shape),
                "dtype": str(q.values.dtype),
                "unit": q.unit,
                "sha256": hash_array(q.values),
                "largest": find_largest(q.values),
                **({"masked": "-inf"} if q.masked else {}),
                **({"names": list(MASK_REASONS)} if name == REASON else {}),
            }
            for name, q in self.quantities.items()
        }
        return {
            "format": f"attnviz {FORMAT}",
            "title": self.title,
            "finding": self.finding,
            **self.source,
            "axis_order": [axis.name for axis in self.axes],
            "axes": axes,
            "arrays": arrays,
            "counting": "layers, heads and positions count from 0",
            "script": self.script,
        }

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All numbers as one table, a row a cell.

        Columns: for each axis its place (counted from 0) and what is known of it, such as
        `query_token`; `mask`, why a cell is masked, "" where it is not; every array by its name,
        -inf where masked. Column names are fixed words: tokens stand in cells alone.
        """
        shape = tuple(len(axis.places) for axis in self.axes)
        columns: dict[str, Any] = {}
        for number, axis in enumerate(self.axes):
            for name, values in {axis.name: axis.places, **axis.columns}.items():
                along = np.asarray(values, None if name == axis.name else object)
                spread = along.reshape([-1 if i == number else 1 for i in range(len(shape))])
                columns[name] = np.broadcast_to(spread, shape).ravel()
        for name, quantity in self.quantities.items():
            spread = self._broadcast(quantity, shape)
            if name == REASON:
                names = np.array(["", *MASK_REASONS[1:]], object)
                columns["mask"] = names[spread.ravel()]
            else:
                columns[name] = spread.ravel()
        return pd.DataFrame(columns).infer_objects()

    def _broadcast(self, quantity: Quantity, shape: tuple[int, ...]) -> NDArray:
        sides = [
            length if axis.name in quantity.axes else 1
            for axis, length in zip(self.axes, shape, strict=True)
        ]
        return np.broadcast_to(quantity.values.reshape(sides), shape)

    def wide(self, name: str) -> pd.DataFrame:
        """One array as a matrix with named rows and columns.

        A name is the place and the token, `0:the`: equal tokens stay apart, and no two columns
        are called the same.
        """
        quantity = self._find_matrix(name)
        first, second = (axis for axis in self.axes if axis.name in quantity.axes)
        frame = pd.DataFrame(
            quantity.values, index=_name_places(first), columns=_name_places(second)
        )
        return frame.rename_axis(index=first.name, columns=second.name)

    def _find_matrix(self, name: str) -> Quantity:
        matrices = [n for n, q in self.quantities.items() if len(q.axes) == 2]
        if name not in matrices:
            raise BadInput(
                what=f"There is no matrix {name!r} in this view.",
                todo=f"Choose one of {', '.join(matrices)}.",
            )
        return self.quantities[name]

    def data(self, kind: str) -> bytes:
        """The view as the bytes of a file of this kind, a name in `attnviz.export.KINDS`."""
        contents: bytes = _find_writers().data(self, kind)
        return contents

    def save(self, path: str | Path) -> Path:
        """Write the view into a file; its ending says what it will hold."""
        written: Path = _find_writers().save(self, path)
        return written

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return draw_in_notebook(self)

    def __repr__(self) -> str:
        return f"<View {self.title}>"


def _find_writers() -> ModuleType:
    """What writes views into files: found by name, since it imports this module."""
    return import_module("attnviz.export.file_kinds")


def _name_places(axis: Axis) -> list[str]:
    tokens = axis.columns.get(f"{axis.name}_token", [""] * len(axis.places))
    return [
        f"{place}:{token}" if token else str(place)
        for place, token in zip(axis.places.tolist(), tokens, strict=True)
    ]
