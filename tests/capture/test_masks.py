"""What is masked, why, and what a row that attends to nothing looks like."""

import copy

import numpy as np
import pytest
import torch

import attnviz
from attnviz.heads.masks import ALLOWED, FUTURE, PADDING, WINDOW
from tests import tiny


def capture(model, ids, **options):
    return attnviz.capture(attnviz.wrap(model), input_ids=ids, **options)


LEFT_PADDED = ([1, 1, 5, 6, 7, 8], [0, 0, 1, 1, 1, 1])


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_row_that_may_look_at_nothing_attends_to_nothing(attention):
    """pytorch/pytorch#103749, huggingface/transformers#27114,
    TransformerLensOrg/TransformerLens#389: plain attention returns 1/6 in every cell of them."""
    model = tiny.hf("LlamaForCausalLM", attention=attention)
    ids, mask = LEFT_PADDED
    head = capture(model, ids, attention_mask=mask).head(1, 2)
    assert head.attends.tolist() == [False, False, True, True, True, True]
    assert (head.weights[:2] == 0).all() and (head.scores[:2] == -np.inf).all()
    assert (head.weights[2:, :2] == 0).all()
    np.testing.assert_allclose(head.weights[2:].sum(axis=1), 1, atol=1e-5)
    assert (head.mask_reason[:, :2] == PADDING).all()
    assert head.mask_reason[2, 3] == FUTURE and head.mask_reason[2, 2] == ALLOWED


def test_rows_of_padding_in_bert_are_real():
    """huggingface/transformers#35182: padding is masked as a key and still asks as a query."""
    model = tiny.hf("BertModel")
    head = capture(model, [5, 6, 7, 8, 0, 0], attention_mask=[1, 1, 1, 1, 0, 0]).head(0, 0)
    assert head.attends.all()
    assert (head.weights[:, 4:] == 0).all()
    np.testing.assert_allclose(head.weights.sum(axis=1), 1, atol=1e-5)
    assert (head.mask_reason[:, 4:] == PADDING).all()
    assert head.weights[4, :4].min() > 0


def test_padding_on_the_left_changes_no_number():
    """huggingface/trl#469, huggingface/transformers#3167: without positions from the mask the
    same four tokens give other weights."""
    model = tiny.hf("GPT2LMHeadModel")
    bare = capture(model, [5, 6, 7, 8])
    padded = capture(model, [0, 0, 5, 6, 7, 8], attention_mask=[0, 0, 1, 1, 1, 1])
    for layer, head in np.ndindex(3, 4):
        shown = padded.head(layer, head).weights[2:, 2:]
        np.testing.assert_allclose(shown, bare.head(layer, head).weights, atol=1e-5)


WINDOWED = {
    "MistralForCausalLM": ({"sliding_window": 3, "num_key_value_heads": 2}, {0: 3, 1: 3}),
    "Gemma2ForCausalLM": (
        {"sliding_window": 4, "num_key_value_heads": 2, "head_dim": 8},
        {0: 4, 1: None},
    ),
    "GptOssForCausalLM": (
        {
            "sliding_window": 4,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "num_local_experts": 2,
            "num_experts_per_tok": 1,
        },
        {0: 4, 1: None},
    ),
}


@pytest.mark.parametrize("name", WINDOWED)
def test_windows_are_exact_and_said_layer_by_layer(name):
    """huggingface/transformers#29623, #39408, #35924: windows off by one between back ends."""
    options, windows = WINDOWED[name]
    cap = capture(tiny.hf(name, **options), tiny.ids(10))
    for layer, window in windows.items():
        head = cap.head(layer, 0)
        assert head.window == window
        for i, j in np.ndindex(10, 10):
            near = window is None or i - j < window
            assert head.allowed[i, j] == (j <= i and near)
            assert (head.weights[i, j] > 0) == head.allowed[i, j]
            if j <= i and not near:
                assert head.mask_reason[i, j] == WINDOW


def test_the_fast_kernel_hides_the_future_as_plain_attention_does():
    """huggingface/transformers#30652: with no mask passed, the slow path once ran without one."""
    model = tiny.hf("LlamaForCausalLM", attention="sdpa").eval()
    plain = copy.deepcopy(model)
    plain.set_attn_implementation("eager")
    ids = tiny.ids(8)
    cap = capture(model, ids)
    for layer, head in np.ndindex(3, 4):
        assert (np.triu(cap.head(layer, head).weights, 1) == 0).all()
    with torch.no_grad():
        expected = plain(ids).logits[0, -1].numpy()
    np.testing.assert_allclose(cap.logits[-1], expected, atol=1e-5)


def test_an_encoder_without_padding_masks_nothing():
    """huggingface/transformers#30652: no mask object exists at all."""
    head = capture(tiny.hf("BertModel"), tiny.ids(5)).head(0, 0)
    assert head.allowed.all() and (head.mask_reason == ALLOWED).all()
    assert "masked" not in head.stages


def test_training_mode_is_left_and_put_back():
    """idiap/fast-transformers#131, huggingface/transformers#31468: a model built from a config
    starts in training mode, and its weights sum to anything."""
    model = tiny.hf("BertModel")
    model.encoder.layer[1].eval()
    modes = [module.training for module in model.modules()]
    assert model.training
    first, again = capture(model, tiny.ids(6)), capture(model, tiny.ids(6))
    assert np.array_equal(first.head(2, 1).weights, again.head(2, 1).weights)
    np.testing.assert_allclose(first.head(2, 1).weights.sum(axis=1), 1, atol=1e-5)
    assert [module.training for module in model.modules()] == modes
