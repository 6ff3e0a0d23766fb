"""One model, many captures: threads, errors, and what is left behind."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

import attnviz
from tests import tiny


def fingerprint(model):
    """Everything about a model that a capture might leave changed."""
    hooks = sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())
    configs = {
        id(m.config): m.config._attn_implementation for m in model.modules() if has_config(m)
    }
    return hooks, configs, [m.training for m in model.modules()]


def has_config(module):
    return hasattr(getattr(module, "config", None), "_attn_implementation")


def test_threads_on_one_model_never_see_each_others_text():
    """streamlit/streamlit#8009, jonfairbanks/local-rag#54: hooks on a shared model mix sessions
    up."""
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    texts = [tiny.ids(4 + seed % 5, seed=seed) for seed in range(12)]
    alone = [attnviz.capture(model, input_ids=ids) for ids in texts]
    before = fingerprint(model.hf)

    def again(number):
        cap = attnviz.capture(model, input_ids=texts[number % 12])
        plain = model.hf(texts[number % 12]).logits[0, -1].detach().numpy()
        return number % 12, cap, plain

    with ThreadPoolExecutor(4) as pool:
        for number, cap, plain in pool.map(again, range(96)):
            for layer, head in np.ndindex(3, 4):
                shown, expected = cap.head(layer, head), alone[number].head(layer, head)
                assert np.array_equal(shown.weights, expected.weights)
            assert cap.receipt.recorded == 3
            assert plain.shape == cap.logits[-1].shape
    assert fingerprint(model.hf) == before


def test_two_models_that_share_a_config_do_not_switch_each_other_off():
    first = tiny.hf("LlamaForCausalLM")
    second = type(first)(first.config)
    models = [attnviz.wrap(first), attnviz.wrap(second)]
    with ThreadPoolExecutor(4) as pool:
        caps = list(
            pool.map(lambda n: attnviz.capture(models[n % 2], input_ids=tiny.ids(6)), range(40))
        )
    assert all(cap.receipt.ok for cap in caps)
    assert first.config._attn_implementation == "sdpa"


def test_an_error_in_the_middle_leaves_nothing_behind(monkeypatch):
    """meta-pytorch/captum#340, TransformerLensOrg/TransformerLens#156: hooks stayed on."""
    model = tiny.hf("LlamaForCausalLM")
    loaded = attnviz.wrap(model)
    first = attnviz.capture(loaded, input_ids=tiny.ids(5)).logits
    before = fingerprint(model)
    with pytest.raises(attnviz.BadInput, match="vocabulary"):
        attnviz.capture(loaded, input_ids=[5, 6, 500])

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(model.model.layers[2].mlp, "forward", stop)
    with pytest.raises(KeyboardInterrupt):
        attnviz.capture(loaded, input_ids=tiny.ids(5))
    monkeypatch.undo()
    assert fingerprint(model) == before
    assert np.array_equal(attnviz.capture(loaded, input_ids=tiny.ids(5)).logits, first)


def test_the_fast_kernel_runs_during_a_capture(monkeypatch):
    calls = []
    own = ALL_ATTENTION_FUNCTIONS["sdpa"]
    monkeypatch.setitem(
        ALL_ATTENTION_FUNCTIONS._global_mapping,
        "sdpa",
        lambda *args, **kwargs: calls.append(1) or own(*args, **kwargs),
    )
    model = attnviz.wrap(tiny.hf("Qwen2ForCausalLM", num_key_value_heads=2))
    attnviz.capture(model, input_ids=tiny.ids(5))
    from attnviz.capture import interface

    interface._own_function.cache_clear()
    calls.clear()
    attnviz.capture(model, input_ids=tiny.ids(5))
    interface._own_function.cache_clear()
    assert len(calls) == 3


def test_gradients_stay_on_for_the_caller():
    model = tiny.hf("LlamaForCausalLM")
    attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(5))
    model(tiny.ids(5)).logits.sum().backward()
    assert model.model.embed_tokens.weight.grad.abs().max() > 0
    assert torch.is_grad_enabled()


def test_memory_grows_with_tokens_not_their_square():
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM", max_position_embeddings=512))
    short, long = (attnviz.capture(model, input_ids=tiny.ids(n)).nbytes for n in (64, 256))
    assert long < 4.5 * short


def test_a_weight_that_does_not_check_out_is_refused_not_shown(monkeypatch):
    """The receipt must notice a call whose arguments were read wrongly."""
    from attnviz.capture import block

    model = attnviz.wrap(tiny.hf("LlamaForCausalLM"))
    monkeypatch.setattr(block.Block, "scale", property(lambda self: 0.5))
    with pytest.raises(attnviz.CaptureFailed, match="could not be verified"):
        attnviz.capture(model, input_ids=tiny.ids(8))
