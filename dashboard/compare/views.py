"""The two heads that are compared, for export."""

from typing import TYPE_CHECKING

from attnviz.progress import ignore_progress
from dashboard.session import backend
from dashboard.session.selection import SettledSelection

if TYPE_CHECKING:
    from attnviz.export import View


def compare(
    asks: tuple[backend.Ask, backend.Ask],
    a: SettledSelection,
    b: SettledSelection,
    of: str,
    names: tuple[str, str],
    *,
    link: str,
) -> "View":
    """The two heads that are compared. Of A only the head is kept while B is made."""
    from attnviz.export import compare_view
    from attnviz.export.provenance import of_capture

    heads, made = [], []
    for ask, side in zip(asks, (a, b), strict=True):
        capture = backend.get_capture(ask, ignore_progress)
        heads.append(capture.head(side.layer, side.head, side.stack))
        made.append(of_capture(capture))
        del capture
    return compare_view(
        heads[0],
        heads[1],
        (made[0], made[1]),
        query=a.query,
        other_query=b.query,
        of=of,
        weight_colour=a.weights,
        names=names,
        near=a.near,
        link=link,
    )
