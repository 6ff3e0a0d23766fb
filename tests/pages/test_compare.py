"""The page of comparisons: heads, layers, texts, models and stacks, and links to each."""

import json
import time

import numpy as np
import pandas as pd
import pytest
import streamlit as st

import attnviz
from attnviz.detectors import alike
from attnviz.heads.comparison import difference, even_distances, row_distances
from attnviz.heads.head import Head
from dashboard.compare import kept_sides
from dashboard.server import host
from dashboard.session import backend
from tests import tiny
from tests.fixtures_tokenizers import byte_level_bpe, wordpiece

PAGE = "../pages/compare.py"
TEXT = "red fox ran home red fox ran"
OTHER = "red fox ran home"
LAST = 7


@pytest.fixture
def page(open_page):
    """page(models=..., **link) opens the page as a visitor with that link."""
    return lambda models=None, **link: open_page(PAGE, models, **{"text": TEXT} | link)


@pytest.fixture(scope="module")
def planted():
    return attnviz.capture(attnviz.load("planted-circuit"), TEXT)


def said(app):
    return "\n".join(element.value for element in app.text)


def metric(app, label):
    return next(m for m in app.metric if m.label == label)


def picture(app):
    protos = [chart.proto for chart in app.get("vega_lite_chart")]
    (found,) = [proto for proto in protos if proto.alt.startswith("Two heads side by side")]
    return found


def params(app):
    return {
        p["name"]: p.get("value", p.get("expr")) for p in json.loads(picture(app).spec)["params"]
    }


def asked(app):
    return {
        name: "".join(app.query_params[name])
        for name in app.query_params
        if name.startswith("b_") or name == "compare"
    }


def test_the_first_screen_compares_with_the_nearest_head_without_a_click(page, planted):
    app = page()
    found = alike(planted, 1, 0)
    layer, head = found.order[0]
    assert f"B: Planted circuit, layer {layer}, head {head}, 8 tokens. Found by measuring" in said(
        app
    )
    assert "of the 5 other heads" in said(app) and "number 1 of 5 in nearness" in said(app)
    far = row_distances(planted.head(1, 0), planted.head(layer, head))
    total, nats = far.means
    assert (metric(app, "A to B").value, metric(app, "A to B").delta) == (
        f"{total:.3f}",
        f"{nats:.3f} nats",
    )
    assert metric(app, "A to another head, on average").value == f"{found.means[0]:.3f}"
    even = even_distances(planted.head(1, 0)).means[0]
    assert metric(app, "A to even attention").value == f"{even:.3f}"
    assert asked(app) == {}, "what nobody chose stands in no address"


def test_b_found_by_measuring_follows_a(page, planted):
    app = page()
    app.selectbox(key="pick_layer").select(0).run()
    app.selectbox(key="pick_head").select(2).run()
    assert not app.exception
    assert alike(planted, 0, 2).order[0] == (1, 2)
    assert "B: Planted circuit, layer 1, head 2, 8 tokens. Found by measuring" in said(app)
    assert "The weights of A and B are the same in every row." in said(app)


def test_another_head_is_one_change_and_the_layer_stays(page, planted):
    app = page()
    layer = app.selectbox(key="cmp_b_layer").value
    app.selectbox(key="cmp_b_head").select(2).run()
    assert not app.exception
    assert asked(app) == {"b_layer": str(layer), "b_head": "2"}
    assert f"B: Planted circuit, layer {layer}, head 2, 8 tokens." in said(app)
    assert "Found by measuring" not in said(app)
    far = row_distances(planted.head(1, 0), planted.head(layer, 2)).means[0]
    assert metric(app, "A to B").value == f"{far:.3f}"
    app.button(key="cmp_measure").click().run()
    assert "Found by measuring" in said(app) and asked(app) == {}


def test_another_layer_keeps_the_head(page):
    app = page(b_head="2")
    assert "B: Planted circuit, layer 1, head 2" in said(app), "the layer is A's own"
    app.selectbox(key="cmp_b_layer").select(0).run()
    assert "B: Planted circuit, layer 0, head 2" in said(app)


