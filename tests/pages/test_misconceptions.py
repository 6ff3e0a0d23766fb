"""The misconceptions: every number on the page is the library's, on any kind of model."""

import numpy as np
import pytest

import attnviz
from attnviz import faithfulness
from attnviz.detectors.control_texts import draw_tokens, shuffle_tokens
from attnviz.faithfulness.agreement import output_change
from attnviz.interventions import Flatten, HideKeys, SetWeights, effects
from dashboard.misconceptions import ENTRIES, different_behaviour, panels
from tests import tiny
from tests.fixtures_tokenizers import byte_level_bpe, wordpiece

PAGE = "../pages/misconceptions.py"
TEXT = "red fox ran home red fox ran"
LAST = 7


@pytest.fixture
def page(open_app):
    """page(claim, models=..., **link) opens the page at one entry."""

    def start(claim=None, models=None, **link):
        link = {"model": "planted-circuit", "text": TEXT} | link
        app = open_app(models, **link)
        if claim is not None:
            app.query_params[panels.NAME] = claim
        app = app.switch_page(PAGE).run()
        assert not app.exception
        return app

    return start


@pytest.fixture(scope="module")
def planted():
    model = attnviz.load("planted-circuit")
    return model, attnviz.capture(model, TEXT)


def said(app):
    return "\n".join(element.value for element in app.text)


def alts(app):
    return [chart.proto.alt for chart in app.get("vega_lite_chart")]


def opened(app):
    """The claims that are open, in order."""
    boxes = [box for box in app.expander if box.label in {e.claim for e in ENTRIES.values()}]
    return [box.label for box in boxes if box.children]


def table(app, key):
    app.toggle(key=f"{key}_table").set_value(True).run()
    return app.dataframe[-1].value


def test_all_eleven_are_there_and_the_first_is_open(page):
    app = page()
    assert len(ENTRIES) == 11
    assert opened(app) == [ENTRIES["score-and-weight"].claim]


@pytest.mark.parametrize("claim", ENTRIES)
def test_a_link_opens_an_entry_alone_and_first(page, claim):
    app = page(claim)
    labels = [box.label for box in app.expander]
    assert labels[0] == ENTRIES[claim].claim and opened(app) == [ENTRIES[claim].claim]
    assert not app.error and not app.warning, said(app)
    assert app.header[0].value == ENTRIES[claim].title
    assert "".join(app.query_params[panels.NAME]) == claim


def test_an_entry_that_is_not_there_gets_a_notice(page):
    app = page("no-such-claim")
    assert "claim (there is no entry of that name" in app.warning[0].value
    assert len(opened(app)) <= 1 and not app.error


def test_the_address_names_the_entry_opened_last(page):
    app = page("mask")
    app.session_state["entry_chosen"] = True
    app.run()
    assert set(opened(app)) == {ENTRIES["mask"].claim, ENTRIES["chosen"].claim}
    assert "".join(app.query_params[panels.NAME]) == "mask", "opened by code, not by the reader"
    app.query_params[panels.NAME] = "average-heads"  # the reader goes back, or follows a link
    app.run()
    assert opened(app)[0] == ENTRIES["average-heads"].claim


def test_only_what_is_open_is_measured(page, monkeypatch):
    asked = []
    monkeypatch.setattr(different_behaviour, "permute_row", lambda *a, **b: asked.append(1))
    page("mask")
    assert asked == []


def test_scores_may_be_shifted_and_weights_stay(page, planted):
    _, capture = planted
    app = page("score-and-weight")
    head = capture.head(1, 0)
    row = head.scores[LAST, : LAST + 1]
    assert f"run from {row.min():.3g} to {row.max():.3g} and add up to {row.sum():.4g}" in said(app)
    frame = table(app, "claim_weights")
    assert frame["as they are"].tolist() == head.weights[LAST, : LAST + 1].tolist()
    assert np.abs(frame["all +3"] - frame["as they are"]).max() < 1e-6
    app.number_input(key="claim_factor").set_value(0.0).run()
    even = table(app, "claim_weights")["all times 0"]
    assert even.to_numpy() == pytest.approx(1 / (LAST + 1))


