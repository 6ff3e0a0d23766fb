"""What-ifs in real runs, against references that share no code with them."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

import attnviz
from attnviz.heads import head as head_module
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
    engine,
    shortcut,
)
from tests import tiny

PROJECTIONS = {
    "LlamaForCausalLM": ("model.layers.{}.self_attn.o_proj", {"num_key_value_heads": 2}),
    "BertForMaskedLM": ("bert.encoder.layer.{}.attention.output.dense", {}),
    "GPT2LMHeadModel": ("transformer.h.{}.attn.c_proj", {}),
    "BartForConditionalGeneration": ("model.decoder.layers.{}.self_attn.out_proj", {}),
}


def by_hook(model, path, columns, **inputs):
    """The model's output with some columns of a projection's input set to 0."""

    def zero(module, args):
        vectors = args[0].clone()
        vectors[..., columns] = 0
        return (vectors, *args[1:])

    handle = model.get_submodule(path).register_forward_pre_hook(zero)
    try:
        with torch.no_grad():
            return model(**inputs).logits[0]
    finally:
        handle.remove()


@pytest.mark.parametrize("name", PROJECTIONS)
def test_taking_a_head_away_is_zeroing_its_slice_before_the_projection(name):
    """huggingface/transformers#41076, #41620, #27044: head_mask is accepted and ignored."""
    path, options = PROJECTIONS[name]
    model = tiny.hf(name, **options).eval()
    ids, extra = torch.tensor([[5, 6, 7, 8]]), {}
    if name.startswith("Bart"):
        extra["decoder_input_ids"] = torch.tensor([[2, 9, 10]])
    loaded = attnviz.wrap(model)
    baseline = attnviz.capture(loaded, input_ids=ids, **extra)
    size = 16 if name.startswith("Bart") else 8
    run = attnviz.run(
        loaded, interventions=[Ablate(0, 0, "decoder" if extra else None)], baseline=baseline
    )
    expected = by_hook(model, path.format(0), slice(0, size), input_ids=ids, **extra)
    with torch.no_grad():
        usual = model(input_ids=ids, **extra).logits[0]
    assert (expected - usual).abs().max() > 1e-3
    if len(baseline.logit_positions):
        np.testing.assert_allclose(run.logits[-1], expected[-1], atol=1e-4)
        np.testing.assert_allclose(baseline.logits[-1], usual[-1], atol=1e-4)
    last = run.capture.blocks[-1]
    assert not np.allclose(last.q, baseline.blocks[-1].q, atol=1e-4)


def test_a_head_is_a_slice_before_the_projection_and_not_after():
    """interp-reasoning/thought-anchors#7, ndif-team/nnsight#525: two projects zeroed a slice of
    the output and called it a head."""
    model = tiny.hf("LlamaForCausalLM", num_key_value_heads=2).eval()
    loaded, ids = attnviz.wrap(model), tiny.ids(8)
    baseline = attnviz.capture(loaded, input_ids=ids)
    run = attnviz.run(loaded, interventions=[Ablate(1, 3)], baseline=baseline)
    path = "model.layers.1.self_attn.o_proj"
    right = by_hook(model, path, slice(24, 32), input_ids=ids)[-1]
    np.testing.assert_allclose(run.logits[-1], right, atol=1e-4)

    def after(module, args, output):
        return torch.cat([output[..., :24], torch.zeros_like(output[..., 24:])], -1)

    handle = model.get_submodule(path).register_forward_hook(after)
    with torch.no_grad():
        wrong = model(ids).logits[0, -1]
    handle.remove()
    assert np.abs(run.logits[-1] - wrong.numpy()).max() > 1e-2
    for h in range(3):
        same, now = baseline.head(1, h), run.capture.head(1, h)
        assert np.array_equal(same.weights, now.weights) and np.array_equal(same.v, now.v)
    assert not np.allclose(baseline.head(2, 0).weights, run.capture.head(2, 0).weights, atol=1e-4)


def test_taking_one_of_a_group_away_leaves_the_other():
    """TransformerLensOrg/TransformerLens#1593: heads 0 and 1 share their keys and values."""
    loaded = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(6))
    run = attnviz.run(loaded, interventions=[ZeroValue(0, 1, key=2)], baseline=baseline)
    assert np.array_equal(run.capture.head(0, 0).output, baseline.head(0, 0).output)
    assert not np.array_equal(run.capture.head(0, 1).output, baseline.head(0, 1).output)


