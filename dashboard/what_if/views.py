"""The head as an intervention left it, for export."""

from typing import TYPE_CHECKING

from attnviz.progress import ignore_progress
from dashboard.session import backend
from dashboard.session.outcome import make_outcome
from dashboard.session.selection import SettledSelection
from dashboard.widgets.figure_views import place_of

if TYPE_CHECKING:
    from attnviz.export import View
    from attnviz.interventions import Intervention


def what_if(
    ask: backend.Ask, selection: SettledSelection, change: "Intervention", *, link: str
) -> "View":
    """The head as a what-if left it, with its numbers before."""
    from attnviz.export import head_view

    before = backend.get_capture(ask, ignore_progress)
    found = make_outcome(ask, change, selection)
    return head_view(
        found.after,
        **place_of(selection),
        interventions=[change],
        baseline=before,
        link=link,
    )
