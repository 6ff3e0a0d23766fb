"""The matrix that is checked, for export."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnviz.export import View


def view_matrix(first: Any, second: Any, *, link: str) -> "View":
    """The matrix that is checked, with its verdict."""
    from attnviz import check_matrix
    from attnviz.export import matrix_view

    return matrix_view(first, second, verdict=check_matrix(first, second).verdict, link=link)