def test_parameters_stay_and_weights_do_not(page):
    app = page("learned-parameter")
    (line,) = [line for line in said(app).splitlines() if "checksum" in line]
    sums = {word.strip(".,") for word in line.split() if len(word.strip(".,")) == 8}
    assert len(sums & {s for s in sums if all(c in "0123456789abcdef" for c in s)}) == 1
    assert "differs by more than 0." in said(app)
    frame = table(app, "claim_two")
    assert frame["Keys"].nunique() == 2


def test_agreement_is_the_librarys(page, planted):
    app = page("proves-use")
    found = faithfulness.agreement(*planted, 1, 0, LAST, erase=False)
    correlation = found.correlation("weight", "key_hiding")
    assert f"is {correlation:.2f}" in said(app) and f"below {found.chance:.2f}" in said(app)
    shown = app.dataframe[0].value
    assert shown["Read off"].iloc[-1] == "Random order, 95 in 100 below (Spearman)"
    app.button(key="erasing_start").click().run()
    whole = faithfulness.agreement(*planted, 1, 0, LAST)
    app.selectbox(key="claim_taken").select("token_erasure").run()
    assert f"is {whole.correlation('weight', 'token_erasure'):.2f}" in said(app)


def test_direct_attribution_states_its_scale_and_its_check(page, planted):
    app = page("proves-use")
    path = faithfulness.direct_path(*planted)
    own = path.of_keys(planted[1].head(1, 0), LAST).sum()
    assert (
        f"layer norm before the unembedding is frozen at its scale of this run, {path.scale:.4g}"
        in said(app)
    )
    assert f"add up to {path.total:.4f}, and the model's own logit is {path.logit:.4f}" in said(app)
    assert f"The keys of this head add {own:+.4f}" in said(app)
    app.selectbox(key="claim_said").select("direct_logit").run()
    found = faithfulness.agreement(*planted, 1, 0, LAST, erase=False)
    assert f"is {found.correlation('direct_logit', 'key_hiding'):.2f}" in said(app)
    app = page("proves-use", query="3")
    assert "attribution is left out. The logits are those of token 7" in said(app)
    assert "direct_logit" not in app.selectbox(key="claim_said").options


def test_entries_on_other_weights_are_offered_on_every_stack(page, monkeypatch):
    monkeypatch.setattr(different_behaviour, "STEPS", 3)
    monkeypatch.setattr(different_behaviour, "RESTARTS", 1)
    words = byte_level_bpe()
    hf = tiny.hf("T5ForConditionalGeneration", vocab_size=len(words))
    model = attnviz.wrap(hf, words, name="tiny")
    for stack in ("encoder", "decoder", "cross"):
        link = {"model": "smollm2-135m", "text": "a cat sat", "target": "a cat", "stack": stack}
        link |= {"layer": "1", "head": "0", "query": "1"}
        app = page("proves-use", {"smollm2-135m": model}, **link)
        capture = attnviz.capture(model, "a cat sat", target="a cat")
        found = faithfulness.agreement(model, capture, 1, 0, 1, stack=stack)
        assert f"is {found.correlation('weight', 'key_hiding'):.2f}" in said(app)
        app.button(key="erasing_start").click().run()
        assert f"Token hidden from every {stack} head" in app.selectbox(key="claim_taken").options
        app = page("different-behaviour", {"smollm2-135m": model}, **link)
        deals = faithfulness.permutations(model, capture, 1, 0, 1, stack=stack)
        assert f"by {deals.median:.2g} at the median" in said(app)
        app.button(key="adversary_start").click().run()
        assert not app.error
        assert "None found within 3 steps" in said(app) or "Found: weights" in said(app)


def test_the_sink_of_the_planted_circuit_brings_nothing(page):
    app = page("proves-use", layer="1", head="1")
    line = next(line for line in said(app).splitlines() if line.startswith("The first token here"))
    assert "weight 1.000" in line or "weight 0.999" in line
    assert "0.02 times as long" in line


def test_parts_add_up_to_the_output(page, planted):
    _, capture = planted
    app = page("is-the-output", layer="0", head="1")
    head = capture.head(0, 1)
    assert f"{head.additivity_error:.1e}" in said(app) and "add up to 1.000000" in said(app)
    frame = table(app, "claim_length")
    own = head.contributions(LAST)
    assert frame["Length"].tolist() == own["contribution_norm"].iloc[: LAST + 1].tolist()
    length = np.linalg.norm(head.output[LAST] @ head.w_o)
    assert f"vector of length {length:.4g}" in said(app)


