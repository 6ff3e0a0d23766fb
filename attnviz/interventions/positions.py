"""Positions that interventions name, as rows and columns of what is there."""

from collections.abc import Sequence

from attnviz.errors import BadInput


def local_rows(count: int, queries: Sequence[int] | None, offset: int = 0) -> list[int]:
    """The rows at these positions, out of `count` from position `offset` on; earlier positions
    have none.

    Raises:
        BadInput: the text has no such query.
    """
    if queries is None:
        return list(range(count))
    if any(not 0 <= query < count + offset for query in queries):
        raise BadInput(
            what=f"There is no query {max(queries)}.",
            why=f"This text has {count + offset} queries, counted from 0.",
            todo=f"Choose from 0 to {count + offset - 1}.",
        )
    return [query - offset for query in queries if query >= offset]


def check_keys(count: int, keys: Sequence[int]) -> None:
    """Raise BadInput where the text has no such key."""
    if any(not 0 <= key < count for key in keys):
        raise BadInput(
            what=f"There is no key {max(keys)}.",
            why=f"This text has {count} keys, counted from 0.",
            todo=f"Choose from 0 to {count - 1}.",
        )
