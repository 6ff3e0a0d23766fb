"""A long text on the Explore page: an overview, and a window that the link holds."""

import pytest

import attnviz
from attnviz.models.catalog import CATALOG
from dashboard import backend, long_text

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
    cell = backend.overview(ask, "decoder", 1, 0, lambda share: None).cells[0]
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


@pytest.mark.parametrize(("page", "limit"), [("", 8_192), ("what-if", backend.MAX_TOKENS)])
def test_each_page_has_its_own_limit(page, limit):
    assert backend.LONGEST.get(page, backend.MAX_TOKENS) == limit