def test_layers_that_share_a_module_are_touched_one_at_a_time():
    """espnet/espnet#1644: ablating "layer 1" must change only the second call."""
    loaded = attnviz.wrap(tiny.hf("AlbertModel", embedding_size=16))
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(6))
    run = attnviz.run(loaded, interventions=[Ablate(1, 0)], baseline=baseline)
    assert np.array_equal(run.capture.head(0, 0).output, baseline.head(0, 0).output)
    assert (run.capture.head(1, 0).output == 0).all()
    assert np.array_equal(run.capture.head(1, 1).weights, baseline.head(1, 1).weights)
    assert not np.allclose(run.capture.head(2, 1).weights, baseline.head(2, 1).weights, atol=1e-4)


def test_a_token_hidden_everywhere_is_a_true_run_with_that_key_masked():
    """abisee/pointer-generator#88, stanford-futuredata/ColBERT#69: not the baseline rescaled."""
    model = tiny.hf("BertModel").eval()
    loaded, ids = attnviz.wrap(model), tiny.ids(5)
    baseline = attnviz.capture(loaded, input_ids=ids)
    run = attnviz.run(loaded, interventions=[HideKeys(keys=(2,))], baseline=baseline)
    mask = [1, 1, 0, 1, 1]
    masked = attnviz.capture(loaded, input_ids=ids, attention_mask=mask)
    for layer, h in np.ndindex(3, 4):
        shown = run.capture.head(layer, h)
        assert (shown.weights[:, 2] == 0).all()
        np.testing.assert_allclose(shown.weights.sum(axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(shown.weights, masked.head(layer, h).weights, atol=1e-5)
    rescaled = baseline.head(1, 0).weights.copy()
    rescaled[:, 2] = 0
    rescaled /= rescaled.sum(axis=1, keepdims=True)
    assert np.abs(run.capture.head(1, 0).weights - rescaled).max() > 1e-3
    assert len(run.capture.query_tokens()) == 5


@pytest.mark.parametrize("name", ["LlamaForCausalLM", "GptOssForCausalLM"])
def test_temperature_on_one_head(name):
    """suno-ai/bark#270, microsoft/onnxruntime-genai#1211: sinks are divided too."""
    options = {"num_key_value_heads": 2, "head_dim": 8}
    if name.startswith("Gpt"):
        options.update(num_local_experts=2, num_experts_per_tok=1)
    loaded = attnviz.wrap(tiny.hf(name, **options))
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(7))
    same = attnviz.run(loaded, interventions=[Temper(1, 2, temperature=1)], baseline=baseline)
    np.testing.assert_allclose(same.logits, baseline.logits, atol=1e-5)
    half = attnviz.run(loaded, interventions=[Temper(1, 2, temperature=0.5)], baseline=baseline)
    head = baseline.head(1, 2)
    exp = np.where(head.allowed, np.exp(2 * head.scores.astype(np.float64)), 0)
    sink = 0 if head.sink_logit is None else np.exp(2 * head.sink_logit)
    expected = exp / (exp.sum(axis=1, keepdims=True) + sink)
    np.testing.assert_allclose(half.capture.head(1, 2).weights, expected, atol=1e-5)
    assert half.kl > 0
    for bad in (0, -1, float("nan")):
        with pytest.raises(attnviz.BadInput, match="positive"):
            attnviz.run(loaded, interventions=[Temper(1, 2, temperature=bad)], baseline=baseline)


WHATIFS = {
    "hide a key from one row": [HideKeys(1, 2, keys=(3,), queries=(9,))],
    "hide a token everywhere": [HideKeys(keys=(4,))],
    "temper": [Temper(2, 1, temperature=3.0)],
    "add to a score": [AddToScore(1, 0, query=6, key=2, amount=4.0)],
    "set weights": [SetWeights(1, 1, query=7, weights=(0.5, 0.5, *[0] * 8))],
    "permute": [Permute(1, 0, query=8)],
    "flatten": [Flatten(0, 3, query=5)],
    "zero a value": [ZeroValue(1, 0, key=6)],
    "ablate at one place": [Ablate(1, 2, queries=(9,))],
    "two at once": [Ablate(2, 0, queries=(8,)), HideKeys(1, 1, keys=(5,))],
}
MODELS = {
    "LlamaForCausalLM": {"num_key_value_heads": 2},
    "GPT2LMHeadModel": {},
    "MistralForCausalLM": {"num_key_value_heads": 2, "sliding_window": 8},
    "Gemma2ForCausalLM": {"num_key_value_heads": 2, "head_dim": 8, "sliding_window": 4},
    "BertModel": {},
    "BloomForCausalLM": {"vocab_size": 99, "hidden_size": 32, "n_layer": 3, "n_head": 4},
}


@pytest.fixture(scope="module", params=MODELS)
def pair(request):
    loaded = attnviz.wrap(tiny.hf(request.param, **MODELS[request.param]))
    return loaded, attnviz.capture(loaded, input_ids=tiny.ids(10))


@pytest.mark.parametrize("what", WHATIFS)
def test_running_only_what_can_change_gives_what_a_full_run_gives(pair, what, monkeypatch):
    loaded, baseline = pair
    short = attnviz.run(loaded, interventions=WHATIFS[what], baseline=baseline)
    many = effects(loaded, baseline, [WHATIFS[what]] * 2)
    monkeypatch.setattr(engine, "layers_to_skip", lambda hf, baseline: None)
    monkeypatch.setattr(engine, "_can_skip", lambda model, baseline: False)
    full = attnviz.run(loaded, interventions=WHATIFS[what], baseline=baseline)
    assert (full.from_layer, full.from_position) == (0, 0)
    expected = engine.model_output(full.capture)
    np.testing.assert_allclose(engine.model_output(short.capture), expected, atol=1e-4, rtol=1e-4)
    for found in many:
        np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-4)
    assert np.abs(expected - engine.model_output(baseline)).max() > 1e-6
    for block in full.capture.blocks:
        for h in range(block.heads):
            shown = short.capture.head(block.layer, h)
            np.testing.assert_allclose(shown.weights, block.head(h).weights, atol=1e-5)


