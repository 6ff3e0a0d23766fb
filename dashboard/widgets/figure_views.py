"""Views for export that pages share: a chart with its table, and the grid of all heads."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attnviz.detectors import HEAD_MEASURES
from attnviz.progress import ignore_progress
from dashboard.session import all_heads, backend
from dashboard.session.selection import SettledSelection

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.export import View
    from attnviz.interventions import Intervention


def place_of(selection: SettledSelection) -> dict[str, Any]:
    return {
        "layer": selection.layer,
        "head": selection.head,
        "stack": selection.stack,
        "query": selection.query,
    }


def view_figure(
    ask: backend.Ask,
    selection: SettledSelection,
    name: str,
    finding: str,
    chart: Any,
    table: "pd.DataFrame | None",
    change: "Intervention | None",
    others: Sequence[tuple[backend.Ask, SettledSelection]] = (),
    script: str = "",
    *,
    link: str,
) -> "View":
    """A chart of a page with its table; `change` is the what-if that it is about, `others` whose
    numbers are in it too, `script` the lines of Python that make the table."""
    from attnviz.export import table_view
    from attnviz.export.changes import as_data
    from attnviz.export.provenance import of_capture
    from attnviz.export.script import of_capture as script_of

    more = [
        of_capture(backend.get_capture(a, ignore_progress)) | {"place": place_of(s)}
        for a, s in others
    ]
    capture = backend.get_capture(ask, ignore_progress)
    changes = [] if change is None else [as_data(change)]
    about: dict[str, Any] = {
        "place": {"kind": "table", "figure": name, **place_of(selection)},
        "interventions": changes,
        **({"second": more[0]} if more else {}),
    }
    return table_view(
        table,
        None if chart is None else lambda: chart,
        title=f"{capture.info.name}, layer {selection.layer}, head {selection.head}: "
        + finding.split(":")[0].split(". ")[0],
        finding=finding,
        capture=capture,
        about=about,
        script=script_of(of_capture(capture) | about, script),
        stem=name.replace("_", "-"),
        link=link,
    )


def view_grid(ask: backend.Ask, selection: SettledSelection, *, link: str) -> "View":
    """All heads by the measure of the sidebar's grid, which looks at some rows of a long text."""
    from attnviz import charts
    from attnviz.export import heads_view

    capture = backend.get_capture(ask, ignore_progress)
    stack, name = selection.stack, selection.grid
    found, about = all_heads.measure_shares(ask, stack), HEAD_MEASURES[name]

    def chart() -> Any:
        return charts.grid(
            found.values[name],
            layer=selection.layer,
            head=selection.head,
            measure_title=about.title,
            low=0.0,  # the grid shows shares
            high=1.0,
        )

    rows = all_heads.ROWS
    return heads_view(capture, stack, measure=name, rows=rows, found=found, chart=chart, link=link)
