"""A long text on the Explore page: an overview, and a window that the link holds."""

import json

import numpy as np
import pytest

import attnviz
from attnviz.detectors import profile
from attnviz.heads import comparison
from attnviz.heads import head as head_module
from attnviz.interventions import HideKeys, Temper
from attnviz.models.catalog import CATALOG
from dashboard.explore import long_text
from dashboard.heads import long_heads
from dashboard.session import backend

LONG = {
    "model": "planted-circuit",
    "text": ("red fox ran home " * 100).strip(),
    "layer": "1",
    "head": "0",
}


def said(app):
    return " ".join(text.value for text in app.text)


def test_a_short_text_has_no_overview(open_app):
    app = open_app(model="planted-circuit", text=CATALOG["planted-circuit"].default_text)
    assert not app.number_input and "too many" not in said(app)


def test_the_window_of_a_link_is_opened(open_app):
    app = open_app(**LONG, query="390", near="30")
    assert not app.exception and not app.warning
    assert app.number_input(key="pick_near").value == 30
    assert "401 x 401 cells are too many" in said(app)


def test_the_mass_of_the_row_is_told_in_numbers(open_app):
    app = open_app(**LONG, query="390")
    model = attnviz.load("planted-circuit")
    row = attnviz.capture(model, LONG["text"]).head(1, 0).weights[390]
    shares = sorted(row.tolist(), reverse=True)
    count = next(n for n in range(1, 402) if sum(shares[:n]) >= 0.5)
    assert f"Half of its weight is on {count:,} of them" in said(app)


def test_a_key_beyond_the_text_falls_back_with_a_notice(open_app):
    app = open_app(**LONG, query="390", near="5000")
    assert "near (this text has tokens 0 to 400)" in app.warning[0].value
    assert app.number_input(key="pick_near").value == 390


def test_a_jump_goes_to_a_large_weight(open_app):
    app = open_app(**LONG, query="10")
    app.selectbox(key="pick_cell").select_index(0).run()
    ask = backend.Ask("planted-circuit", LONG["text"])
    cell = backend.get_overview(ask, "decoder", 1, 0, lambda share: None).cells[0]
    assert app.query_params["query"] == str(cell.query)
    assert app.number_input(key="pick_near").value == cell.key
    assert app.selectbox(key="pick_cell").value is None


@pytest.mark.parametrize(
    ("side", "old", "found"),
    [([146, 402], 400, 400), ([116, 372], 400, 244), ([0, 256], 5, 5), ([30, 286], 5, 158)],
)
def test_a_side_of_the_frame_that_did_not_move_keeps_its_place(side, old, found):
    assert long_text._middle(side, old, 402) == found


def test_another_text_forgets_the_window(open_app):
    app = open_app(**LONG, query="390", near="30")
    app.text_area(key="text_box").set_value("red fox " * 190)
    app.button(key="run").click().run()
    assert "near" not in app.query_params
    assert app.number_input(key="pick_near").value == app.session_state["pick_query"]


@pytest.mark.parametrize("page", ["", "heads", "what-if", "compare", "check-a-matrix"])
def test_pages_that_take_a_long_text_as_it_is(page):
    assert backend.LONGEST[page] == 8_192


# Texts over the limit of short ones, which is put low here

SHORT = 20
TEXT = ("red fox ran home " * 10).strip()  # 41 tokens
HERE = {"text": TEXT, "layer": "1", "head": "0"}


@pytest.fixture
def low(open_page, monkeypatch):
    """low(page, **link) opens a page on a text that is long for it."""
    monkeypatch.setattr(backend, "MAX_TOKENS", SHORT)

    def start(page, **link):
        app = open_page(f"../pages/{page}.py", **HERE | link)
        assert not app.error, said(app)
        return app

    return start


@pytest.fixture(scope="module")
def planted():
    model = attnviz.load("planted-circuit")
    return model, attnviz.capture(model, TEXT)


