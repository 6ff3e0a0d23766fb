"""Panel: one map of a picture, with its numbers, its colours and the tokens along its sides."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.charts import packing
from attnviz.charts.scales import ColourScale
from attnviz.charts.scene import Scene


@dataclass(frozen=True, eq=False)
class Panel:
    """One map.

    In the browser, lists and places that panels share have one name: panels whose `rows` are the
    same prefix are linked, so that pointing at a row of one puts it in focus in all of them.

    Attributes:
        name: what the names of its parameters and marks begin with.
        title: above the map; a user's own words may be in it.
        number: what one of its numbers is called in a tooltip.
        scene: the tokens of its rows and keys.
        values: (row, key) the numbers that the colours stand for.
        shown: (row, key) bool, where there is a number.
        reason: (row, key) numbers of MASK_REASONS; 0 where nothing is masked.
        attends: (row,) bool, False where the row attends to nothing.
        scale: its colours.
        rows, keys: prefixes of the parameters about its rows and about its keys.
        sentence: an expression, what a screen reader says of the row `datum.place`; none if empty.
        beyond: pixels right of the cells that belong to the rows, too.
    """

    name: str
    title: str
    number: str
    scene: Scene
    values: NDArray
    shown: NDArray[np.bool_]
    reason: NDArray[np.uint8]
    attends: NDArray[np.bool_]
    scale: ColourScale
    rows: str = ""
    keys: str = ""
    sentence: str = ""
    beyond: int = 0

    @property
    def box(self) -> tuple[str, str, str, str]:
        """Names of the parameters that hold the map's left, top, width and height."""
        x, y, w, h = (f"{self.name}_{side}" for side in "xywh")
        return x, y, w, h

    @property
    def packed(self) -> list[str]:
        """The numbers, a text a row; see `packing`."""
        reason = np.where(self.attends[:, None], self.reason, packing.NOTHING)
        return packing.pack(packing.encode(self.values, reason))

    def is_masked_like(self, other: "Panel") -> bool:
        """Whether the masked cells of both look the same."""
        same = np.array_equal(self.reason, other.reason)
        return same and np.array_equal(self.attends, other.attends)
