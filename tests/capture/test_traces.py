"""A capture leaves a model as it found it, whichever way it was taken, from the first one on."""

import pytest
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

import attnviz
from attnviz.capture.model_state import PREFIX, switch_model
from tests import tiny

MODELS = {
    "attention interface, sdpa": ("LlamaForCausalLM", {"attention": "sdpa"}),
    "attention interface, eager": ("LlamaForCausalLM", {"attention": "eager"}),
    "softmax bridge": ("MPNetModel", {}),
    "two stacks": ("BartForConditionalGeneration", {}),
}


def traces(model):
    """Everything on a model that a capture might leave changed."""
    modules = dict(model.named_modules())
    configs = {id(m.config): m.config for m in modules.values() if hasattr(m, "config")}
    return {
        "attention": [config._attn_implementation for config in configs.values()],
        "configs": [config.to_dict() for config in configs.values()],
        "training": {name: module.training for name, module in modules.items()},
        "hooks": [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in modules.values()],
        "attributes": {name: sorted(vars(module)) for name, module in modules.items()},
        "parameters": {name: (p.data_ptr(), p._version) for name, p in model.named_parameters()},
    }


@pytest.mark.parametrize("way", MODELS)
def test_the_first_capture_of_a_model_leaves_nothing_behind(way):
    """meta-pytorch/captum#340, TransformerLensOrg/TransformerLens#156: hooks and switches stay."""
    name, options = MODELS[way]
    model = tiny.hf(name, **options)
    before = traces(model)
    extra = {"decoder_input_ids": [2, 7]} if way == "two stacks" else {}
    cap = attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(5), **extra)
    assert cap.receipt.ok
    assert traces(model) == before


def test_a_capture_that_is_refused_leaves_nothing_behind():
    """huggingface/transformers#5646: a windowed encoder is tried every way, and refused."""
    model = tiny.hf("LongformerModel", attention_window=4)
    before = traces(model)
    with pytest.raises(attnviz.UnsupportedModel, match="windows, in chunks"):
        attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(10))
    assert traces(model) == before


def test_a_switch_holds_until_the_last_that_needs_it_is_done():
    """streamlit/streamlit#8009: sessions that share a model must not switch it back too early."""
    model = tiny.hf("LlamaForCausalLM")
    with switch_model(model, PREFIX + "{own}"):
        with switch_model(model, PREFIX + "{own}"):
            assert model.config._attn_implementation == PREFIX + "sdpa"
        assert model.config._attn_implementation == PREFIX + "sdpa"
        assert not model.training
    assert model.config._attn_implementation == "sdpa" and model.training


def test_transformers_own_functions_are_not_replaced():
    own = {name: ALL_ATTENTION_FUNCTIONS[name] for name in ("sdpa", "flash_attention_2")}
    attnviz.capture(attnviz.wrap(tiny.hf("LlamaForCausalLM")), input_ids=tiny.ids(5))
    assert all(ALL_ATTENTION_FUNCTIONS[name] is function for name, function in own.items())