def test_later_layers_and_positions_are_all_that_runs():
    loaded = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(10))
    run = attnviz.run(loaded, interventions=[Ablate(2, 0, queries=(9,))], baseline=baseline)
    assert (run.from_layer, run.from_position) == (2, 9)
    assert run.capture.block(1) is baseline.block(1)


def test_the_baseline_and_the_model_are_untouched_by_any_what_if(pair):
    loaded, baseline = pair
    state = {name: value.clone() for name, value in loaded.hf.state_dict().items()}
    modules = [id(module) for module in loaded.hf.modules()]
    for whatif in WHATIFS.values():
        attnviz.run(loaded, interventions=whatif, baseline=baseline)
    again = attnviz.capture(loaded, input_ids=tiny.ids(10))
    assert np.array_equal(engine.model_output(again), engine.model_output(baseline))
    assert [id(module) for module in loaded.hf.modules()] == modules
    assert all(torch.equal(value, state[name]) for name, value in loaded.hf.state_dict().items())


def test_a_what_if_in_one_thread_never_shows_in_another():
    """streamlit/streamlit#8009, castorini/daam#52: hooks left on a shared model."""
    loaded = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(8))
    alone = attnviz.run(loaded, interventions=[Ablate(0, 0)], baseline=baseline).logits

    def work(number):
        if number % 2:
            return attnviz.run(loaded, interventions=[Ablate(0, 0)], baseline=baseline).logits
        return attnviz.capture(loaded, input_ids=tiny.ids(8)).logits

    with ThreadPoolExecutor(2) as pool:
        for number, logits in enumerate(pool.map(work, range(100))):
            assert np.array_equal(logits, alone if number % 2 else baseline.logits)


def test_places_that_are_not_there_are_refused_before_anything_runs():
    """meta-pytorch/captum#340, TransformerLensOrg/TransformerLens#156: ablate layer 99."""
    loaded = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(5))
    for whatif in (Ablate(99, 0), Ablate(0, 9), Ablate(0, 0, "encoder"), HideKeys(0, keys=(7,))):
        with pytest.raises(attnviz.BadInput):
            attnviz.run(loaded, interventions=[whatif], baseline=baseline)
    again = attnviz.capture(loaded, input_ids=tiny.ids(5))
    assert np.array_equal(again.logits, baseline.logits)