def test_a_real_choice_is_compared_with_even_weights(page, planted):
    model, capture = planted
    app = page("chosen")
    alone = np.zeros(8)
    alone[capture.head(1, 0).weights[LAST].argmax()] = 1
    at = {"layer": 1, "head": 0, "stack": "decoder", "query": LAST}
    choose, even = effects(
        model, capture, [[SetWeights(**at, weights=tuple(alone))], [Flatten(**at)]]
    )
    assert f"would move by {output_change(capture, choose, LAST):.2g}" in said(app)
    assert f"move it by {output_change(capture, even, LAST):.2g}." in said(app)


def test_other_weights_are_the_librarys(page, planted, monkeypatch):
    monkeypatch.setattr(different_behaviour, "STEPS", 3)
    monkeypatch.setattr(different_behaviour, "RESTARTS", 1)
    app = page("different-behaviour")
    deals = faithfulness.permutations(*planted, 1, 0, LAST, count=100)
    even = faithfulness.flat(*planted, 1, 0, LAST)
    assert f"by {deals.median:.2g} at the median" in said(app)
    assert f"Even weights move it by {even:.2g}" in said(app)
    app.selectbox(key="claim_scope").select("layer").run()
    layer = faithfulness.permutations(*planted, 1, None, LAST, count=100)
    assert f"by {layer.median:.2g} at the median" in said(app)
    app.button(key="adversary_start").click().run()
    assert "None found within 3 steps" in said(app) or "Found: weights" in said(app)


def test_an_even_head_is_moved_by_no_deal(page):
    app = page("different-behaviour", layer="1", head="2")
    line = next(line for line in said(app).splitlines() if line.startswith("Dealt anew"))
    assert float(line.split("move the output by ")[1].split()[0]) < 1e-6


def test_rollout_stands_beside_even_rollout(page, planted):
    _, capture = planted
    app = page("average-heads")
    rolled = faithfulness.rollout(capture)
    even = faithfulness.uniform_rollout(8, 2, causal=True)
    lower = np.tri(8, dtype=bool)
    correlation = np.corrcoef(rolled[lower], even[lower])[0, 1]
    assert f"correlate at {correlation:.3f} over all cells" in said(app)
    frame = table(app, "claim_rollout")
    assert frame["this model"].tolist() == rolled[LAST].tolist()
    assert frame["even attention"].tolist() == even[LAST].tolist()


def test_shuffled_and_random_tokens_keep_what_is_special(planted):
    model, capture = planted
    ids = capture.forward["input_ids"][0].tolist()
    mixed = shuffle_tokens(model, capture, 1)
    drawn = draw_tokens(model, capture, 1)
    assert sorted(mixed) == sorted(ids) and mixed != ids
    assert mixed[0] == drawn[0] == ids[0] and 0 not in drawn[1:]


def test_a_head_of_positions_keeps_its_measure_on_shuffled_tokens(page):
    app = page("named-heads", layer="0", head="0")
    frame = table(app, "claim_named").set_index("Measure")
    previous = frame.loc["Previous token"]
    assert previous["your text"] > 0.9 and previous["shuffled tokens"] > 0.9
    assert previous["random tokens"] > 0.9
    app = page("named-heads", layer="0", head="1")
    same = table(app, "claim_named").set_index("Measure").loc["Same token"]
    assert same["your text"] > 0.9


def test_shifted_scores_look_different_and_give_the_same_weights(page, planted):
    app = page("bright-map")
    assert "differ by at most" in said(app)
    line = next(line for line in said(app).splitlines() if "differ by at most" in line)
    assert float(line.rsplit("most", 1)[1].strip(" :")) < 1e-5
    assert "The evenest head of the layer is number 2, with 0.200" in said(app)


