"""Views of a long text: a whole head in blocks of cells, and one row on all of its keys."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz.errors import BadInput
from attnviz.export import naming, provenance, script
from attnviz.export.one_head_view import head_view
from attnviz.export.view import Axis, Quantity, View
from attnviz.interventions import Run

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.heads.overview import Overview

_LARGEST = "probability, 0 to 1: the largest weight among the block's cells; NaN: all are masked"


def overview_view(
    of: "Capture | Run",
    layer: int,
    head: int,
    stack: str | None = None,
    *,
    query: int = 0,
    near: int = 0,
    found: "Overview | None" = None,
    finding: str = "",
    link: str = "",
) -> View:
    """A whole head at a glance, as `attnviz.heads.overview` has it and `overview_map` draws it.

    Its one array is "largest_weight", (query, key) float32: a cell is a block of the head, and its
    places are the first query and the first key of the block. NaN where all of a block is masked.

    Args:
        of: from `attnviz.capture` or `attnviz.run`.
        layer, head, stack: as for `Capture.head`.
        query, near: where the frame stands in the picture.
        found: the overview, where it was made before.
        finding: what it shows; by default the largest weight of all.
        link: an address that shows the same.

    >>> import attnviz
    >>> text = " ".join(["red fox ran home"] * 60)
    >>> capture = attnviz.capture(attnviz.load("planted-circuit"), text)
    >>> overview_view(capture, layer=1, head=0).arrays["largest_weight"].shape
    (121, 121)
    """
    from attnviz.heads.overview import overview

    capture = of.capture if isinstance(of, Run) else of
    one = capture.head(layer, head, stack)
    known = overview(one) if found is None else found
    place = {"kind": "overview", "stack": one.stack, "layer": layer, "head": head}
    place |= {"query": query, "near": near, "step": known.step}
    place |= {"of_rows": known.queries, "of_keys": known.keys}
    source = provenance.of_capture(capture) | {"place": place} | ({"link": link} if link else {})
    first = [np.arange(0, count, known.step) for count in (known.queries, known.keys)]
    return View(
        title=f"{capture.info.name}, {one.stack} layer {layer}, head {head} in blocks of "
        f"{known.step} x {known.step} cells" + script.what_ifs(source),
        finding=finding or _finding(known),
        axes=[
            Axis(name, places, {f"{name}_label": [tokens[at].label for at in places.tolist()]})
            for name, places, tokens in zip(
                ("query", "key"), first, (one.query_tokens, one.key_tokens), strict=True
            )
        ],
        made=lambda: {"largest_weight": Quantity(known.weights, ("query", "key"), _LARGEST)},
        drawn=_picture(known, query, near),
        source=source,
        script=script.of_overview(source),
        stem=naming.stem(capture.info.name, f"L{layer}H{head}", "overview"),
    )


def _picture(known: "Overview", query: int, near: int) -> Callable[[], Any]:
    from attnviz.charts.overview_chart import overview_map

    return lambda: overview_map(known, query=query, near=near)


def _finding(known: "Overview") -> str:
    if not known.cells:
        return f"The largest weight in each block of {known.step} x {known.step} cells."
    cell = known.cells[0]
    return (
        f"The largest weight off the first key is {cell.weight:.3f}, from position {cell.query} to "
        f"position {cell.key}."
    )


def row_view(
    of: "Capture | Run",
    layer: int,
    head: int,
    stack: str | None = None,
    *,
    query: int,
    finding: str = "",
    link: str = "",
) -> View:
    """One row of a head on all keys, whatever the text's length, as `row_profile` draws it.

    Its arrays are those of `attnviz.export.head_view`, of that one row.

    >>> import attnviz
    >>> capture = attnviz.capture(attnviz.load("planted-circuit"), "red fox red fox")
    >>> row_view(capture, layer=1, head=0, query=4).arrays["weights"].shape
    (1, 5)
    """
    from attnviz.charts.row_profile import row_profile

    capture = of.capture if isinstance(of, Run) else of
    one = capture.head(layer, head, stack)
    count, keys = one.allowed.shape
    if not 0 <= query < count:
        raise BadInput(
            what=f"There is no row {query}.",
            why=f"They run from 0 to {count - 1}.",
            todo="Choose one of these.",
        )
    row = one.rows(query, query + 1)
    view = head_view(of, layer, head, stack, query=query, places=([query], range(keys)), link=link)
    source = {**view.source, "place": {**view.source["place"], "picture": "row profile"}}
    return replace(
        view,
        title=f"{capture.info.name}, {one.stack} layer {layer}, head {head}: row {query} on all "
        f"{keys:,} keys" + script.what_ifs(source),
        finding=finding or view.finding,
        drawn=lambda: row_profile(row),
        source=source,
        script=script.of_head(source),
        stem=naming.stem(capture.info.name, f"L{layer}H{head}", f"row-{query}"),
        flexible=False,
    )
