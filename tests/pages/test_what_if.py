"""The page of what-ifs: its numbers are the library's, for every kind of change."""

import json

import numpy as np
import pytest

import attnviz
from attnviz.faithfulness.agreement import output_change as change_of
from attnviz.interventions import (
    Ablate,
    AddToScore,
    Flatten,
    HideKeys,
    Permute,
    SetWeights,
    Temper,
    ZeroValue,
    effects,
)
from dashboard.session import backend
from dashboard.what_if import experiment
from tests import tiny
from tests.fixtures_tokenizers import byte_level_bpe, wordpiece

PAGE = "../pages/what_if.py"
TEXT = "red fox ran home red fox ran"
AT = {"layer": 1, "head": 0, "stack": "decoder"}
LAST = 7  # "ran", whose head (1, 0) looks at 4, "home"


@pytest.fixture
def page(open_page):
    """page(models=..., **link) opens the page as a visitor with that link."""
    return lambda models=None, **link: open_page(PAGE, models, **{"text": TEXT} | link)


@pytest.fixture(scope="module")
def planted():
    model = attnviz.load("planted-circuit")
    return model, attnviz.capture(model, TEXT)


def said(app):
    return "\n".join(element.value for element in app.text)


def metric(app, label):
    return next(m.value for m in app.metric if m.label == label)


def picture(app, opening):
    """The chart whose alternative text begins with these words."""
    protos = [chart.proto for chart in app.get("vega_lite_chart")]
    (found,) = [proto for proto in protos if proto.alt.startswith(opening)]
    return found


def set_to(app, **widgets):
    """Set pickers and numbers one after the other, as a reader does."""
    for key, value in widgets.items():
        kind = app.number_input if isinstance(value, float) else app.selectbox
        kind(key=key).set_value(value).run()
    return app


def half(weights):
    row = weights.astype(float)
    row[4] = 0
    row *= 0.5 / row.sum()
    row[4] = 0.5
    return tuple(row.tolist())


KINDS = {
    "hide": ({}, lambda head: HideKeys(**AT, keys=(4,), queries=(LAST,))),
    "temper": ({"if_temperature": 4.0}, lambda head: Temper(**AT, temperature=4.0)),
    "add": ({"if_amount": -12.0}, lambda head: AddToScore(**AT, query=LAST, key=4, amount=-12.0)),
    "set": (
        {"if_weight": 0.5},
        lambda head: SetWeights(**AT, query=LAST, weights=half(head.weights[LAST])),
    ),
    "permute": ({}, lambda head: Permute(**AT, query=LAST, seed=0)),
    "flatten": ({}, lambda head: Flatten(**AT, query=LAST)),
    "zero": ({}, lambda head: ZeroValue(**AT, key=4)),
    "ablate": ({"if_instead": "mean"}, lambda head: Ablate(**AT, how="mean", queries=(LAST,))),
}


def test_every_kind_is_tried():
    assert set(KINDS) == set(experiment.CHANGES)


@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_of_a_kind_are_the_librarys(page, planted, kind):
    model, capture = planted
    widgets, make = KINDS[kind]
    app = set_to(page(), if_change=kind, **widgets)
    run = attnviz.run(model, interventions=[make(capture.head(1, 0))], baseline=capture)
    assert metric(app, "Total variation") == f"{run.total_variation:.4f}"
    assert metric(app, "KL divergence") == f"{run.kl:.3g} nats"
    assert run.total_variation > 1e-3, "a change that changes nothing would test nothing"
    app.toggle(key="if_row_table").set_value(True).run()
    table = app.dataframe[0].value
    before, after = capture.head(1, 0), run.capture.head(1, 0)
    assert table["Before"].tolist() == before.weights[LAST].tolist()
    assert table["After"].tolist() == after.weights[LAST].tolist()
    began = f"began at layer {run.from_layer} of 2 and token {run.from_position} of 8"
    assert began in said(app)
    (without,) = effects(model, capture, [[Ablate(**AT, queries=(LAST,))]])
    whole = metric(app, "With the whole head taken away at this token")
    assert whole == f"{change_of(capture, without, LAST):.4f}"


