"""Scripts of Compare."""

from dashboard.session.script_body import filled


def added_by_two(queries: tuple[int, int], measure: str) -> str:
    return filled(_ADDED_BY_TWO, queries=queries, measure=measure)


_ADDED_BY_TWO = """
import numpy as np
import pandas as pd

a, b = (
    np.where(one.allowed[query], one.contribution_matrix(measure)[query], np.nan)
    for one, query in zip((head, other), queries)
)
seen = np.isfinite(a) | np.isfinite(b)
table = pd.DataFrame({"A": a[seen], "B": b[seen]})
table["B \u2212 A"] = table["B"] - table["A"]
"""


def added_by_one(name: str, query: int, measure: str) -> str:
    return filled(_ADDED_BY_ONE, name=name, query=query, measure=measure)


_ADDED_BY_ONE = """
import numpy as np
import pandas as pd

row = np.where(head.allowed[query], head.contribution_matrix(measure)[query], np.nan)
table = pd.DataFrame({name: row[np.isfinite(row)]})
"""
