"""The page of heads: its numbers are the detectors', its choices travel, heads open in Explore."""

import json

import numpy as np
import pytest

import attnviz
from attnviz.detectors import HEAD_MEASURES, effect, profile, repeated
from dashboard.heads import head_numbers
from dashboard.heads.probe_texts import PROBES
from dashboard.session.selection import ABOVE, HEAD_CHOICES
from tests import tiny
from tests.fixtures_tokenizers import byte_level_bpe, wordpiece
from tests.planted_heads import PLANTED

PAGE = "../pages/heads.py"
TEXT = "red fox ran home red fox ran home"


@pytest.fixture
def page(open_page):
    """page(models=..., **link) opens the page as a visitor with that link."""

    def start(models=None, **link):
        app = open_page(PAGE, models, **{"text": TEXT} | link)
        assert not app.error, said(app)
        return app

    return start


@pytest.fixture(scope="module")
def planted():
    model = attnviz.load("planted-circuit")
    return model, attnviz.capture(model, TEXT)


def said(app):
    return "\n".join(element.value for element in app.text)


def spec(app):
    (chart,) = app.get("vega_lite_chart")
    return json.loads(chart.proto.spec)


def params(app):
    return {p["name"]: p.get("value") for p in spec(app)["params"]}


def table(app):
    return app.dataframe[0].value


def test_the_page_opens_on_the_small_maps_and_says_what_it_finds(page, planted):
    app = page()
    assert params(app)["map_words"][3] == "layer 1, head 0: Induction 1"
    found = profile(planted[1])
    assert "Induction: layer 1, head 0 has the most, 1 (null 0.136, ceiling 1)." in said(app)
    assert "1 of 6 heads are more than half way" in said(app)
    assert found.found("induction") == [(1, 0)]
    for part in ("Unit: share of a row's weight", "Ceiling. 1:", "Null. The larger of two."):
        assert part in said(app)


def test_the_table_holds_every_measure_of_every_head(page, planted):
    frame = table(page())
    model, capture = planted
    text, random = profile(capture), profile(repeated(model))
    assert len(frame) == len(PLANTED)
    for _, row in frame.iterrows():
        at = (int(row["Layer"]), int(row["Head"]))
        for name, measure in HEAD_MEASURES.items():
            assert row[measure.title] == pytest.approx(float(text.values[name][at]), abs=1e-6)
        again = float(random.values["induction"][at])
        assert row["Induction, random tokens"] == pytest.approx(again, abs=1e-6)
    assert frame.columns[2] == "Induction" and frame["Induction"].is_monotonic_decreasing


def test_every_measure_colours_the_grid(page, planted):
    text = profile(planted[1])
    for name in HEAD_CHOICES:
        if name == "effect":
            continue
        app = page(view="measure", measure=name)
        plain = {"duplicate_repeated": "duplicate_token", "induction_repeated": "induction"}
        measure = HEAD_MEASURES[plain.get(name, name)]
        assert measure.definition.split(".")[0] in said(app) and f"Unit: {measure.unit}" in said(
            app
        )
        values = np.array(params(app)["cell_values"], float)
        if name in HEAD_MEASURES:
            np.testing.assert_allclose(values, text.values[name].ravel(), rtol=1e-3, atol=1e-6)


def test_choices_go_into_the_address_and_come_back_from_it(page):
    app = page()
    app.selectbox(key="heads_measure").set_value("previous_token").run()
    app.segmented_control(key="heads_view").set_value("measure").run()
    app.selectbox(key="heads_above").set_value(2).run()
    app.selectbox(key="heads_layers_0").set_value(1).run()
    assert not app.exception
    chosen = {"measure": "previous_token", "view": "measure", "above": "2", "layers": "1-1"}
    assert {name: "".join(app.query_params[name]) for name in chosen} == chosen
    again = page(**chosen)
    assert again.selectbox(key="heads_measure").value == "previous_token"
    assert [again.selectbox(key=f"heads_layers_{n}").value for n in (0, 1)] == [1, 1]
    assert "No head is left in" in said(again) and len(table(again)) == 0


def test_filters_leave_heads_out_of_picture_and_table(page):
    app = page(above="2")
    assert table(app)[["Layer", "Head"]].to_numpy().tolist() == [[1, 0]]
    words = params(app)["map_words"]
    assert sum("left out" in word for word in words) == 5
    app = page(layers="0-0", sort="measure", measure="previous_token")
    assert params(app)["map_layers"] == [0, 0, 0] and params(app)["map_heads"][0] == 0


