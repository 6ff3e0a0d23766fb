"""What of two heads is drawn side by side: rows, keys, numbers, masks and the scales they share."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.charts.describe import NOTHING, UNDEFINED, findings
from attnviz.charts.palettes import ramp
from attnviz.charts.panel import Panel
from attnviz.charts.scales import ColourScale, WeightColour, score_scale, short, weight_scale
from attnviz.charts.scene import Scene, nice_top, scene
from attnviz.heads.comparison import (
    difference,
    quantity,
    row_distances,
    same_keys,
    same_queries,
    why_apart,
)

if TYPE_CHECKING:
    from attnviz.heads.head import Head


WHOLE = 224  # tokens up to which a text is drawn whole: three maps of it fit beside each other
WINDOW = 192  # rows and keys drawn of a longer one


class Sides(NamedTuple):
    """What two heads are called, for themselves and behind a number; and their difference."""

    a: str
    b: str
    in_a: str
    in_b: str
    difference: str


A_AND_B = Sides("A", "B", "in A", "in B", "B \u2212 A")
BEFORE_AND_AFTER = Sides("Before", "After", "before", "after", "After minus before")


@dataclass(frozen=True, eq=False)
class Panels:
    """The maps of two heads, and what they have in common.

    Attributes:
        each: A, B, and the difference where there is one.
        linked: the rows of A and of B are the same tokens, and are in focus together.
        of: what is compared, a name in `attnviz.heads.comparison.QUANTITIES`.
        sides: what the two are called.
    """

    each: Sequence[Panel]
    linked: bool
    of: str
    sides: Sides = A_AND_B

    @property
    def apart(self) -> bool:
        """Whether there is no difference."""
        return len(self.each) == 2

    @cached_property
    def domain(self) -> tuple[float, float]:
        """The numbers that bars span: of all rows of both sides, so that they can be compared."""
        drawn = np.concatenate([p.values[p.shown] for p in self.each[:2]])
        drawn = drawn[np.isfinite(drawn)]
        below, above = drawn[drawn < 0], drawn[drawn > 0]
        low = -nice_top(below) if below.size else 0.0
        return low, nice_top(above) if above.size or not below.size else 0.0

    @cached_property
    def said(self) -> list[list[str]]:
        """What each drawn row of A and of B attends to most, in words."""
        said = [_said(p, name) for p, name in zip(self.each[:2], self.sides, strict=False)]
        if not self.apart:
            far = row_distances(*(panel.scene.part for panel in self.each[:2])).total_variation
            for place, total in enumerate(far.tolist()):
                if np.isfinite(total):
                    said[1][place] += f"  Total variation {short(total)}."
        return said

    @property
    def notes(self) -> list[str]:
        """What of the texts is not drawn; said once where it is the same for both."""
        notes = [panel.scene.note for panel in self.each[:2]]
        if notes[0] == notes[1]:
            return [notes[0]] if notes[0] else []
        names = zip(self.sides, notes, strict=False)
        return [f"{name}: {note}" for name, note in names if note]


def panels(
    a: "Head",
    b: "Head",
    *,
    query: int,
    other_query: int | None,
    of: str,
    colour: WeightColour,
    names: tuple[str, str] | None = None,
    near: int | None = None,
    changed: bool = False,
) -> Panels:
    """The maps of two heads; arguments as for `attnviz.charts.compared.compared`."""
    linked, alike = same_queries(a, b), same_keys(a, b)
    queries = (query, query if linked or other_query is None else other_query)
    scenes = _scenes((a, b), queries, near, together=linked or alike)
    values = [quantity(one.part, of)[:, one.keys] for one in scenes]
    scale = _shared(values, scenes, of, colour)
    sides = BEFORE_AND_AFTER if changed else A_AND_B
    apart = bool(why_apart(a, b))
    noun = {"weights": "weight", "scores": "score"}.get(of, "score below the row's largest")
    both = [
        Panel(
            letter,
            name,
            f"{noun} {where}",
            drawn,
            numbers,
            drawn.reason == 0,
            drawn.reason,
            drawn.attends,
            scale,
            rows="a_" if linked else f"{letter}_",
            keys=f"{letter}_" if apart else "a_",
            sentence=_sentence(letter, linked),
        )
        for letter, name, where, drawn, numbers in zip(
            "ab", names or sides[:2], (sides.in_a, sides.in_b), scenes, values, strict=True
        )
    ]
    if apart:
        return Panels(both, linked, of, sides)
    return Panels([*both, _difference(both, of, sides)], linked, of, sides)


def _scenes(
    heads: "tuple[Head, Head]", queries: tuple[int, int], near: int | None, *, together: bool
) -> list[Scene]:
    long = [max(head.allowed.shape) > WHOLE for head in heads]
    if together:  # the sides that they share are cut alike
        long = [any(long)] * 2
    return [
        scene(head, query=query, near=near, window=WINDOW if cut else 0)
        for head, query, cut in zip(heads, queries, long, strict=True)
    ]


def _shared(
    values: list[NDArray[np.float64]], scenes: list[Scene], of: str, colour: WeightColour
) -> ColourScale:
    """One scale for both sides."""
    drawn = np.concatenate([v.ravel() for v in values])
    if of == "weights":
        return weight_scale(drawn, np.concatenate([one.sink for one in scenes]), colour)
    return score_scale(drawn, None, "row" if of == "relative" else "zero")


def _difference(both: list[Panel], of: str, sides: Sides) -> Panel:
    a, b = both
    if sides is BEFORE_AND_AFTER and of == "weights":  # what the change hid has the weight 0 now
        values = np.where(a.shown, np.where(b.shown, b.values, 0) - a.values, -np.inf)
        reason = a.reason
    else:
        values = difference(a.scene.part, b.scene.part, of).values[:, a.scene.keys]
        reason = np.where(a.reason > 0, a.reason, b.reason)
    reach = nice_top(values[reason == 0])
    coloured = {"weights": "Difference of weights", "scores": "Difference of scores"}.get(
        of, "Difference, relative to the row's largest"
    )
    scale = ColourScale(
        coloured, "centred on 0", -reach, reach, 0, 1, ramp("signed"), (-reach, 0.0, reach)
    )
    return Panel(
        "d",
        sides.difference,
        sides.difference,
        a.scene,
        values,
        reason == 0,
        reason,
        a.attends & b.attends,
        scale,
        rows=a.rows,
        keys=a.keys,
    )


def _sentence(letter: str, linked: bool) -> str:
    """What a screen reader says of a row: in A of both heads where their rows are the same."""
    if not linked:
        return f"{letter}_said[datum.place]"
    return "a_said[datum.place]+' '+b_said[datum.place]" if letter == "a" else ""


def _said(panel: Panel, side: str) -> list[str]:
    drawn, said = panel.scene, []
    rows = zip(drawn.query_labels, drawn.rows.tolist(), findings(drawn), strict=True)
    for label, position, found in rows:
        name = f'{side}: "{label}" ({position})'
        if found == NOTHING:
            said.append(f"{name} attends to nothing.")
        elif found == UNDEFINED:
            said.append(f"{name} has undefined weights.")
        else:
            said.append(f"{name} attends most to {found}.")
    return said
