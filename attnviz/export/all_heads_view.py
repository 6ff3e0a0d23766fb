"""The view of all heads of a stack: every measure, with its null and its ceiling."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz.errors import BadInput
from attnviz.export import naming, provenance, script
from attnviz.export.view import Axis, Quantity, View

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.detectors import HeadProfile
    from attnviz.interventions import Run


def heads_view(
    capture: "Capture | Run",
    stack: str | None = None,
    *,
    measure: str = "induction",
    measures: Collection[str] = (),
    rows: int | None = None,
    found: "HeadProfile | None" = None,
    chart: Any = None,
    finding: str = "",
    link: str = "",
) -> View:
    """Every head of a stack by its measures, see `attnviz.detectors.profile`.

    Its arrays, each (layer, head) float32, NaN where there is no number: every measure by its
    name, and `null_` and `ceiling_` with the name behind it.

    Args:
        capture, stack: as for `attnviz.detectors.profile`; of a run with what-ifs, the heads as
            they left them.
        measure: the one that is drawn.
        measures: those that are kept; all of them by default.
        rows: look at no more query rows than this, as `attnviz.detectors.profile` does.
        found: the profile, where it was made before.
        chart: a function that makes the picture; by default the grid of `measure`.
        finding: what it shows; by default which head has the most.
        link: an address that shows the same.

    Raises:
        BadInput: no such stack or measure.

    >>> import attnviz
    >>> capture = attnviz.capture(attnviz.load("planted-circuit"), "red fox red fox")
    >>> heads_view(capture, measures=["induction"]).arrays["induction"].shape
    (2, 3)
    """
    from attnviz.detectors import HEAD_MEASURES, profile
    from attnviz.interventions import Run

    capture = capture.capture if isinstance(capture, Run) else capture
    kept = list(measures or (found.values if found is not None else HEAD_MEASURES))
    missing = [] if found is None else [name for name in kept if name not in found.values]
    if missing:
        raise BadInput(
            what=f"The profile does not have {', '.join(missing)}.",
            why=f"It was made with {', '.join(found.values) if found is not None else ''}.",
            todo="Choose from these, or leave the profile out.",
        )
    if measure not in kept:
        raise BadInput(
            what=f"There is no measure {measure!r} in this view.",
            todo=f"Choose one of {', '.join(kept)}.",
        )
    known = found or profile(capture, stack, measures=kept, rows=rows)
    layers, heads = known.values[measure].shape
    cells = int(sum(block.heads for block in capture.blocks if block.stack == known.stack))
    place: dict[str, Any] = {"kind": "heads", "stack": known.stack, "measure": measure}
    place |= {"measures": kept} | ({"rows": rows} if rows else {})
    source = provenance.of_capture(capture) | {"place": place} | ({"link": link} if link else {})
    return View(
        title=f"{capture.info.name}, {known.stack}: {cells} heads by their measures"
        + script.what_ifs(source),
        finding=finding or _finding(known, measure),
        axes=[Axis("layer", np.arange(layers)), Axis("head", np.arange(heads))],
        made=lambda: _quantities(known, kept),
        drawn=chart or (lambda: _grid(known, measure)),
        source=source,
        script=script.of_heads(source),
        stem=naming.stem(capture.info.name, "heads"),
        table=known.table,
        flexible=False,
    )


def _quantities(known: "HeadProfile", kept: Sequence[str]) -> dict[str, Quantity]:
    from attnviz.detectors import HEAD_MEASURES

    both = ("layer", "head")
    quantities = {}
    for name in kept:
        measure = HEAD_MEASURES[name]
        unit = f"{measure.definition} Unit: {measure.unit}"
        quantities[name] = Quantity(known.values[name], both, unit)
        quantities[f"null_{name}"] = Quantity(known.null(name), both, measure.null)
        quantities[f"ceiling_{name}"] = Quantity(known.ceilings[name], both, measure.ceiling)
    return quantities


def _finding(known: "HeadProfile", measure: str) -> str:
    from attnviz.detectors import HEAD_MEASURES

    about, values = HEAD_MEASURES[measure], known.values[measure]
    if not np.isfinite(values).any():
        return f"{about.title}: no head has a number on this text."
    order = -values if about.falls else values
    layer, head = np.unravel_index(int(np.nanargmax(order)), values.shape)
    most = "least" if about.falls else "most"
    return (
        f"{about.title}: layer {layer}, head {head} has the {most}, {values[layer, head]:.3g} "
        f"(null {known.null(measure)[layer, head]:.3g})."
    )


def _grid(known: "HeadProfile", measure: str) -> Any:
    from attnviz import charts
    from attnviz.detectors import HEAD_MEASURES

    values = known.values[measure]
    about = HEAD_MEASURES[measure]
    order = np.where(np.isfinite(values), -values if about.falls else values, -np.inf)
    layer, head = np.unravel_index(int(order.argmax()), values.shape)
    top = np.nanmax(np.where(np.isfinite(known.ceilings[measure]), known.ceilings[measure], np.nan))
    largest = float(np.nanmax(values)) if np.isfinite(values).any() else 1.0
    return charts.grid(
        values,
        layer=int(layer),
        head=int(head),
        measure_title=f"{about.title}, {about.unit}",
        low=0.0,
        high=1.0 if 0 < top <= 1 else largest or 1.0,
        height=560,
        tallest=30,
        width=460,
    )
