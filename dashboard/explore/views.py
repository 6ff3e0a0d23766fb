"""What Explore shows, for export: made from names and numbers alone, with nothing kept."""

from typing import TYPE_CHECKING, Any

from attnviz.progress import ignore_progress
from dashboard.session import backend
from dashboard.session.selection import SettledSelection
from dashboard.widgets.figure_views import place_of

if TYPE_CHECKING:
    from attnviz.export import View


def view_head(ask: backend.Ask, selection: SettledSelection, *, link: str) -> "View":
    """The head and the row that Explore shows."""
    from attnviz.export import head_view

    capture = backend.get_capture(ask, ignore_progress)
    return head_view(capture, **place_of(selection), link=link, **_looks(selection))


def _looks(selection: SettledSelection) -> dict[str, Any]:
    return {
        "stage": None if selection.stage == "softmax" else selection.stage,
        "measure": selection.by,
        "near": selection.near,
        "score_colour": selection.scores,
        "weight_colour": selection.weights,
        "order": selection.order,
    }


def view_overview(ask: backend.Ask, selection: SettledSelection, near: int, *, link: str) -> "View":
    """The whole head of a long text from afar."""
    from attnviz.export import overview_view

    capture = backend.get_capture(ask, ignore_progress)
    at = place_of(selection)
    found = backend.get_overview(ask, at["stack"], at["layer"], at["head"], lambda share: None)
    return overview_view(capture, **at, near=near, found=found, link=link)


def view_row(ask: backend.Ask, selection: SettledSelection, *, link: str) -> "View":
    """The row that is read, on all keys of a long text."""
    from attnviz.export import row_view

    return row_view(backend.get_capture(ask, ignore_progress), **place_of(selection), link=link)
