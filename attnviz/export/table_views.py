"""Views of tables and of matrices: what has numbers, and was not read off a head."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnviz.export import naming, provenance
from attnviz.export.view import Axis, Quantity, View

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.capture import Capture

MOST_WRITTEN = 4_096  # cells of a matrix that a script holds as numbers


def table_view(
    table: "pd.DataFrame | None",
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
        about: more of where the numbers come from: place, what-ifs, the address of the page.
        script: Python that leads to them.
        stem: of the file's name.
        link: an address that shows the same.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"Key": ["0 the", "1 the"], "Weight": [0.75, 0.25]})
    >>> table_view(table, title="A row", finding="").arrays["Weight"].tolist()
    [0.75, 0.25]
    """
    import pandas as pd

    rows = pd.DataFrame() if table is None else table
    texts = {name: rows[name].astype(str).tolist() for name in rows if _is_text(rows[name])}
    numbers = {str(n): rows[n].to_numpy() for n in rows.columns if n not in texts}
    source = {"versions": provenance.versions()} if capture is None else {}
    source |= provenance.of_capture(capture) if capture is not None else {}
    source |= {"place": {"kind": "table"}, **(about or {})} | ({"link": link} if link else {})
    return View(
        title=title,
        finding=finding,
        axes=[Axis("row", np.arange(len(rows)), {str(k): v for k, v in texts.items()})],
        made=lambda: {name: Quantity(values, ("row",)) for name, values in numbers.items()},
        drawn=chart or (lambda: None),
        source=source,
        script=script,
        stem=naming.stem(stem),
        table=None if table is None else (lambda: rows),
        pictured=chart is not None,
    )


def _is_text(column: Any) -> bool:
    return column.dtype.kind not in "iufb"


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
    place = {"kind": "matrix", "verdict": verdict}
    source = {"place": place, "versions": provenance.versions()} | ({"link": link} if link else {})
    return View(
        title=f"A matrix of {rows:,} rows and {columns:,} columns",
        finding=verdict,
        axes=[Axis("row", np.arange(rows)), Axis("column", np.arange(columns))],
        made=lambda: quantities,
        drawn=lambda: _picture(matrix),
        source=source,
        script=_script(matrix, other if pair else None),
        stem=naming.stem(stem),
        table=None,
    )


def _picture(matrix: NDArray) -> Any:
    from attnviz.matrix_check.matrix_picture import draw_matrix

    return draw_matrix(matrix)


def _script(matrix: NDArray, other: NDArray | None) -> str:
    lines = ["import numpy as np", "", "import attnviz", ""]
    if matrix.size <= MOST_WRITTEN:
        lines += ["nan, inf = np.nan, np.inf", f"matrix = np.array({matrix.tolist()!r})"]
        if other is not None:
            lines.append(f"second = np.array({other.tolist()!r})")
    else:
        lines.append('file = np.load("matrix.npz")  # the same view, saved as NPZ')
        lines.append('matrix = file["matrix"]')
        if other is not None:
            lines.append('second = file["second"]')
    given = "matrix" if other is None else "matrix, second"
    lines += [f"verdict = attnviz.check_matrix({given})", "print(verdict.as_text())"]
    return "\n".join(lines) + "\n"