def test_both_maps_share_one_scale_and_say_what_changed(page):
    app = page()

    def ends():
        """The numbers at the ends of the three colour bars."""
        spec = json.loads(picture(app, "Maps of the").spec)
        axes = [unit.get("encoding", {}).get("x", {}) for unit in spec["layer"]]
        numbers = "format(datum.value,'.3~g')"
        return [x["scale"]["domain"] for x in axes if x.get("axis", {}).get("labelExpr") == numbers]

    before, after, _ = ends()
    assert before == after == [0.0, 1.0]
    assert 'home" (4), from 1.000 to 0.000' in picture(app, "Weights of the row").alt
    assert "the largest change is +1, from" in picture(app, "Maps of the weights").alt
    app.segmented_control(key="if_maps").set_value("scores").run()
    before, after, change = ends()
    assert before == after and change[0] == -change[1]


def test_a_weight_that_the_change_hid_is_nothing_afterwards(page):
    app = page()
    app.toggle(key="if_maps_table").set_value(True).run()
    frame = next(shown.value for shown in app.dataframe if "After" in shown.value)
    assert (frame["After"] == 0).any() and (frame["Difference"] < 0).any()
    assert (frame["Difference"] == frame["After"] - frame["Before"]).all()


def test_a_change_of_the_whole_layer_and_of_every_layer(page, planted):
    model, capture = planted
    app = set_to(page(), if_change="flatten", if_on="layer")
    run = attnviz.run(model, interventions=[Flatten(1, query=LAST)], baseline=capture)
    assert metric(app, "Total variation") == f"{run.total_variation:.4f}"
    set_to(app, if_on="stack")
    assert "every layer" in said(app) and "began at layer 0 of 2" in said(app)


def test_only_keys_that_the_row_may_see_are_offered(page):
    app = page(query="2")
    assert len(app.selectbox(key="if_key").options) == 3
    set_to(app, if_rows="every")
    assert len(app.selectbox(key="if_key").options) == 8


LINKS = {
    "hide": {"rows": "every", "key": "1", "on": "layer"},
    "temper": {"temperature": "0.5"},
    "add": {"key": "2", "amount": "3.25"},
    "set": {"key": "0", "weight": "0.25"},
    "permute": {"rows": "every", "deal": "3"},
    "flatten": {"rows": "every", "on": "stack"},
    "zero": {"key": "6"},
    "ablate": {"rows": "every", "instead": "resample", "maps": "scores", "sweep": "mean"},
}


@pytest.mark.parametrize("change", LINKS)
def test_a_link_reopens_the_experiment(page, change):
    asked = {"change": change, "on": "head"} | LINKS[change]
    app = page(**asked)
    assert not app.warning and not app.error
    got = {name: "".join(app.query_params[name]) for name in asked}
    assert got == asked
    words = next(line for line in said(app).splitlines() if line.startswith("In "))
    by_hand = page()
    for name, value in asked.items():
        if name in ("temperature", "amount", "weight"):
            by_hand.number_input(key=f"if_{name}").set_value(float(value)).run()
        elif name == "maps":
            by_hand.segmented_control(key="if_maps").set_value(value).run()
        elif name in ("key", "deal"):
            box = by_hand.selectbox if name == "key" else by_hand.number_input
            box(key=f"if_{name}").set_value(int(value)).run()
        else:
            by_hand.selectbox(key=f"if_{name}").set_value(value).run()
    assert words in said(by_hand)
    assert {name: "".join(by_hand.query_params[name]) for name in asked} == asked
    total = "Total variation"
    assert metric(by_hand, total) == metric(app, total)


def test_what_a_link_asks_in_vain_gets_one_notice_and_the_default(page):
    app = page(change="temper", temperature="0", key="99", maps="none")
    (notice,) = app.warning
    assert "temperature (it is a number from 0.05 to 100" in notice.value
    assert "maps (it is one of weights, scores)" in notice.value
    assert app.number_input(key="if_temperature").value == 2.0
    app = page(change="hide", key="99")
    (notice,) = app.warning
    assert "key (it is no token that can be chosen here)" in notice.value
    assert app.selectbox(key="if_key").value == 4 and not app.error
    set_to(app, if_change="flatten")
    assert not app.warning


def test_an_experiment_waits_while_the_reader_is_on_another_page(page):
    app = set_to(page(), if_change="temper", if_temperature=4.0)
    words = next(line for line in said(app).splitlines() if line.startswith("In "))
    app.switch_page("../pages/architectures.py").run()
    for name in list(app.query_params):
        del app.query_params[name]
    app.switch_page(PAGE).run()
    assert words in said(app) and "".join(app.query_params["temperature"]) == "4"


def test_contributions_after_an_ablation_are_said_to_come_from_no_key(page):
    app = set_to(page(), if_change="ablate")
    assert "comes from no key" in said(app)


