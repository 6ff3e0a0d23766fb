"""What a capture keeps of a model's outputs, and what it weighs."""

import numpy as np
import pytest
import torch

import attnviz
from tests import tiny


def test_logits_of_an_encoder_are_those_of_its_masked_places(wordpiece):
    model = tiny.hf("BertForMaskedLM").eval()
    cap = attnviz.capture(attnviz.wrap(model, wordpiece), "the [MASK] sat [MASK]")
    places = [token.position for token in cap.key_tokens() if token.label == "◆[MASK]"]
    assert cap.logit_positions == places == [2, 4]
    with torch.no_grad():
        own = model(cap.forward["input_ids"]).logits[0]
    np.testing.assert_allclose(cap.logits, own[places], atol=1e-5)


def test_the_likeliest_tokens_come_in_order_with_their_probabilities():
    model = tiny.hf("LlamaForCausalLM").eval()
    cap = attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(5))
    with torch.no_grad():
        shares = model(tiny.ids(5)).logits[0, -1].softmax(-1)
    top = shares.topk(3)
    found = cap.top_tokens(3)
    assert [token.id for token, _ in found] == top.indices.tolist()
    np.testing.assert_allclose([share for _, share in found], top.values, atol=1e-5)


def test_what_is_held_is_queries_keys_and_values_each_once():
    """3 layers, 9 tokens, 4 query heads on 2 of keys and values, 8 numbers each, 4 bytes a number;
    and the logits of one place."""
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    cap = attnviz.capture(model, input_ids=tiny.ids(9))
    assert cap.nbytes == 3 * 9 * (4 + 2 + 2) * 8 * 4 + 99 * 4


def test_one_mask_for_all_layers_is_counted_once():
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM", attention="eager", num_key_value_heads=2))
    cap = attnviz.capture(model, input_ids=tiny.ids(9))
    assert cap.nbytes == 3 * 9 * (4 + 2 + 2) * 8 * 4 + 99 * 4 + 9 * 9


def test_queries_keys_and_values_of_one_fused_product_are_counted_once():
    model = attnviz.wrap(tiny.hf("GPT2LMHeadModel"))
    cap = attnviz.capture(model, input_ids=tiny.ids(9))
    assert cap.nbytes == 3 * 9 * (3 * 32) * 4 + 99 * 4


@pytest.mark.parametrize("ids", [[5, 99], [5, -1]])
def test_the_first_id_past_the_vocabulary_is_one_too_many(ids):
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM"))
    with pytest.raises(attnviz.BadInput, match="0 to 98"):
        attnviz.capture(model, input_ids=ids)
    assert len(attnviz.capture(model, input_ids=[0, 98]).key_tokens()) == 2
