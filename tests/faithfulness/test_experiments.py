"""Experiments on real runs of tiny models and of the planted circuit."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch

import attnviz
from attnviz.faithfulness import adversary, agreement, erasure, flat, permutations, spearman
from attnviz.faithfulness.agreement import MEASURED, SAID, Agreement
from attnviz.faithfulness.gradient import weight_gradient
from attnviz.interventions import HideKeys, SetWeights
from tests import tiny
from tests.planted_heads import PLANTED


@pytest.fixture(scope="module")
def llama():
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    return model, attnviz.capture(model, input_ids=tiny.ids(9))


@pytest.fixture(scope="module")
def planted():
    model = attnviz.load("planted-circuit")
    return model, attnviz.capture(model, "the cat sat on the mat the cat sat on the")


def place(kind):
    return next(place for place, planted in PLANTED.items() if planted == kind)


def test_the_gradient_is_the_slope_of_the_logit(llama):
    model, cap = llama
    token = int(cap.logits[-1].argmax())
    for layer, head in ((0, 1), (1, 3), (2, 0)):
        slope = weight_gradient(model, cap, layer, head, 8, token)
        weights = cap.head(layer, head).weights[8]
        step = np.zeros(9)
        step[2], step[5] = 1e-2, -1e-2
        if weights[5] < 1e-2:
            step = -step
        moved = []
        for sign in (1, -1):
            changed = np.clip(weights + sign * step * min(1, weights.max()), 0, None)
            run = attnviz.run(
                model,
                interventions=[SetWeights(layer, head, query=8, weights=changed / changed.sum())],
                baseline=cap,
            )
            moved.append((changed / changed.sum(), run.logits[-1, token]))
        (one, up), (other, down) = moved
        assert up - down == pytest.approx(float(slope @ (one - other)), rel=0.1, abs=1e-3)


def test_gradients_leave_nothing_on_the_model(llama):
    model, cap = llama
    weight_gradient(model, cap, 1, 0, 8, 3)
    assert all(parameter.grad is None for parameter in model.hf.parameters())
    assert torch.is_grad_enabled()


def test_agreement_measures_every_key_the_row_may_see(llama):
    model, cap = llama
    found = agreement(model, cap, 1, 2, query=6)
    assert found.table["position"].tolist() == list(range(7))
    columns = ["weight", "contribution_norm", "gradient_x_weight", "key_hiding", "token_erasure"]
    assert found.table[columns].notna().all().all()
    assert -1 <= found.correlation("weight", "key_hiding") <= 1
    assert 0 < found.chance < 1


def test_in_the_planted_circuit_the_induction_head_carries_the_answer(planted):
    model, cap = planted
    layer, head = place("induction")
    found = agreement(model, cap, layer, head)
    heaviest = found.table["weight"].idxmax()
    assert found.table["key_hiding"].idxmax() == heaviest
    assert found.table["key_hiding"][heaviest] > 0.3


def test_in_the_planted_circuit_the_sink_has_the_weight_and_brings_nothing(planted):
    model, cap = planted
    layer, head = place("first-token")
    found = agreement(model, cap, layer, head)
    assert found.table["weight"].idxmax() == 0
    assert found.table["value_zeroing"].max() < 1e-3


def test_dealt_and_flat_rows_are_real_runs(llama):
    model, cap = llama
    dealt = permutations(model, cap, 1, 0, count=6)
    assert len(dealt.changes) == 6 and dealt.changes.max() > 0
    assert dealt.median == pytest.approx(np.median(dealt.changes))
    even = cap.head(1, 0).weights[8].copy()
    even[:] = 1 / 9
    by_hand = attnviz.run(
        model, interventions=[SetWeights(1, 0, query=8, weights=even)], baseline=cap
    )
    assert flat(model, cap, 1, 0) == pytest.approx(by_hand.total_variation, abs=1e-5)


def test_erasing_goes_from_the_heaviest_down(llama):
    model, cap = llama
    found = erasure(model, cap, 0, 1)
    assert (np.diff(found.weights) <= 0).all()
    assert 0 <= found.heaviest_beats <= 1
    run = attnviz.run(
        model,
        interventions=[HideKeys(0, 1, keys=(found.keys[0],), queries=(8,))],
        baseline=cap,
    )
    assert found.changes[0] == pytest.approx(run.total_variation, abs=1e-4)


def test_an_adversary_is_checked_by_a_real_run(llama):
    """Jain and Wallace 2019: far weights, nearly the same output."""
    model, cap = llama
    found = adversary(model, cap, 2, 1, allowed=0.05, steps=40)
    assert found.found and 0 < found.divergence <= np.log(2)
    weights = found.weights / found.weights.sum()
    run = attnviz.run(
        model, interventions=[SetWeights(2, 1, query=8, weights=weights)], baseline=cap
    )
    assert run.total_variation == pytest.approx(found.change, abs=1e-3)
    assert run.total_variation <= 0.051


def test_an_adversary_of_a_head_with_a_sink_leaves_the_sink_its_share():
    sizes = {"head_dim": 8, "num_key_value_heads": 2, "num_local_experts": 4}
    model = attnviz.wrap(tiny.hf("GptOssForCausalLM", **sizes))
    cap = attnviz.capture(model, input_ids=tiny.ids(9))
    sinks = np.array([[cap.head(la, h).sink for h in range(4)] for la in range(3)])
    at = np.unravel_index(np.abs(sinks - 0.5)[..., 4:].argmin(), sinks[..., 4:].shape)
    layer, head, query = (int(place) for place in at + np.array([0, 0, 4]))
    assert 0.1 < sinks[layer, head, query] < 0.9
    found = adversary(model, cap, layer, head, query, allowed=0.5, steps=10)
    assert found.found and found.divergence > 1e-3
    assert found.weights.sum() == pytest.approx(1 - sinks[layer, head, query], abs=1e-5)


def test_models_without_a_head_measure_the_hidden_state():
    model = attnviz.wrap(tiny.hf("BertModel"))
    cap = attnviz.capture(model, input_ids=tiny.ids(6))
    found = agreement(model, cap, 1, 0, query=2)
    assert found.unit == "1 - cosine, 0 to 2"
    assert found.table["gradient_x_weight"].isna().all()
    assert found.table["key_hiding"].max() > 0
    with pytest.raises(attnviz.BadInput, match="predicts no tokens"):
        adversary(model, cap, 1, 0)
    with pytest.raises(attnviz.BadInput, match="no logit of token 3"):
        agreement(model, cap, 1, 0, token_id=3)


def test_a_masked_language_model_needs_a_masked_place():
    model = attnviz.wrap(tiny.hf("BertForMaskedLM"))
    cap = attnviz.capture(model, input_ids=tiny.ids(6))
    with pytest.raises(attnviz.BadInput, match="mask token"):
        agreement(model, cap, 1, 0)


def test_experiments_touch_the_stack_they_are_asked_about():
    model = attnviz.wrap(tiny.hf("BartForConditionalGeneration"))
    cap = attnviz.capture(model, input_ids=[5, 6, 7, 8], decoder_input_ids=[2, 9, 10])
    cross = agreement(model, cap, 1, 0, stack="cross")
    assert cross.table["position"].tolist() == [0, 1, 2, 3]
    assert cross.table["key_hiding"].max() > 0
    assert len(erasure(model, cap, 1, 0, stack="decoder").keys) == 3
    run = attnviz.run(
        model,
        interventions=[HideKeys(1, 0, "cross", keys=(2,), queries=(2,))],
        baseline=cap,
    )
    assert cross.table["key_hiding"][2] == pytest.approx(run.total_variation, abs=1e-5)
    both = (cap.head(1, 0, "decoder").weights, run.capture.head(1, 0, "decoder").weights)
    assert np.array_equal(*both)


@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("name", ["T5ForConditionalGeneration", "BartForConditionalGeneration"])
def test_gradients_and_adversaries_of_every_stack_are_those_of_real_runs(name, stack):
    model = attnviz.wrap(tiny.hf(name))
    cap = attnviz.capture(model, input_ids=[5, 6, 7, 8], decoder_input_ids=[2, 9, 10])
    head, row = cap.head(1, 0, stack), 2
    weights, token = head.weights[row], int(cap.logits[-1].argmax())
    slope = weight_gradient(model, cap, 1, 0, row, token, stack=stack)
    order = np.argsort(weights)
    step = np.zeros(len(weights))
    step[order[-1]], step[order[0]] = -1e-3, 1e-3
    up, down = (
        attnviz.run(
            model,
            interventions=[SetWeights(1, 0, stack, query=row, weights=weights + sign * step)],
            baseline=cap,
        ).logits[-1, token]
        for sign in (1, 0)
    )
    assert up - down == pytest.approx(float(slope @ step), rel=0.05, abs=1e-4)
    found = adversary(model, cap, 1, 0, row, stack=stack, allowed=0.2, steps=30)
    put = found.weights / found.weights.sum()
    run = attnviz.run(
        model, interventions=[SetWeights(1, 0, stack, query=row, weights=put)], baseline=cap
    )
    assert run.total_variation == pytest.approx(found.change, abs=1e-3)
    table = agreement(model, cap, 1, 0, row, stack=stack).table
    assert table["token_erasure"].max() > 0
    np.testing.assert_allclose(
        table["gradient_x_weight"], np.abs(weights * slope)[head.allowed[row]], rtol=1e-4
    )


def test_a_query_beyond_the_decoder_is_measured_by_the_decoders_last_state():
    model = attnviz.wrap(tiny.hf("BartModel", **tiny.SEQ2SEQ_SIZES))
    cap = attnviz.capture(model, input_ids=[5, 6, 7, 8], decoder_input_ids=[2, 9])
    found = agreement(model, cap, 0, 0, 3, stack="encoder", erase=False)
    assert found.unit.startswith("1 - cosine") and found.table["key_hiding"].notna().all()


@pytest.mark.parametrize("keys", [5, 12])
def test_chance_is_what_95_in_100_random_orders_stay_under(keys):
    """Of five keys every order is gone through, of twelve many."""
    found = Agreement(pd.DataFrame({"position": range(keys)}), unit="").chance
    order = np.arange(keys)
    if keys == 5:
        others = [np.array(other) for other in itertools.permutations(range(keys))]
    else:
        rng = np.random.default_rng(1)
        others = [rng.permutation(keys) for _ in range(4000)]
    sizes = np.abs([spearman(order, other) for other in others])
    assert (sizes <= found + 1e-9).mean() >= 0.94 and (sizes < found - 1e-9).mean() <= 0.96
    assert Agreement(pd.DataFrame({"position": range(2)}), unit="").chance == 1


def test_changes_that_are_rounding_have_one_rank_and_no_correlation():
    columns = dict.fromkeys([*SAID, *MEASURED], np.nan)
    table = pd.DataFrame(
        [
            {**columns, "position": k, "token": t, "weight": w, "key_hiding": h, "value_zeroing": z}
            for k, (t, w, h, z) in enumerate(
                [("a", 0.5, 3e-8, 0.2), ("b", 0.3, 9e-8, 0.1), ("c", 0.2, 6e-8, 4e-9)]
            )
        ]
    )
    found = Agreement(table, unit="")
    assert found.ranks["key_hiding"].tolist() == [2, 2, 2]
    assert found.ranks["value_zeroing"].tolist() == [1, 2, 3]
    assert np.isnan(found.correlation("weight", "key_hiding"))
    assert found.correlation("weight", "value_zeroing") == 1
    assert found.correlation("weight", "value_zeroing", "kendall") == 1