def test_sorting_by_entropy_puts_the_most_pointed_head_first(page, planted):
    frame = table(page(measure="entropy"))
    assert frame["Entropy"].is_monotonic_increasing
    assert "has the least" in said(page(measure="entropy", sort="measure"))


def test_a_bad_link_says_what_it_asked_for_in_vain(page):
    app = page(layers="7-9", above="3", measure="genius", view="x")
    (warning,) = app.warning
    for name in ("layers", "above", "measure", "view"):
        assert name in warning.value


def test_a_probe_text_is_one_click_away(page):
    app = page(model="planted-circuit", text="the cat sat on")
    assert "no row of this text counts" in said(app)
    app.button(key="probe_0").click().run()
    assert "".join(app.query_params["text"]) == PROBES["Random words, repeated"]
    assert "Induction: layer 1, head 0 has the most" in said(app)


def test_the_button_opens_the_head_in_explore_and_keeps_what_was_chosen(page):
    app = page(layer="1", head="2", measure="focus")
    app.button(key="heads_go").click().run()
    assert not app.exception
    assert app.title[0].value == "Planted circuit, layer 1, head 2"
    assert "".join(app.query_params["head"]) == "2"
    assert "".join(app.query_params["measure"]) == "focus"


def test_the_effect_is_measured_on_a_click_and_then_sorted_by(page, planted):
    app = page(measure="effect", view="measure")
    assert "Not measured yet." in said(app) and not app.get("vega_lite_chart")
    assert "on this machine" in said(app)
    app.button(key="heads_effect_start").click().run()
    assert not app.exception
    grid = effect(*planted)
    values = np.array(params(app)["cell_values"], float)
    np.testing.assert_allclose(values, grid.ravel(), rtol=1e-3, atol=1e-6)
    assert "Effect on the output: layer 1, head 0 has the most" in said(app)
    assert "Unit: nats" in said(app)
    assert table(app).iloc[0][["Layer", "Head"]].tolist() == [1, 0]


def test_encoders_and_every_stack_of_two_have_the_page(page):
    words = wordpiece()
    encoder = attnviz.wrap(tiny.hf("BertModel", vocab_size=len(words)), words, name="tiny")
    app = page({"smollm2-135m": encoder}, model="smollm2-135m", text="the cat sat the cat")
    assert len(table(app)) == 12
    pieces = byte_level_bpe()
    both = attnviz.wrap(
        tiny.hf("T5ForConditionalGeneration", vocab_size=len(pieces)), pieces, name="tiny"
    )
    for stack, heads in (("encoder", 8), ("decoder", 12), ("cross", 12)):
        app = page({"smollm2-135m": both}, model="smollm2-135m", text="a cat sat a", stack=stack)
        assert len(table(app)) == heads
        if stack == "cross":
            assert app.selectbox(key="heads_measure").value == "focus"
            assert "Induction" not in table(app).columns


def test_a_model_too_small_for_the_random_tokens_says_so(page):
    words = wordpiece()
    small = tiny.hf("BertModel", vocab_size=len(words), max_position_embeddings=8)
    model = attnviz.wrap(small, words, name="tiny")
    app = page({"smollm2-135m": model}, model="smollm2-135m", text="the cat")
    assert "Nothing on repeated random tokens. This model has 8 positions." in said(app)


def test_a_users_text_is_never_markup(page):
    app = page(text="**red** <b>fox</b> $ran$ [home](http://x)")
    kinds = (app.markdown, app.caption, app.title, app.header, app.error, app.warning, app.info)
    markup = "\n".join(element.value for kind in kinds for element in kind)
    assert "<b>" not in markup and "**red**" not in markup and "http://x" not in markup


def test_every_choice_has_a_title():
    assert set(head_numbers.titles()) == set(HEAD_CHOICES)
    assert ABOVE[0] == 0


def test_the_colours_of_a_link_are_drawn_and_kept_on_the_way_to_explore(page):
    app = page(weights="log")
    assert "Weights, log scale" in json.dumps(spec(app))
    assert "coloured by powers of ten" in app.get("vega_lite_chart")[0].proto.alt
    app.segmented_control(key="heads_weights").set_value("unit").run()
    assert "Weights, 0 to 1" in json.dumps(spec(app)) and "weights" not in app.query_params
    app.segmented_control(key="heads_weights").set_value("log").run()
    assert app.query_params["weights"] == "log"