def test_a_mask_leaves_nothing_and_a_low_score_something(page, planted):
    model, capture = planted
    app = page("mask")
    frame = table(app, "claim_mask")
    assert frame["masked"].iloc[4] == 0 < frame["at a score of 0"].iloc[4]
    hidden = HideKeys(1, 0, "decoder", keys=(4,), queries=(LAST,))
    run = attnviz.run(model, interventions=[hidden], baseline=capture)
    assert f"masked, by {run.total_variation:.2g}" in said(app)
    assert "the weights add up to 0, and the row attends to nothing" in said(app)
    assert "0.125 on each of 8 keys" in said(app)


def test_temperature_of_scores_and_of_sampling_are_two_things(page, planted):
    model, capture = planted
    app = page("temperature")
    logits = capture.logits[-1].astype(float)
    sampled = np.exp(logits / 2 - (logits / 2).max())
    frame = table(app, "claim_temperature")
    best = (sampled / sampled.sum()).max()
    assert frame["sampling"].max() == pytest.approx(best)
    assert frame["scores of this head"].iloc[0] != pytest.approx(frame["sampling"].iloc[0])


def test_the_planted_circuit_is_one_click_away_and_one_back(page, smollm2):
    models = {"smollm2-135m": smollm2, "planted-circuit": attnviz.load("planted-circuit")}
    app = page("proves-use", models, model="smollm2-135m", text="The cat sat down")
    app.button(key="claim_planted_proves-use").click().run()
    assert not app.exception and not app.error
    assert "Planted circuit, layer 1, head 1" in said(app) and "Look for this" in said(app)
    app.button(key="claim_back_proves-use").click().run()
    assert "SmolLM2 135M, layer 17, head 5" in said(app)
    assert app.text_area(key="text_box").value == "The cat sat down"


def all_open(app):
    """The same page with every entry open."""
    for claim in ENTRIES:
        app.session_state[f"entry_{claim}"] = True
    app.run()
    assert len(opened(app)) == 11 and not app.exception
    return app


OTHERS = {
    "an encoder": ("BertModel", "the cat sat", {}),
    "a mask to fill": ("BertForMaskedLM", "the [MASK] sat", {}),
    "no mask to fill": ("BertForMaskedLM", "the cat sat", {}),
    "encoder side": ("T5ForConditionalGeneration", "a cat sat", {"stack": "encoder"}),
    "decoder side": ("T5ForConditionalGeneration", "a cat sat", {"stack": "decoder"}),
    "cross": ("T5ForConditionalGeneration", "a cat sat", {"stack": "cross"}),
    "one token": ("GPT2LMHeadModel", "a", {"special": "off"}),
}


@pytest.mark.parametrize("case", OTHERS)
def test_every_entry_says_what_it_can_on_any_kind_of_model(page, case):
    name, text, link = OTHERS[case]
    words = wordpiece() if name.startswith("Bert") else byte_level_bpe()
    model = attnviz.wrap(tiny.hf(name, vocab_size=len(words)), words, name="tiny")
    app = page(None, {"smollm2-135m": model}, model="smollm2-135m", text=text, **link)
    all_open(app)
    assert not app.error, said(app)
    assert "nan" not in said(app).split() and not any("nan" in alt.split() for alt in alts(app))
    assert ("there is no output to compare" in said(app)) == (case == "no mask to fill")


def test_a_users_text_is_never_markup(page):
    for claim in ("mask", "chosen", "proves-use"):
        app = page(claim, text="**red** <b>fox</b> $ran$ [home](http://x)")
        kinds = (app.markdown, app.caption, app.title, app.header, app.error, app.warning)
        markup = "\n".join(element.value for kind in kinds for element in kind)
        assert "<b>" not in markup and "**red**" not in markup and "http://x" not in markup


def test_on_the_default_model_the_row_and_its_rollout_are_measured(page, smollm2):
    text = "Our lighthouse keeper winds the brass clock at dawn"
    app = page("average-heads", {"smollm2-135m": smollm2}, model="smollm2-135m", text=text)
    capture = attnviz.capture(smollm2, text)
    rolled = faithfulness.rollout(capture)
    even = faithfulness.uniform_rollout(len(rolled), 30, causal=True)
    lower = np.tri(len(rolled), dtype=bool)
    correlation = np.corrcoef(rolled[lower], even[lower])[0, 1]
    assert f"correlate at {correlation:.3f}" in said(app) and correlation > 0.95