def test_another_text_stands_beside_without_a_difference(page):
    app = page(b_text=OTHER)
    assert not app.error, said(app)
    assert "B: Planted circuit, layer 1, head 0, 5 tokens." in said(app), "the same head"
    assert "There is no difference to draw" in said(app)
    assert "A has 8 tokens and B has 5." in said(app)
    assert not app.metric and "d_rows" not in params(app)
    assert app.selectbox(key="cmp_b_query").value == 4
    app.selectbox(key="cmp_b_query").select(2).run()
    assert params(app)["b_focus"] == "hovered<0||side!==1?2:hovered"
    assert app.selectbox(key="pick_query").value == LAST, "the row of A stays"


def test_a_text_that_is_typed_becomes_bs_and_as_a_has_it_undoes_that(page):
    app = page()
    app.text_area(key="cmp_text").set_value(OTHER)
    next(b for b in app.button if b.label == "Run B").click().run()
    assert asked(app) == {"b_text": OTHER} and not app.exception
    assert app.text_area(key="text_box").value == TEXT, "A's text is untouched"
    app.button(key="cmp_same_text").click().run()
    assert asked(app) == {}
    assert app.text_area(key="cmp_text").value == TEXT


def test_a_text_of_the_same_tokens_count_but_other_words_has_no_difference(page):
    app = page(b_text="red fox ran home red fox home")
    assert "The tokens part at position 7" in said(app) and not app.metric


def two_models():
    words = wordpiece()
    first, second = (
        attnviz.wrap(tiny.hf("BertModel", vocab_size=len(words), **more), words, name="tiny")
        for more in ({}, {"num_hidden_layers": 2, "hidden_size": 16})
    )
    return {"smollm2-135m": first, "minilm-l6": second}


def test_two_models_that_cut_the_text_alike_have_a_difference(page):
    models = two_models()
    link = {"model": "smollm2-135m", "text": "the cat sat", "b_model": "minilm-l6"}
    app = page(models, **link, layer="1", head="1", b_layer="1", b_head="1")
    assert not app.error, said(app)
    one, other = (
        attnviz.capture(models[name], "the cat sat").head(1, 1)
        for name in ("smollm2-135m", "minilm-l6")
    )
    assert metric(app, "A to B").value == f"{row_distances(one, other).means[0]:.3f}"
    assert "d_rows" in params(app)
    assert "in nearness" not in said(app), "B is none of A's model's heads"
    titles = params(app)["panel_titles"]
    assert "SmolLM2 135M" in titles[0] and "MiniLM L6" in titles[1]


def test_two_models_are_loaded_one_after_the_other_each_with_a_way_to_stop(page, monkeypatch):
    """Both loads take long enough to draw their progress, in one run of the page."""
    models = two_models()

    def slow(name, tell):
        for tenth in range(5):
            tell("Loading", tenth / 5)
            time.sleep(0.1)
        return models[name]

    drawn = []
    button = st.button
    monkeypatch.setattr(
        st, "button", lambda *args, **more: drawn.append(more.get("key")) or button(*args, **more)
    )
    monkeypatch.setattr(backend, "load_model", slow)
    app = page(model="smollm2-135m", text="the cat sat", b_model="minilm-l6")
    assert not app.error and "d_rows" in params(app), said(app)
    assert {"stop", "stop_second"} <= set(drawn)


def test_lengths_in_two_models_are_not_put_on_one_scale(page):
    link = {"model": "smollm2-135m", "text": "the cat sat", "b_model": "minilm-l6"}
    app = page(two_models(), **link)
    assert "Lengths in two models are not on one scale" in said(app)
    assert app.selectbox(key="cmp_by").options == ["Signed share", "Weight"]
    app = page(two_models(), **link | {"b_model": "smollm2-135m", "b_head": "2"})
    assert "not on one scale" not in said(app)
    assert "Norm through W_O" in app.selectbox(key="cmp_by").options