def test_changes_of_the_output_distribution_by_hand():
    """Total variation of (.5, .5) and (.9, .1) is .4."""
    from attnviz.heads.distances import logit_kl, logit_variation

    before, after = np.log([[0.5, 0.5]]), np.log([[0.9, 0.1]])
    assert logit_variation(before, after) == pytest.approx(0.4)
    assert logit_kl(before, after) == pytest.approx(
        0.5 * np.log(0.5 / 0.9) + 0.5 * np.log(0.5 / 0.1)
    )
    assert logit_kl(before, before) == 0


ALL_AT_ONCE = {
    "means": [Ablate(1, h, how="mean", queries=(9,)) for h in range(4)],
    "deals": [Ablate(1, h, how="resample", queries=(7, 9), seed=h) for h in range(4)],
    "means at every place": [Ablate(2, h, how="mean") for h in range(4)],
    "a whole layer": [Ablate(1, how="mean", queries=(8,)), Ablate(1, how="resample", seed=1)],
    "values": [ZeroValue(1, 2, key=key) for key in range(10)],
    "keys": [HideKeys(0, 1, keys=(key,), queries=(9,)) for key in range(9)],
}


@pytest.mark.parametrize("what", ALL_AT_ONCE)
def test_many_at_once_give_what_each_gives_alone(pair, what):
    loaded, baseline = pair
    outputs = effects(loaded, baseline, [[one] for one in ALL_AT_ONCE[what]])
    size = max(1.0, float(np.abs(engine.model_output(baseline)).max()))
    for one, found in zip(ALL_AT_ONCE[what], outputs, strict=True):
        _, expected, _ = engine.run_one(loaded, baseline, [one], 0)
        np.testing.assert_allclose(found / size, expected / size, atol=1e-5)
        assert np.abs(expected - engine.model_output(baseline)).max() > 1e-6


@pytest.fixture
def passes(monkeypatch):
    """How often a model is run, alone or with many texts."""
    counted = []
    run = engine.run_forward
    monkeypatch.setattr(engine, "run_forward", lambda *a, **o: counted.append(1) or run(*a, **o))
    return counted


@pytest.mark.parametrize("name", ["LlamaForCausalLM", "BertModel", "T5ForConditionalGeneration"])
def test_means_deals_and_values_share_a_pass(name, passes):
    loaded = attnviz.wrap(tiny.hf(name))
    more = {"decoder_input_ids": [2, 9, 10]} if name.startswith("T5") else {}
    stack = "encoder" if more else None
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(10), **more)
    effects(loaded, baseline, [[Ablate(1, 0, stack)]] * 2)  # shortcuts are tried once a model
    for how in ("zero", "mean", "resample"):
        del passes[:]
        effects(loaded, baseline, [[Ablate(1, h, stack, how=how)] for h in range(4)])
        assert len(passes) == 1, how
    del passes[:]
    values = effects(loaded, baseline, [[ZeroValue(1, 0, stack, key=key)] for key in range(10)])
    assert len(passes) == 1
    for key, found in enumerate(values):
        _, expected, _ = engine.run_one(loaded, baseline, [ZeroValue(1, 0, stack, key=key)], 0)
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_mean_of_the_baseline_is_not_waited_for():
    loaded = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(10))
    for how in ("zero", "mean", "resample"):
        whatif = engine.freeze_baseline_outputs(baseline, [Ablate(1, 0, how=how, queries=(9,))])
        assert engine.find_start(loaded, baseline, whatif) == (9, 1), how


def test_a_mean_after_another_change_is_taken_of_what_that_left():
    loaded = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(10))
    both = [Ablate(0, 0), Ablate(1, 0, how="mean", queries=(9,))]
    run = attnviz.run(loaded, interventions=both, baseline=baseline)
    (found,) = effects(loaded, baseline, [both])
    np.testing.assert_allclose(found, run.logits, atol=1e-4)


