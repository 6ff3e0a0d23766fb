"""A comparison in a file: both sides and their difference come back, and can be made again."""

from typing import Any

import numpy as np
import pytest

import attnviz
from attnviz import export
from attnviz.errors import ModelRefused
from attnviz.export.provenance import of_capture
from attnviz.heads.comparison import difference, quantity
from attnviz.interventions import Temper
from tests import tiny
from tests.export.test_round_trip import DATA, reopened, wrapped

TEXT, OTHER = "red fox ran home red fox ran", "red fox ran home"


@pytest.fixture(scope="module")
def planted():
    return attnviz.load("planted-circuit")


def view_of(model, texts, places, **options):
    captures = [attnviz.capture(model, text) for text in texts]
    a, b = (capture.head(*at) for capture, at in zip(captures, places, strict=True))
    made = tuple(of_capture(capture) for capture in captures)
    return export.compare_view(a, b, made, **{"query": 2} | options), a, b


@pytest.mark.parametrize("of", ["weights", "relative", "scores"])
@pytest.mark.parametrize("kind", DATA)
def test_both_sides_and_their_difference_come_back(kind, of, planted, tmp_path):
    view, a, b = view_of(planted, (TEXT, TEXT), ((1, 0), (0, 1)), of=of)
    saved, arrays = reopened(view, kind, tmp_path)
    assert arrays["a"] == pytest.approx(quantity(a, of).astype(np.float32))
    found = difference(a, b, of)
    shown = arrays["difference"][found.shown]
    assert shown == pytest.approx(found.values[found.shown].astype(np.float32))
    assert np.isneginf(arrays["difference"][~found.shown]).all()
    assert arrays["mask_reason"].tolist() == a.mask_reason.tolist()
    again = saved.again()
    assert again.identical, again.words


@pytest.mark.parametrize("kind", DATA)
def test_two_texts_come_back_cell_by_cell(kind, planted, tmp_path):
    view, a, b = view_of(planted, (TEXT, OTHER), ((1, 0), (1, 0)), other_query=1)
    saved, arrays = reopened(view, kind, tmp_path)
    assert "difference" not in arrays
    side = np.array(saved.provenance["axes"]["cell"]["side"])
    for name, head in (("A", a), ("B", b)):
        values = arrays["value"][side == name].reshape(head.allowed.shape)
        assert np.array_equal(values, np.where(head.allowed, head.weights, -np.inf))
    assert arrays["query"][side == "B"].max() == 4
    assert saved.again().identical


def test_two_models_are_both_named_and_both_held_to_their_weights(planted):
    hf = tiny.hf("GPT2LMHeadModel")
    one, other = attnviz.capture(planted, TEXT), attnviz.capture(wrapped(), input_ids=[5, 6, 7])
    made = (of_capture(one), of_capture(other))
    view = export.compare_view(one.head(1, 0), other.head(0, 0), made, query=2, other_query=1)
    assert view.provenance["model"]["name"] == "planted-circuit"
    assert view.provenance["second"]["model"]["name"] == "tiny"
    assert "planted-circuit and tiny" in view.title
    assert view.script.count("model = attnviz.") == 2
    saved = export.from_bytes(view.data("npz"), "npz")
    with pytest.raises(ModelRefused):
        saved.again(attnviz.wrap(hf, name="tiny"))


def test_the_second_model_may_be_of_another_revision_where_asked(planted):
    first = wrapped()
    one, other = attnviz.capture(first, input_ids=[5, 6, 7]), attnviz.capture(planted, TEXT)
    made = (of_capture(one), of_capture(other))
    view = export.compare_view(one.head(0, 0), other.head(1, 0), made, query=1, other_query=2)
    saved = export.from_bytes(view.data("npz"), "npz")
    saved.provenance["second"]["model"]["revision"] = "older"
    with pytest.raises(ModelRefused, match="other weights of planted-circuit"):
        saved.again(first)
    assert saved.again(first, other_revision=True).identical


def test_the_script_makes_the_same_difference_and_the_same_picture(planted):
    view, a, b = view_of(planted, (TEXT, TEXT), ((1, 0), (0, 1)), of="relative")
    found: dict[str, Any] = {}
    exec(view.script, found)
    assert np.array_equal(found["found"].values, difference(a, b, "relative").values)
    assert found["chart"].to_dict() == view.chart.to_dict()
    assert view.script.count("attnviz.capture(") == 1, "one text is run once"
    apart, *_ = view_of(planted, (TEXT, OTHER), ((1, 0), (1, 0)), other_query=1)
    exec(apart.script, found)
    assert found["chart"].to_dict() == apart.chart.to_dict()


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_picture_is_drawn_without_a_browser(kind, planted):
    view, *_ = view_of(planted, (TEXT, TEXT), ((1, 0), (0, 1)))
    contents = view.data(kind)
    assert len(contents) > 5_000
    assert export.from_bytes(contents, kind).again().view.title == view.title


def test_the_table_of_the_view_is_the_row_that_is_read(planted):
    view, a, b = view_of(planted, (TEXT, TEXT), ((1, 0), (0, 1)))
    table = view.table()
    assert table["A"].tolist()[:3] == pytest.approx(a.weights[2, :3].tolist())
    assert table["Mask in B"].tolist()[3:] == ["masked: future"] * 5
    apart, *_ = view_of(planted, (TEXT, OTHER), ((1, 0), (1, 0)), other_query=1)
    assert apart.table()["Side"].tolist() == ["A"] * 8 + ["B"] * 5


def test_a_side_with_a_what_if_is_said_and_done_again(planted):
    before = attnviz.capture(planted, "red fox ran home red fox")
    change = Temper(1, 0, temperature=4.0)
    after = attnviz.run(planted, interventions=[change], baseline=before).capture
    made = (of_capture(before), of_capture(after))
    view = export.compare_view(before.head(1, 0), after.head(1, 0), made, query=6, of="weights")
    assert view.arrays["difference"][np.isfinite(view.arrays["difference"])].any()
    names: dict[str, Any] = {}
    exec(compile(view.script, "script", "exec"), names)
    assert np.array_equal(names["b"].weights, after.head(1, 0).weights)
    assert np.array_equal(names["a"].weights, before.head(1, 0).weights)
    assert export.from_bytes(view.data("npz"), "npz").again(planted).identical
