"""A long text in a file: its overview, one row of it, and all heads over some rows."""

import numpy as np
import pytest

import attnviz
from attnviz import export
from attnviz.detectors import head_grid
from attnviz.errors import BadInput
from attnviz.heads.overview import overview
from attnviz.interventions import Temper
from tests.export.test_round_trip import reopened

LONG = ("red fox ran home " * 100).strip()
WHATIFS = [Temper(1, 0, temperature=3.0)]


@pytest.fixture(scope="module")
def long():
    return attnviz.capture(attnviz.load("planted-circuit"), LONG)


def views(of):
    return {
        "overview": export.overview_view(of, 1, 0, query=390, near=30),
        "row": export.row_view(of, 1, 0, query=390),
        "heads": export.heads_view(of, measure="focus", measures=["focus"], rows=16),
    }


def run(script):
    names = {}
    exec(compile(script, "script", "exec"), names)
    return names


@pytest.mark.parametrize("kind", ["npz", "csv", "parquet", "json", "html"])
@pytest.mark.parametrize("name", ["overview", "row", "heads"])
def test_it_comes_back_and_is_made_again_in_every_bit(name, kind, long, tmp_path):
    view = views(long)[name]
    saved, _ = reopened(view, kind, tmp_path)
    assert saved.again().identical


@pytest.mark.parametrize("name", ["overview", "row", "heads"])
def test_what_if_and_script_go_along(name, long):
    done = attnviz.run(attnviz.load("planted-circuit"), LONG, interventions=WHATIFS)
    plain, view = views(long)[name], views(done)[name]
    array = {"overview": "largest_weight", "row": "weights", "heads": "focus"}[name]
    assert not np.array_equal(view.arrays[array], plain.arrays[array], equal_nan=True)
    assert "with 1 what-if" in view.title
    names = run(view.script)
    found = names["values"]["focus"] if name == "heads" else names["weights"]
    assert np.array_equal(found, view.arrays[array], equal_nan=True)
    if name != "heads":
        assert names["chart"].to_dict() == view.chart.to_dict()
        assert b"<svg" in view.data("svg")


def test_they_hold_the_numbers_of_the_library(long):
    found = views(long)
    assert np.array_equal(
        found["overview"].arrays["largest_weight"],
        overview(long.head(1, 0)).weights,
        equal_nan=True,
    )
    assert np.array_equal(found["row"].arrays["weights"], long.head(1, 0).rows(390, 391).weights)
    assert found["overview"].arrays["query_places"].tolist() == list(range(0, 401, 4))
    grid = head_grid(long, "focus", rows=16)
    assert np.array_equal(found["heads"].arrays["focus"], grid, equal_nan=True)
    whole = export.heads_view(long, measure="focus", measures=["focus"])
    assert not np.array_equal(whole.arrays["focus"], grid, equal_nan=True)


def test_a_row_that_is_not_there_is_refused(long):
    with pytest.raises(BadInput, match="no row 401"):
        export.row_view(long, 1, 0, query=401)
