"""Parquet: the package that reads and writes it, which the library can do without."""

from typing import Any

from attnviz.errors import AttnvizError


def arrow() -> tuple[Any, Any]:
    """(pyarrow, pyarrow.parquet).

    Raises:
        AttnvizError: it is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise AttnvizError(
            what="Parquet cannot be written or read here.",
            why="It takes the package pyarrow, which is not installed.",
            todo="Install it with pip, or use CSV or NPZ, which hold the same numbers.",
        ) from error
    return pyarrow, parquet
