"""The view of two heads side by side, with their difference where there is one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz.charts.compared import compared
from attnviz.charts.compared_panels import Panel, Panels, panels
from attnviz.charts.describe_compared import describe_compared
from attnviz.export import naming, script
from attnviz.export.view import REASON, WHY_MASKED, Axis, Quantity, View
from attnviz.heads.compared_row import rows_of
from attnviz.heads.comparison import QUANTITIES

if TYPE_CHECKING:
    from attnviz.heads.head import Head


def compare_view(
    a: "Head",
    b: "Head",
    made: tuple[Mapping[str, Any], Mapping[str, Any]],
    *,
    query: int,
    other_query: int | None = None,
    of: str = "weights",
    weight_colour: str = "unit",
    names: tuple[str, str] = ("A", "B"),
    near: int | None = None,
    link: str = "",
) -> View:
    """Two heads as `attnviz.charts.compared.compared` draws them; arguments as there.

    Where both axes are the same tokens, its arrays are (query, key) float32: "a" and "b", -inf
    where masked, "difference", which is B minus A, -inf where either side is masked, and
    "mask_reason". Where they are not, a row a cell: "query" and "key", its place, "value", -inf
    where masked, and "mask_reason", (cell,) each; the tables say which side a cell is of. Of long
    texts the arrays are of the windows that are drawn.

    Args:
        made: where each head comes from: `attnviz.export.provenance.of_capture` of its capture.

    >>> import attnviz
    >>> from attnviz.export.provenance import of_capture
    >>> capture = attnviz.capture(attnviz.load("planted-circuit"), "red fox red fox")
    >>> made = (of_capture(capture), of_capture(capture))
    >>> view = compare_view(capture.head(1, 0), capture.head(0, 1), made, query=4)
    >>> sorted(view.quantities), view.arrays["difference"].shape
    (['a', 'b', 'difference', 'mask_reason'], (5, 5))
    """
    drawn = panels(
        a,
        b,
        query=query,
        other_query=other_query,
        of=of,
        colour=weight_colour,  # type: ignore[arg-type]
        names=names,
        near=near,
    )
    rows = {"query": query, "other_query": query if other_query is None else other_query}
    options: dict[str, Any] = {
        **rows,
        "of": of,
        "weight_colour": weight_colour,
        "names": names,
        "near": near,
    }
    place: dict[str, Any] = {"kind": "two heads", "a": _describe_place(a), "b": _describe_place(b)}
    place |= {**options, "names": list(names)}
    source = {**made[0], "place": place, "second": dict(made[1])}
    source |= {"link": link} if link else {}
    return View(
        title=_write_title(drawn, made),
        finding=describe_compared(a, b, of=of, **rows),
        axes=[_cell_axis(drawn)] if drawn.apart else _pair_axes(drawn),
        make_quantities=lambda: _list_cells(drawn) if drawn.apart else _subtract_cells(drawn),
        draw_chart=lambda: compared(a, b, **options),
        source=source,
        script=script.of_two_heads(source, apart=drawn.apart),
        stem=naming.stem(made[0]["model"]["name"], "compare", _abbreviate(a), _abbreviate(b)),
        table=lambda: rows_of(a, b, rows["query"], rows["other_query"], of),
        flexible=True,
    )


def _describe_place(head: "Head") -> dict[str, Any]:
    return {"layer": head.layer, "head": head.head, "stack": head.stack}


def _abbreviate(head: "Head") -> str:
    return f"L{head.layer}H{head.head}"


def _write_title(drawn: Panels, made: tuple[Mapping[str, Any], Mapping[str, Any]]) -> str:
    models = list(dict.fromkeys(side["model"]["name"] for side in made))
    notes = "".join(f", {note}" for note in drawn.notes)
    sides = [f"layer {p.scene.head.layer}, head {p.scene.head.head}" for p in drawn.each[:2]]
    return f"{' and '.join(models)}: {' beside '.join(sides)}, {drawn.of}{notes}"


def _pair_axes(drawn: Panels) -> list[Axis]:
    scene = drawn.each[0].scene
    sides = (("query", scene.rows, scene.query_labels), ("key", scene.keys, scene.key_labels))
    return [Axis(name, places, {f"{name}_label": labels}) for name, places, labels in sides]


def _subtract_cells(drawn: Panels) -> dict[str, Quantity]:
    both, unit = ("query", "key"), QUANTITIES[drawn.of]
    a, b, d = drawn.each
    return {
        "a": Quantity(_hide_masked(a), both, f"{unit}; of A, -inf where masked"),
        "b": Quantity(_hide_masked(b), both, f"{unit}; of B, -inf where masked"),
        "difference": Quantity(_hide_masked(d), both, f"B minus A of {unit}", masked=True),
        REASON: Quantity(d.reason, both, f"{WHY_MASKED}; of either side"),
    }


def _hide_masked(panel: Panel) -> Any:
    """(row, key) float32, -inf where masked."""
    return np.where(panel.shown, panel.values, -np.inf).astype(np.float32)


def _cell_axis(drawn: Panels) -> Axis:
    """A row a cell of either side."""
    columns: dict[str, list[str]] = {"side": [], "query_label": [], "key_label": []}
    for name, panel in zip("AB", drawn.each, strict=True):
        rows, keys = panel.scene.query_labels, panel.scene.key_labels
        columns["side"] += [name] * (len(rows) * len(keys))
        columns["query_label"] += [label for label in rows for _ in keys]
        columns["key_label"] += keys * len(rows)
    return Axis("cell", np.arange(len(columns["side"])), columns)


def _list_cells(drawn: Panels) -> dict[str, Quantity]:
    scenes, one = [panel.scene for panel in drawn.each], ("cell",)
    places = [np.meshgrid(scene.rows, scene.keys, indexing="ij") for scene in scenes]
    unit = QUANTITIES[drawn.of]

    def flat(arrays: Any) -> Any:
        return np.concatenate([array.ravel() for array in arrays])

    return {
        "query": Quantity(flat(rows for rows, _ in places), one, "position, from 0"),
        "key": Quantity(flat(keys for _, keys in places), one, "position, from 0"),
        "value": Quantity(
            flat(_hide_masked(panel) for panel in drawn.each), one, unit, masked=True
        ),
        REASON: Quantity(flat(panel.reason for panel in drawn.each), one, WHY_MASKED),
    }
