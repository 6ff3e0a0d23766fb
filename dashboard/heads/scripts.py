"""Scripts of Heads."""

from typing import Any

from dashboard.session.script_body import filled


def repeated(stack: str, measure: str, title: str) -> str:
    where = "from attnviz.detectors import profile, repeated"
    return _grid(where, _REPEATED, stack=stack, measure=measure, title=title)


def surveyed(model: str, folder: str, stack: str, measure: str, title: str) -> str:
    """`folder` empty: the survey that comes with attnviz."""
    what = {"stack": stack, "measure": measure, "title": title}
    if folder:
        where = "from attnviz.survey import open_survey"
        return _grid(where, "found = open_survey(folder)\n" + _SURVEYED, folder=folder, **what)
    where = "from attnviz.survey.shipped import shipped"
    return _grid(where, "found = shipped(name)\n" + _SURVEYED, name=model, **what)


def effect(stack: str, query: int, title: str, most: float | None) -> str:
    """`most`: the largest number that there can be, where one is known."""
    where = "from attnviz.detectors import effect"
    return _grid(where, _EFFECT, stack=stack, query=query, title=title, most=most)


def _grid(where: str, body: str, **chosen: Any) -> str:
    return filled(f"import numpy as np\nimport pandas as pd\n{where}\n\n{body}{_GRID}", **chosen)


_REPEATED = """found = profile(repeated(model), stack, measures=[measure])
values, null, ceiling = found.values[measure], found.null(measure), found.ceilings[measure]
"""
_SURVEYED = """values, null, ceiling = (
    found.grid(measure, statistic, stack) for statistic in ("mean", "null", "ceiling")
)
"""
_EFFECT = """values = effect(model, capture, stack, query=query)
null = np.where(np.isnan(values), np.nan, 0)
ceiling = np.full(values.shape, np.nan if most is None else most)
"""
_GRID = """layers, heads = np.indices(values.shape)
table = pd.DataFrame({"Layer": layers.ravel(), "Head": heads.ravel(), title: values.ravel()})
table["Null"], table["Ceiling"] = null.ravel(), ceiling.ravel()
"""
