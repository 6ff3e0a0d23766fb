"""Views of a long text: a whole head in blocks of cells, and one row on all of its keys."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from attnviz.charts.overview_chart import overview_map
from attnviz.charts.row_profile import row_profile
from attnviz.errors import BadInput
from attnviz.export import naming, provenance, script
from attnviz.export.one_head_view import head_view, token_axis
from attnviz.export.view import Quantity, View
from attnviz.heads.overview import overview

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.heads.overview import Overview
    from attnviz.interventions import Run

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
    capture = provenance.find_capture(of)
    one = capture.head(layer, head, stack)
    known = overview(one) if found is None else found
    place = {"kind": "overview", "stack": one.stack, "layer": layer, "head": head}
    place |= {"query": query, "near": near, "step": known.step}
    place |= {"of_rows": known.queries, "of_keys": known.keys}
    source = provenance.of_view(place, link, capture)
    rows, keys = (np.arange(0, count, known.step) for count in (known.queries, known.keys))
    return View(
        title=f"{capture.info.name}, {one.stack} layer {layer}, head {head} in blocks of "
        f"{known.step} x {known.step} cells" + script.count_interventions(source),
        finding=finding or _describe_largest(known),
        axes=[
            token_axis("query", rows, one.query_tokens, ["label"]),
            token_axis("key", keys, one.key_tokens, ["label"]),
        ],
        make_quantities=lambda: {
            "largest_weight": Quantity(known.weights, ("query", "key"), _LARGEST)
        },
        draw_chart=lambda: overview_map(known, query=query, near=near),
        source=source,
        script=script.of_overview(source),
        stem=naming.stem(capture.info.name, f"L{layer}H{head}", "overview"),
    )


def _describe_largest(known: "Overview") -> str:
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
    capture = provenance.find_capture(of)
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
        f"{keys:,} keys" + script.count_interventions(source),
        finding=finding or view.finding,
        draw_chart=lambda: row_profile(row),
        source=source,
        script=script.of_head(source),
        stem=naming.stem(capture.info.name, f"L{layer}H{head}", f"row-{query}"),
        flexible=False,
    )
