"""Direct logit attribution: the parts add up to the logit, or there are none and a reason."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import attnviz
from attnviz.faithfulness import agreement, direct_path
from attnviz.faithfulness.logit_attribution import refuse_indirect
from attnviz.heads.head import Head
from attnviz.interventions import ZeroValue
from tests import tiny

ADDED_STRAIGHT = {
    "LlamaForCausalLM": ({"num_key_value_heads": 2}, "RMS norm"),
    "GemmaForCausalLM": ({"num_key_value_heads": 2, "head_dim": 8}, "RMS norm"),
    "GPT2LMHeadModel": ({}, "layer norm"),
    "OPTForCausalLM": ({"word_embed_proj_dim": 32, "ffn_dim": 40}, "layer norm"),
    "OlmoForCausalLM": ({"num_key_value_heads": 4}, "layer norm"),  # without parameters
    "GPTNeoXForCausalLM": ({}, "layer norm"),  # heads and feed-forward layer beside each other
    "PhiForCausalLM": ({"num_key_value_heads": 4}, "layer norm"),  # its unembedding has a bias
    "BloomForCausalLM": ({"n_layer": 3, "n_head": 4}, "layer norm"),  # by the softmax bridge
}
OTHERWISE = {
    "logits capped": ("Gemma2ForCausalLM", {"num_key_value_heads": 2, "head_dim": 8}, "capped"),
    "logits scaled": ("CohereForCausalLM", {"num_key_value_heads": 4}, "scaled or capped"),
    "two sides": ("T5ForConditionalGeneration", {}, "residual stream of a decoder"),
    "a head of its own": ("BertLMHeadModel", {"is_decoder": True}, "No norm of this model"),
}
NOT_AS_IT_IS = {
    "Olmo2ForCausalLM": {"num_key_value_heads": 4},  # normed after the projection
    "GraniteForCausalLM": {"num_key_value_heads": 4, "residual_multiplier": 0.5},
}


def captured(name, **options):
    """With gains and biases that do something: a new model's are ones and zeros."""
    hf, random = tiny.hf(name, **options), torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in hf.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn(parameter.shape, generator=random) / 2)
    model = attnviz.wrap(hf)
    return model, attnviz.capture(model, input_ids=tiny.ids(9))


@pytest.mark.parametrize("name", ADDED_STRAIGHT)
def test_all_parts_add_up_to_the_logit_and_keys_to_their_block(name):
    options, norm = ADDED_STRAIGHT[name]
    model, cap = captured(name, **options)
    for token in (int(cap.logits[-1].argmax()), 3):
        path = direct_path(model, cap, token)
        assert path.norm == norm and path.logit == pytest.approx(cap.logits[-1, token])
        assert path.total == pytest.approx(path.logit, abs=1e-4)
        for layer in cap.layers():
            refuse_indirect(path, cap.block(layer))
            heads = [cap.head(layer, h) for h in range(4)]
            parts = path.parts @ path.direction
            block = sum(path.of_keys(head, 8).sum() for head in heads)
            if heads[0].w_o_bias is not None:
                block += heads[0].w_o_bias @ path.direction
            assert np.abs(parts - block).min() < 1e-4


def test_keys_of_a_head_add_up_to_the_head():
    model, cap = captured("LlamaForCausalLM", num_key_value_heads=2)
    path, head = direct_path(model, cap), cap.head(2, 1)
    whole = head.output[8] @ head.w_o @ path.direction
    assert path.of_keys(head, 8).sum() == pytest.approx(whole, abs=1e-5)
    assert abs(whole) > 1e-3


class Frozen(torch.nn.Module):
    """An RMS norm that divides by a number once and for all."""

    def __init__(self, weight, scale):
        super().__init__()
        self.weight, self.scale = weight, scale

    def forward(self, x):
        return self.weight * x / self.scale


