"""The view of all heads of a stack: every measure, with its null and its ceiling."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz import charts
from attnviz.detectors import HEAD_MEASURES, profile
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
        capture, stack: as for `attnviz.detectors.profile`; of a run, the heads as its
            interventions left them.
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
    capture = provenance.find_capture(capture)
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
    source = provenance.of_view(place, link, capture)
    return View(
        title=f"{capture.info.name}, {known.stack}: {cells} heads by their measures"
        + script.count_interventions(source),
        finding=finding or _describe_top(known, measure),
        axes=[Axis("layer", np.arange(layers)), Axis("head", np.arange(heads))],
        make_quantities=lambda: _make_quantities(known, kept),
        draw_chart=chart or (lambda: _draw_grid(known, measure)),
        source=source,
        script=script.of_heads(source),
        stem=naming.stem(capture.info.name, "heads"),
        table=known.table,
    )


def _make_quantities(known: "HeadProfile", kept: Sequence[str]) -> dict[str, Quantity]:
    both = ("layer", "head")
    quantities = {}
    for name in kept:
        measure = HEAD_MEASURES[name]
        unit = f"{measure.definition} Unit: {measure.unit}"
        quantities[name] = Quantity(known.values[name], both, unit)
        quantities[f"null_{name}"] = Quantity(known.null(name), both, measure.null)
        quantities[f"ceiling_{name}"] = Quantity(known.ceilings[name], both, measure.ceiling)
    return quantities


def _find_top(known: "HeadProfile", measure: str) -> tuple[int, int]:
    """(layer, head) of the most; of a measure that falls, such as entropy, of the least."""
    values = known.values[measure]
    order = -values if HEAD_MEASURES[measure].falls else values
    top = int(np.where(np.isfinite(values), order, -np.inf).argmax())
    return top // values.shape[1], top % values.shape[1]


def _describe_top(known: "HeadProfile", measure: str) -> str:
    about, values = HEAD_MEASURES[measure], known.values[measure]
    if not np.isfinite(values).any():
        return f"{about.title}: no head has a number on this text."
    layer, head = _find_top(known, measure)
    most = "least" if about.falls else "most"
    return (
        f"{about.title}: layer {layer}, head {head} has the {most}, {values[layer, head]:.3g} "
        f"(null {known.null(measure)[layer, head]:.3g})."
    )


def _draw_grid(known: "HeadProfile", measure: str) -> Any:
    values, about = known.values[measure], HEAD_MEASURES[measure]
    layer, head = _find_top(known, measure)
    top = np.nanmax(np.where(np.isfinite(known.ceilings[measure]), known.ceilings[measure], np.nan))
    largest = float(np.nanmax(values)) if np.isfinite(values).any() else 1.0
    return charts.grid(
        values,
        layer=layer,
        head=head,
        measure_title=f"{about.title}, {about.unit}",
        low=0.0,
        high=1.0 if 0 < top <= 1 else largest or 1.0,
        height=560,
        tallest=30,
        width=460,
    )