def test_looking_at_places_works_out_no_head(monkeypatch):
    loaded = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(5))
    monkeypatch.setattr(type(baseline), "head", lambda *a: pytest.fail("a head was worked out"))
    even = tuple([0.2] * 5)
    kinds = [Temper(0, 0), HideKeys(0, 0, keys=(1,)), AddToScore(0, 0), Permute(0, 0)]
    kinds += [Flatten(0, 0), ZeroValue(0, 0), Ablate(0, 0, how="mean")]
    engine.check_places(baseline, [*kinds, SetWeights(0, 0, query=4, weights=even)])
    bad = [Temper(0, 0, temperature=0), HideKeys(0, 0, keys=(5,)), HideKeys(0, queries=(5,))]
    bad += [AddToScore(0, 0, query=5), AddToScore(0, 0, key=5), Permute(0, 0, query=5)]
    bad += [Flatten(0, 0, query=-1), ZeroValue(0, 0, key=5), Ablate(0, 0, queries=(5,))]
    bad += [SetWeights(0, 0, query=3, weights=even), SetWeights(0, query=4, weights=(1.0,))]
    for one in bad:
        with pytest.raises(attnviz.BadInput):
            engine.check_places(baseline, [one])


def test_what_is_run_again_begins_where_the_outputs_of_the_layers_are_known():
    """Of a late row, the layers' outputs are held from that row on; an earlier row needs more."""
    loaded = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(10))
    effects(loaded, baseline, [[Ablate(1, 0, queries=(9,))]])  # shortcuts are tried once a model
    for first in (9, 4, 7):
        gone = Ablate(1, None, queries=tuple(range(first, 10)))
        (found,) = effects(loaded, baseline, [[gone]])
        _, expected, _ = engine.run_one(loaded, baseline, [gone], 0)
        np.testing.assert_allclose(found, expected, atol=1e-4)
        assert np.abs(expected - engine.model_output(baseline)).max() > 1e-3
    assert shortcut._outputs[baseline][0] == 4


def test_layers_whose_outputs_would_be_too_much_are_run(monkeypatch):
    loaded = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(10))
    whatif = [Temper(2, 1, temperature=3.0)]
    assert engine.find_start(loaded, baseline, whatif) == (0, 2)
    expected = attnviz.run(loaded, interventions=whatif, baseline=baseline).logits
    monkeypatch.setattr(shortcut, "_MOST_OUTPUTS", 0)
    run = attnviz.run(loaded, interventions=whatif, baseline=baseline)
    assert run.from_layer == 0
    np.testing.assert_allclose(run.logits, expected, atol=1e-5)


def test_rows_of_a_long_text_are_dealt_and_evened_some_at_a_time(monkeypatch):
    loaded = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    head = attnviz.capture(loaded, input_ids=tiny.ids(10)).head(1, 0)
    changes = [Permute(1, 0), Permute(1, 0, query=7), Flatten(1, 0), Ablate(1, 0, how="mean")]
    whole = [change.apply(head) for change in changes]
    monkeypatch.setattr(head_module, "CELLS", 3 * 10)
    monkeypatch.setattr(head_module, "OUTPUT_CELLS", 3 * 10)
    for change, expected in zip(changes, whole, strict=True):
        found = change.apply(replace(head))
        np.testing.assert_allclose(found.weights, expected.weights, atol=1e-6)
        np.testing.assert_allclose(replace(found).output, expected.output, atol=1e-5)


@pytest.mark.parametrize("queries", [None, (9,)])
def test_a_run_that_keeps_some_layers_is_the_same_run(queries):
    loaded = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(10))
    whatif = [Ablate(0, 1, queries=queries)]
    whole = attnviz.run(loaded, interventions=whatif, baseline=baseline)
    some = attnviz.run(loaded, interventions=whatif, baseline=baseline, layers=[1])
    np.testing.assert_array_equal(some.logits, whole.logits)
    assert [block.layer for block in some.capture.blocks] == [1]
    found, expected = (run.capture.head(1, 2) for run in (some, whole))
    np.testing.assert_array_equal(found.weights, expected.weights)


def test_a_layer_that_is_not_kept_is_checked_all_the_same(monkeypatch):
    loaded = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    baseline = attnviz.capture(loaded, input_ids=tiny.ids(10))
    checked = []
    run_module = sys.modules["attnviz.interventions.run"]  # its name is the function's too
    real = run_module.verify

    def verify(calls, dtype):
        checked.extend(calls)
        return real(calls, dtype)

    monkeypatch.setattr(run_module, "verify", verify)
    attnviz.run(loaded, interventions=[Ablate(0, 1)], baseline=baseline, layers=[2])
    assert [call.block.layer for call in checked] == [0, 1, 2]