def test_the_sweep_waits_for_a_click_and_opens_heads(page, planted):
    model, capture = planted
    app = page()
    assert "Takes about a second" in said(app) and not app.dataframe
    app.button(key="sweep_start").click().run()
    assert not app.exception
    table = app.dataframe[0].value
    assert len(table) == 6
    for _, row in table.iterrows():
        gone = Ablate(int(row["Layer"]), int(row["Head"]), "decoder", queries=(LAST,))
        run = attnviz.run(model, interventions=[gone], baseline=capture)
        assert row["Change"] == pytest.approx(run.total_variation, abs=1e-6)
    best = table.iloc[0]
    assert (best["Layer"], best["Head"]) == (1, 0), "the induction head makes the prediction"
    app.selectbox(key="sweep_open").select_index(1).run()
    assert "".join(app.query_params["layer"]) == str(int(table.iloc[1]["Layer"]))
    assert not app.exception and "number 2 of 6" in said(app), "the answer stays"


def test_an_encoder_without_a_mask_is_measured_by_its_states(page):
    words = wordpiece()
    hf = tiny.hf("BertModel", vocab_size=len(words))
    model = attnviz.wrap(hf, words, name="tiny")
    app = page({"smollm2-135m": model}, model="smollm2-135m", text="the cat sat")
    assert not app.error, said(app)
    assert float(metric(app, "Change of this token's last state")) >= 0
    assert not [m for m in app.metric if m.label == "KL divergence"]
    capture = backend.get_capture(backend.Ask("smollm2-135m", "the cat sat"), lambda *a: None)
    app.button(key="sweep_start").click().run()
    assert len(app.dataframe[0].value) == sum(capture.heads(la) for la in capture.layers())


def test_fillers_of_a_mask_are_drawn_for_a_model_that_fills_it(page):
    words = wordpiece()
    model = attnviz.wrap(tiny.hf("BertForMaskedLM", vocab_size=len(words)), words, name="tiny")
    text = f"the {words.mask_token} sat"
    app = page({"smollm2-135m": model}, model="smollm2-135m", text=text)
    assert not app.error, said(app)
    assert picture(app, "Likeliest fillers of the mask at token")
    app.toggle(key="if_output_table").set_value(True).run()
    table = app.dataframe[0].value
    assert np.all(table["Before"] <= 1) and table["Before"].is_monotonic_decreasing


def test_a_text_without_a_mask_says_that_there_is_nothing_to_compare(page):
    words = wordpiece()
    model = attnviz.wrap(tiny.hf("BertForMaskedLM", vocab_size=len(words)), words, name="tiny")
    app = page({"smollm2-135m": model}, model="smollm2-135m", text="the cat sat")
    assert not app.error and not app.metric
    assert said(app).count("there is no output to compare") == 3
    assert picture(app, "Weights of the row")


def test_every_stack_of_a_model_with_two_sides_can_be_changed(page):
    words = byte_level_bpe()
    hf = tiny.hf("T5ForConditionalGeneration", vocab_size=len(words))
    model = attnviz.wrap(hf, words, name="tiny")
    for stack in ("encoder", "decoder", "cross"):
        app = page({"smollm2-135m": model}, model="smollm2-135m", text="a cat sat", stack=stack)
        assert not app.error, said(app)
        assert metric(app, "Total variation")


def test_a_users_text_is_never_markup(page):
    app = page(text="**red** <b>fox</b> $ran$ [home](http://x)")
    kinds = (app.markdown, app.caption, app.title, app.header, app.error, app.warning, app.info)
    markup = "\n".join(element.value for kind in kinds for element in kind)
    assert "<b>" not in markup and "**red**" not in markup and "http://x" not in markup
    labels = [w.label for group in (app.button, app.toggle, app.selectbox) for w in group]
    assert not any("fox" in label for label in labels)


def test_the_default_model_shows_a_small_effect_of_its_largest_weight(page, smollm2):
    text = (
        "Our lighthouse keeper winds the brass clock at dawn, "
        "and at dusk our lighthouse keeper winds the brass"
    )
    app = page({"smollm2-135m": smollm2}, model="smollm2-135m", text=text)
    capture = attnviz.capture(smollm2, text)
    change = HideKeys(17, 5, "decoder", keys=(6,), queries=(18,))
    run = attnviz.run(smollm2, interventions=[change], baseline=capture)
    assert metric(app, "Total variation") == f"{run.total_variation:.4f}"
    assert "began at layer 17 of 30 and token 18 of 19" in said(app)
