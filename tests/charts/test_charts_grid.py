import numpy as np
import pytest

from attnviz import charts
from attnviz.charts.palettes import ACCENT
from tests.charts.heads import Read


def grid(values, **options):
    defaults = {"layer": 0, "head": 0, "measure_title": "Focus", "low": 0, "high": 1}
    return Read(charts.grid(np.asarray(values, float), **(defaults | options)))


@pytest.mark.parametrize("shape", [(30, 9), (48, 64), (1, 1), (6, 12)])
def test_a_cell_a_head_within_330_pixels(shape):
    read = grid(np.full(shape, 0.5))
    assert len(read.params["cell_values"]) == shape[0] * shape[1]
    cells = next(unit for unit in read.units if unit.get("name") == "heads")
    assert cells["data"]["sequence"] == {"start": 0, "stop": shape[0] * shape[1], "as": "i"}
    frame = read.units[0]["encoding"]["y2"]["value"]["expr"]
    assert eval(frame) <= 330  # an expression of plain numbers


def test_a_layer_without_attention_says_so():
    read = grid([[0.25, 0.5], [np.nan, np.nan]])
    assert read.params["cell_values"] == [0.25, 0.5, None, None]
    assert read.params["cell_texts"] == [
        "layer 0, head 0: 0.25",
        "layer 0, head 1: 0.5",
        "layer 1, head 0: no attention here",
        "layer 1, head 1: no attention here",
    ]


def test_a_click_gives_layer_and_head():
    (pick,) = (p for p in grid(np.zeros((2, 2))).spec["params"] if p["name"] == "pick_head")
    assert pick["select"]["fields"] == ["layer", "head"]


def test_the_legend_prints_the_measure_and_both_ends():
    titles = grid([[-2.0]], measure_title="Previous token", low=-1, high=2.5).titles()
    assert titles == ["Previous token", "\u22121", "2.5"]


def test_a_null_is_marked_on_the_printed_scale():
    plain, marked = grid([[0.5]]), grid([[0.5]], null=0.25)
    assert "median null 0.25" in marked.titles() and "median null 0.25" not in plain.titles()
    places = [u["encoding"]["x"]["value"]["expr"] for u in marked.units if _fill(u) == ACCENT]
    assert [eval(place) for place in places] == [34 + 16 + 70 * 0.25 - 1]


def _fill(unit):
    return unit["mark"].get("fill")
