"""Views of tables and of matrices: what has numbers, and was not read off a head."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnviz.export import naming, provenance
from attnviz.export.view import Axis, Quantity, View
from attnviz.matrix_check.matrix_picture import draw_matrix

if TYPE_CHECKING:
    from attnviz.capture import Capture

MOST_WRITTEN = 4_096  # cells of a matrix that a script holds as numbers


def table_view(
    table: pd.DataFrame | None,
    chart: Callable[[], Any] | None = None,
    *,
    title: str,
    finding: str,
    capture: "Capture | None" = None,
    about: Mapping[str, Any] | None = None,
    script: str = "",
    stem: str = "table",
    link: str = "",
) -> View:
    """A picture with the table of its numbers, as a page shows them together.

    Its arrays are the table's columns of numbers, (row,) each; columns of text are beside the row
    in every table.

    Args:
        table: a row a thing that is drawn; None for a picture without numbers.
        chart: makes the picture; None for numbers without a picture.
        title, finding: what is shown, and what is to be seen in it.
        capture: what it was measured on.
        about: more of where the numbers come from: place, interventions.
        script: Python that leads to them.
        stem: of the file's name.
        link: an address that shows the same.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"Key": ["0 the", "1 the"], "Weight": [0.75, 0.25]})
    >>> table_view(table, title="A row", finding="").arrays["Weight"].tolist()
    [0.75, 0.25]
    """
    rows = pd.DataFrame() if table is None else table
    columns = {str(name): column for name, column in rows.items()}
    values = {name: column.to_numpy() for name, column in columns.items()}
    numbers = {name: array for name, array in values.items() if array.dtype.kind in "iufb"}
    texts = {n: column.astype(str).tolist() for n, column in columns.items() if n not in numbers}
    return View(
        title=title,
        finding=finding,
        axes=[Axis("row", np.arange(len(rows)), texts)],
        make_quantities=lambda: {n: Quantity(array, ("row",)) for n, array in numbers.items()},
        draw_chart=chart,
        source=provenance.of_view({"kind": "table"}, link, capture) | dict(about or {}),
        script=script,
        stem=naming.stem(stem),
        table=None if table is None else (lambda: rows),
    )


def matrix_view(
    matrix: NDArray,
    other: NDArray | None = None,
    *,
    verdict: str = "",
    stem: str = "matrix",
    link: str = "",
) -> View:
    """A matrix that somebody gave, as `attnviz.check_matrix` looks at it: "matrix", and "second"
    where there are two of one shape, each (row, column).

    >>> matrix_view(np.eye(2), verdict="weights").arrays["matrix"].shape
    (2, 2)
    """
    rows, columns = matrix.shape
    pair = other is not None and other.shape == matrix.shape
    unit = "as given; no unit is known"
    quantities = {"matrix": Quantity(np.asarray(matrix), ("row", "column"), unit)}
    if pair:
        quantities["second"] = Quantity(np.asarray(other), ("row", "column"), unit)
    return View(
        title=f"A matrix of {rows:,} rows and {columns:,} columns",
        finding=verdict,
        axes=[Axis("row", np.arange(rows)), Axis("column", np.arange(columns))],
        make_quantities=lambda: quantities,
        draw_chart=lambda: draw_matrix(matrix),
        source=provenance.of_view({"kind": "matrix", "verdict": verdict}, link),
        script=_write_script(matrix, other if pair else None),
        stem=naming.stem(stem),
    )


def _write_script(matrix: NDArray, other: NDArray | None) -> str:
    """Python that gives the verdict again; of a large matrix, from the same view saved as NPZ."""
    names = {"matrix": matrix} | ({} if other is None else {"second": other})
    lines = ["import numpy as np", "", "import attnviz", ""]
    if matrix.size <= MOST_WRITTEN:
        lines.append("nan, inf = np.nan, np.inf")
        lines += [f"{name} = np.array({values.tolist()!r})" for name, values in names.items()]
    else:
        lines.append('file = np.load("matrix.npz")  # the same view, saved as NPZ')
        lines += [f'{name} = file["{name}"]' for name in names]
    lines += [f"verdict = attnviz.check_matrix({', '.join(names)})", "print(verdict.as_text())"]
    return "\n".join(lines) + "\n"