def test_an_experiment_takes_the_beginning_and_the_row_waits_for_the_other_pages(low):
    """Nobody is asked to cut, and a link still means what it meant."""
    app = low("misconceptions", query="30", near="25")
    assert f"Measured on the first {SHORT} of 41 tokens. Token 30, which you read" in said(app)
    assert not [b for b in app.button if b.key == "cut"]
    assert app.selectbox(key="pick_query").value == SHORT - 1
    assert (app.query_params["query"], app.query_params["near"]) == ("30", "25")
    app.switch_page("../pages/explore.py").run()
    assert app.selectbox(key="pick_query").value == 30 and "Measured on" not in said(app)


def test_pages_of_many_runs_take_a_shorter_beginning(low, monkeypatch):
    monkeypatch.setattr(backend, "BEGINNING", {"misconceptions": 8})
    assert "Measured on the first 8 of 41 tokens." in said(low("misconceptions", query="5"))
    app = low("how_it_works", query="5")
    app.button(key="real_run").click().run()
    assert f"Measured on the first {SHORT} of 41 tokens." in said(app)


def test_a_row_chosen_on_the_beginning_is_the_row_everywhere(low):
    app = low("misconceptions", query="30")
    app.button(key="previous_query").click().run()
    assert app.selectbox(key="pick_query").value == SHORT - 2
    assert app.query_params["query"] == str(SHORT - 2) and "Token 30" not in said(app)


def test_heads_of_a_long_text_are_measured_on_some_rows_until_all_are_asked_for(
    low, planted, monkeypatch
):
    monkeypatch.setattr(long_heads, "ROWS", 8)
    app = low("heads")
    assert "The measures are of 8 of 41 rows, evenly spread." in said(app)
    assert "8 rows count, of 41 in the text" in said(app)
    assert_measured(app, profile(planted[1], rows=8))
    app.button(key="heads_rows_start").click().run()
    assert "evenly spread" not in said(app)
    assert_measured(app, profile(planted[1]))


def assert_measured(app, found):
    table = app.dataframe[0].value
    at = tuple(table[["Layer", "Head"]].to_numpy().T)
    np.testing.assert_allclose(table["Entropy"], found.values["entropy"][at], rtol=1e-5)


def test_small_maps_of_a_long_text_are_drawn_when_they_are_asked_for(low):
    app = low("heads")
    assert "cell_values" in params(app) and "Until then, heads are coloured" in said(app)
    app.button(key="heads_maps_start").click().run()
    assert "map_words" in params(app) and not app.exception


def params(app):
    (chart,) = app.get("vega_lite_chart")
    return {param["name"] for param in json.loads(chart.proto.spec)["params"]}


def test_a_change_late_in_a_long_text_is_run_at_once(low, planted):
    model, capture = planted
    app = low("what_if", query="40")
    key = int(capture.head(1, 0).weights[40].argmax())
    hidden = HideKeys(1, 0, "decoder", keys=(key,), queries=(40,))
    run = attnviz.run(model, interventions=[hidden], baseline=capture)
    assert app.metric[0].value == f"{run.total_variation:.4f}"


def test_a_change_of_a_whole_long_text_says_what_it_takes_and_waits(low, planted):
    model, capture = planted
    app = low("what_if", query="40", change="temper", on="head", temperature="2")
    assert not app.metric and "Takes about" in said(app)
    app.button(key="what_if_start").click().run()
    run = attnviz.run(model, interventions=[Temper(1, 0, "decoder", 2.0)], baseline=capture)
    assert app.metric[0].value == f"{run.total_variation:.4f}"


def test_rows_of_a_long_text_are_compared_and_kept(low, planted, monkeypatch):
    monkeypatch.setattr(head_module, "CELLS", 41 * 7)  # seven rows at a time
    app = low("compare", b_layer="0", b_head="2")
    a, b = planted[1].head(1, 0), planted[1].head(0, 2)
    monkeypatch.undo()
    total, _ = comparison.row_distances(a, b).means
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown["A to B"] == f"{total:.3f}"
    even, _ = comparison.even_distances(a).means
    assert shown["A to even attention"] == f"{even:.3f}"