def test_where_there_is_no_other_way_it_is_what_taking_the_value_away_takes_from_the_logit():
    """The last layer without its feed-forward layer, before a norm whose scale stands still."""
    hf = tiny.hf("LlamaForCausalLM", num_key_value_heads=2).eval()
    torch.nn.init.zeros_(hf.model.layers[-1].mlp.down_proj.weight)
    model = attnviz.wrap(hf)
    cap = attnviz.capture(model, input_ids=tiny.ids(9))
    path = direct_path(model, cap)
    stream = path.parts.sum(axis=0)
    assert path.scale == pytest.approx(np.sqrt((stream**2).mean()), rel=1e-4)
    said = path.of_keys(cap.head(2, 3), 8)
    hf.model.norm = Frozen(hf.model.norm.weight, path.scale)
    still = attnviz.capture(model, input_ids=tiny.ids(9))
    assert still.logits[-1, path.token_id] == pytest.approx(path.logit, abs=1e-4)
    for key in range(9):
        gone = attnviz.run(model, interventions=[ZeroValue(2, 3, key=key)], baseline=still)
        assert -gone.logit_change(path.token_id) == pytest.approx(said[key], abs=1e-4)


@pytest.mark.parametrize("case", OTHERWISE)
def test_logits_that_are_made_in_another_way_are_refused_with_a_reason(case):
    name, options, why = OTHERWISE[case]
    model, cap = captured(name, **options)
    with pytest.raises(attnviz.UnsupportedModel) as refusal:
        direct_path(model, cap)
    assert why in refusal.value.why


@pytest.mark.parametrize("name", NOT_AS_IT_IS)
def test_a_block_that_is_changed_before_it_is_added_is_refused(name):
    model, cap = captured(name, **NOT_AS_IT_IS[name])
    path = direct_path(model, cap)
    assert path.total == pytest.approx(path.logit, abs=1e-4)
    with pytest.raises(attnviz.UnsupportedModel, match="left out"):
        refuse_indirect(path, cap.block(1))
    found = agreement(model, cap, 1, 0, erase=False)
    assert found.direct is None and "scaled or normed before" in found.no_direct
    assert found.table["direct_logit"].isna().all()


def test_a_block_whose_values_were_not_seen_is_refused_with_a_reason():
    model, cap = captured("LlamaForCausalLM", num_key_value_heads=2)
    watched = Head(q=None, k=None, v=None, given={"scaled": np.zeros((1, 1))})
    block = SimpleNamespace(between="", queries=1, heads=1, head=lambda number, rows: watched)
    with pytest.raises(attnviz.UnsupportedModel, match="left out") as refusal:
        refuse_indirect(direct_path(model, cap), block)
    assert "values" in refusal.value.why


def test_agreement_has_its_size_at_the_token_that_predicts_and_at_no_other():
    model, cap = captured("LlamaForCausalLM", num_key_value_heads=2)
    found = agreement(model, cap, 1, 2, erase=False)
    head = cap.head(1, 2)
    expected = np.abs(direct_path(model, cap).of_keys(head, 8))
    np.testing.assert_allclose(found.table["direct_logit"], expected, atol=1e-6)
    assert not found.no_direct and found.direct.token_id == cap.logits[-1].argmax()
    other = agreement(model, cap, 1, 2, erase=False, token_id=3)
    assert other.direct.logit == pytest.approx(cap.logits[-1, 3])
    assert not np.allclose(other.table["direct_logit"], expected, atol=1e-4)
    earlier = agreement(model, cap, 1, 2, query=5, erase=False)
    assert earlier.table["direct_logit"].isna().all()
    assert "those of token 8" in earlier.no_direct


def test_following_the_stream_leaves_the_model_as_it_was():
    model, cap = captured("GPT2LMHeadModel")
    modules = [id(module) for module in model.hf.modules()]
    model.hf.train()
    direct_path(model, cap)
    assert model.hf.training and [id(module) for module in model.hf.modules()] == modules
    assert np.array_equal(attnviz.capture(model, input_ids=tiny.ids(9)).logits, cap.logits)