def test_a_place_that_bs_model_lacks_is_its_own_default_without_a_notice(page):
    """A's layer was not asked of B, so there is nothing to complain about."""
    models = two_models()
    app = page(models, model="smollm2-135m", text="the cat sat", layer="2", b_model="minilm-l6")
    assert not app.warning and not app.error
    assert app.selectbox(key="cmp_b_layer").options == ["0", "1"]


def test_an_encoder_and_a_decoder_that_cut_alike_are_masked_where_either_is(page, bpe):
    names = {"smollm2-135m": "LlamaForCausalLM", "minilm-l6": "BertModel"}
    models = {
        key: attnviz.wrap(tiny.hf(name, vocab_size=len(bpe)), bpe, name="tiny")
        for key, name in names.items()
    }
    app = page(models, model="smollm2-135m", text="the cat", b_model="minilm-l6")
    assert not app.error, said(app)
    heads = [
        attnviz.capture(models[key], "the cat").head(app.selectbox(key=layer).value, 0)
        for key, layer in (("smollm2-135m", "pick_layer"), ("minilm-l6", "cmp_b_layer"))
    ]
    shown = difference(*heads).shown
    assert (shown == np.tril(np.ones_like(shown))).all()
    rows = params(app)["d_rows"]
    assert len(rows) == len(shown) and "d_rows" in params(app)


