"""Shipped: finished surveys that come with the package."""

from pathlib import Path

from attnviz.survey.survey_tables import TABLES, Survey, open_survey

_HOME = Path(__file__).parent / "data"
"""A folder a model of the catalog. Made by, for each of them:

    python -m attnviz survey smollm2-135m probes --out attnviz/survey/data/smollm2-135m
    rm -r attnviz/survey/data/smollm2-135m/parts
"""


def shipped(model: str) -> Survey | None:
    """The survey of a catalog model over the probe texts; None where none was shipped.

    >>> shipped("smollm2-135m").texts
    200
    """
    return open_survey(_HOME / model) if is_shipped(model) else None


def is_shipped(model: str) -> bool:
    """Whether there is one, without opening it."""
    return all((_HOME / model / f"{name}.parquet").is_file() for name in TABLES)