@pytest.mark.parametrize("first", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("second", ["encoder", "decoder", "cross"])
def test_any_two_stacks_stand_side_by_side(page, first, second):
    words = byte_level_bpe()
    model = attnviz.wrap(tiny.hf("T5ForConditionalGeneration", vocab_size=len(words)), words)
    app = page(
        {"smollm2-135m": model}, model="smollm2-135m", text="a cat", stack=first, b_stack=second
    )
    assert not app.error and not app.warning, said(app)
    assert f"B: SmolLM2 135M, {second}, layer" in said(app)
    assert ("d_rows" in params(app)) == (first == second)
    for key in ("cmp_row_open", "cmp_kinds_open"):
        app.session_state[key] = True
    app.run()
    assert not app.exception and not app.error, said(app)
    assert app.dataframe


def test_scores_are_counted_from_the_rows_largest_or_as_they_are(page, planted):
    app = page(b_layer="1", b_head="1", compare="relative")
    a, b = planted.head(1, 0), planted.head(1, 1)
    top = float(np.abs(difference(a, b, "relative").values).max())
    assert "scores less the largest of their row" in picture(app).alt
    app.segmented_control(key="cmp_compare").set_value("scores").run()
    assert asked(app)["compare"] == "scores"
    assert "scores as softmax receives them" in picture(app).alt
    assert top > 0 and not app.exception


def test_the_row_as_a_table_is_the_twin_of_the_picture(page, planted):
    app = page(b_layer="1", b_head="1")
    app.session_state["cmp_row_open"] = True
    app.run()
    table = app.dataframe[0].value
    a, b = (planted.head(1, head).weights[LAST] for head in (0, 1))
    assert table["A"].tolist() == pytest.approx(a.tolist(), rel=1e-4)
    assert table["B \u2212 A"].tolist() == pytest.approx((b.astype(float) - a).tolist(), rel=1e-4)
    app = page(b_layer="1", b_head="1", query="2")
    app.session_state["cmp_row_open"] = True
    app.run()
    table = app.dataframe[0].value
    for side in "AB":  # one row is read on both sides
        assert table[f"Mask in {side}"].tolist()[3:] == ["masked: future"] * 5
        assert np.isnan(table[side].tolist()[3:]).all()
    expected = planted.head(1, 1).weights[2][:3]
    assert table["B"].tolist()[:3] == pytest.approx(expected.tolist(), rel=1e-4)
    assert 'A: "\u2423fox" (2)' in picture(app).alt and 'B: "\u2423fox" (2)' in picture(app).alt
    assert "(7) attends" not in picture(app).alt


def test_the_row_of_a_swapped_comparison_is_one_on_both_sides(page):
    app = page(b_layer="1", b_head="1", b_query="7", query="2")
    app.session_state["cmp_row_open"] = True
    app.run()
    assert app.dataframe[0].value["Mask in B"].tolist()[3:] == ["masked: future"] * 5


def test_a_sink_is_said_in_words_and_in_the_table(page):
    words = byte_level_bpe()
    hf = tiny.hf("GptOssForCausalLM", vocab_size=len(words), num_key_value_heads=2)
    model = attnviz.wrap(hf, words)
    app = page({"smollm2-135m": model}, model="smollm2-135m", text="the cat sat")
    assert said(app).count("of a row goes to no token, on average") == 2
    app.session_state["cmp_row_open"] = True
    app.run()
    last = app.dataframe[0].value.iloc[-1]
    assert last["Token"] == "(sink: no token)" and last["A"] > 0 and last["B"] > 0
    total = app.dataframe[0].value[["A", "B"]].sum()
    assert total.tolist() == pytest.approx([1, 1], abs=1e-5)
    app.session_state["cmp_rows_open"] = True
    app.run()
    rows = next(table.value for table in app.dataframe if "Total variation" in table.value)
    assert rows["To no token, A"].iloc[-1] == pytest.approx(last["A"], abs=1e-6)
    assert rows["To no token, B"].between(0, 1).all()


def test_of_a_long_text_the_window_of_keys_is_moved_by_its_position(page):
    app = page(text="red fox ran home " * 70)
    assert "rows 90 to 281 of 282, keys 90 to 281 of 282" in params(app)["drawn_notes"]
    app.number_input(key="cmp_near").set_value(0).run()
    assert "rows 90 to 281 of 282, keys 0 to 191 of 282" in params(app)["drawn_notes"]
    assert "".join(app.query_params["near"]) == "0" and not app.exception
    assert not page().get("number_input"), "a short text is drawn whole"


def test_the_sides_change_places(page):
    app = page(b_model="planted-circuit", b_text=OTHER, b_layer="0", b_head="1")
    app.button(key="cmp_swap").click().run()
    assert not app.exception and not app.error
    assert "A: Planted circuit, layer 0, head 1, 5 tokens." in said(app)
    assert "B: Planted circuit, layer 1, head 0, 8 tokens." in said(app)
    assert asked(app) == {"b_text": TEXT, "b_layer": "1", "b_head": "0", "b_query": str(LAST)}
    app.button(key="cmp_swap").click().run()
    assert "A: Planted circuit, layer 1, head 0, 8 tokens." in said(app)


def test_b_opens_in_explore(page):
    app = page(b_layer="0", b_head="1")
    app.button(key="cmp_open").click().run()
    assert not app.exception
    assert [title.value for title in app.title] == ["Planted circuit, layer 0, head 1"]


@pytest.mark.parametrize(
    "link",
    [
        {"b_layer": "0", "b_head": "2"},
        {"b_text": OTHER, "b_layer": "1", "b_head": "1", "b_query": "3", "compare": "scores"},
        {"compare": "relative"},
    ],
)
def test_a_link_opens_the_same(page, link):
    app = page(**link)
    assert not app.warning and asked(app) == link
    again = page(**asked(app))
    assert picture(again).spec == picture(app).spec


def test_what_a_link_asks_in_vain_gets_one_notice_and_the_default(page):
    app = page(b_layer="9", b_head="2", compare="logits", b_stack="cross")
    (notice,) = app.warning
    for words in (
        "b_layer (this model has layers 0 to 1)",
        "b_stack (this model has decoder)",
        "compare (it is one of weights, relative, scores)",
    ):
        assert words in notice.value
    assert "B: Planted circuit, layer 1, head 2" in said(app) and not app.error
    assert asked(app) == {"b_head": "2"}
    app.selectbox(key="cmp_b_head").select(1).run()
    assert not app.warning


def test_where_nothing_asked_for_can_be_had_b_is_found_by_measuring(page):
    app = page(b_head="77")
    (notice,) = app.warning
    assert "b_head (layer 1 has heads 0 to 2)" in notice.value
    assert "Found by measuring" in said(app) and asked(app) == {}


def test_a_model_from_outside_the_catalog_waits_for_a_click(page):
    app = page(b_model="somebody/something")
    assert "somebody/something" in "".join(code.value for code in app.code)
    assert [b.key for b in app.button if b.key in ("agree", "decline")] == ["agree", "decline"]
    assert app.selectbox(key="pick_model").value == "planted-circuit"
    app.button(key="decline").click().run()
    assert "Found by measuring" in said(app) and not app.exception


def test_a_text_of_bs_that_is_too_long_is_refused_with_a_way_to_cut_it(page):
    app = page(b_text="red " * 700)
    assert "The text has 702 tokens, and 512 can be shown." in said(app)
    assert app.selectbox(key="pick_model").value == "planted-circuit"
    app.button(key="cut").click().run()
    assert not app.exception and not app.error
    assert "B: The text was cut: 190 tokens at its end are left out." in said(app)
    assert "A has 8 tokens and B has 512." in said(app)


def test_a_row_costs_no_load_and_no_run_where_there_is_room_for_one_model(page, monkeypatch):
    """On a host, the two models of a comparison would push one another out at every click."""
    monkeypatch.setattr(backend, "HOST", host.read_host({"ATTNVIZ_HOSTED": "1"}))
    loaded, ran = [], []
    models = two_models()
    app = page(models, model="smollm2-135m", text="the cat sat", b_model="minilm-l6")
    assert not app.error and "d_rows" in params(app), said(app)
    assert backend.store().models.holds("minilm-l6") and not backend.store().models.holds(
        "smollm2-135m"
    )
    run = backend.run_model
    monkeypatch.setattr(backend, "load_model", lambda name, tell: loaded.append(name))
    monkeypatch.setattr(backend, "run_model", lambda m, ask: ran.append(ask) or run(m, ask))
    app.selectbox(key="pick_query").select(1).run()
    app.segmented_control(key="cmp_compare").set_value("relative").run()
    assert not app.exception and not app.error
    assert (loaded, ran) == ([], [])
    assert params(app)["a_focus"] == "hovered<0?1:hovered"
    aside = [
        held for key, held in backend.store().results.entries.items() if key[:2] == (None, "cached")
    ]
    assert len(aside) == 5, "of each side its shape and its head, and the distances from A"
    assert sum(held.nbytes for held in aside) <= backend.store().nbytes < 2**20
    heads = [held.value for held in aside if isinstance(held.value, Head)]
    assert all(head.q.base is None for head in heads) and len(heads) == 2


def test_what_is_kept_of_comparisons_is_bounded_with_all_the_rest(monkeypatch):
    monkeypatch.setattr(backend, "HOST", host.read_host({"ATTNVIZ_HOSTED": "1"}))
    backend.store.clear()
    most = backend.HOST.max_capture_bytes
    for name in "abc":
        kept_sides.kept(name, lambda: np.zeros(most // 2 - 1, np.uint8))
        assert backend.store().nbytes <= most
    assert kept_sides.kept("none", lambda: None) is None
    assert kept_sides.kept("none", lambda: 1) == 1, "what could not be had is asked for again"
    backend.store.clear()


def test_a_host_offers_b_its_list_and_refuses_the_rest(page, monkeypatch):
    monkeypatch.setattr(backend, "HOST", host.read_host({"ATTNVIZ_HOSTED": "1"}))
    app = page(b_model="evil/model")
    (notice,) = app.warning
    assert "b_model (it is not on the list of this server)" in notice.value
    options = app.selectbox(key="cmp_model").options
    assert "openai-community/gpt2" in options and "A Hub id" not in options


def test_a_users_text_is_never_markup(page):
    app = page(text="**red** <b>fox</b>", b_text="[home](http://x) <i>$ran$</i>")
    kinds = (app.markdown, app.caption, app.title, app.header, app.error, app.warning, app.info)
    markup = "\n".join(element.value for kind in kinds for element in kind)
    assert not any(words in markup for words in ("<b>", "**red**", "http://x", "$ran$", "<i>"))
    labels = [w.label for group in (app.button, app.toggle, app.selectbox) for w in group]
    assert not any("fox" in label or "home" in label for label in labels)


def test_the_comparison_waits_while_the_reader_is_on_another_page(page):
    app = page(b_layer="0", b_head="1")
    app.switch_page("../pages/architectures.py").run()
    for name in list(app.query_params):
        del app.query_params[name]
    app.switch_page(PAGE).run()
    assert "B: Planted circuit, layer 0, head 1" in said(app)
    assert asked(app) == {"b_layer": "0", "b_head": "1"}


def test_the_comparison_is_exported_as_it_is_shown(page, planted):
    from dashboard.compare import views
    from dashboard.session.page_capture import make_ask
    from dashboard.session.selection import Selection
    from dashboard.widgets import figure_views

    app = page(b_layer="1", b_head="1", compare="relative")
    assert any(box.proto.popover.label == "Export" for box in app.get("popover"))
    a = Selection("planted-circuit", TEXT, stack="decoder", layer=1, head=0, query=3)
    b = Selection("planted-circuit", OTHER, stack="decoder", layer=1, head=1, query=2)
    view = views.compare((make_ask(a), make_ask(b)), a, b, "weights", ("A: x", "B: y"), link="here")
    assert view.provenance["second"]["input"]["asked"]["text"] == OTHER
    assert view.provenance["place"]["other_query"] == 2 and view.provenance["link"] == "here"
    adds = figure_views.view_figure(
        make_ask(b),
        b,
        "cmp_adds_B",
        "B: x",
        None,
        pd.DataFrame({"B": [1.0]}),
        None,
        [(make_ask(a), a)],
        link="",
    )
    assert adds.provenance["input"]["asked"]["text"] == OTHER
    assert adds.provenance["second"]["input"]["asked"]["text"] == TEXT
    assert adds.provenance["second"]["place"]["query"] == 3
    spec = view.chart.to_dict()
    assert {"name": "panel_titles", "value": ["A: x", "B: y"]} in spec["params"]


def test_explore_leads_to_the_comparison(open_app):
    app = open_app(model="planted-circuit", text=TEXT)
    assert not app.exception
    assert any("Compare this head" in link.proto.label for link in app.get("page_link"))


def test_b_is_walked_through_with_steps(page):
    app = page(model="planted-circuit", text=TEXT, b_layer="0", b_head="1")
    assert app.button(key="previous_b_layer").disabled
    app.button(key="next_b_head").click().run()
    assert app.selectbox(key="cmp_b_head").value == 2 and app.button(key="next_b_head").disabled
    app.button(key="next_b_layer").click().run()
    assert (app.query_params["b_layer"], app.query_params["b_head"]) == ("1", "2")
    app.button(key="previous_b_head").click().run()
    assert app.selectbox(key="cmp_b_head").value == 1
    assert not app.exception and not app.error


def test_a_step_of_b_keeps_what_was_measured(page):
    app = page(model="planted-circuit", text=TEXT, layer="1", head="0")
    layer, head = (app.selectbox(key=f"cmp_b_{part}").value for part in ("layer", "head"))
    way, by = ("next", 1) if layer == 0 else ("previous", -1)
    app.button(key=f"{way}_b_layer").click().run()
    assert app.selectbox(key="cmp_b_layer").value == layer + by
    assert app.selectbox(key="cmp_b_head").value == head


def test_the_row_of_b_has_steps_where_its_queries_are_others(page):
    app = page(model="planted-circuit", text=TEXT, b_text="the cat sat", b_query="1")
    app.button(key="next_b_query").click().run()
    assert app.selectbox(key="cmp_b_query").value == 2
    assert app.query_params["b_query"] == "2"
