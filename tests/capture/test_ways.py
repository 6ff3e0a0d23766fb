"""How a way to record a model is chosen, and what may not come through."""

import threading

import numpy as np
import pytest
import torch
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

import attnviz
from attnviz.capture import strategies
from attnviz.capture.forward import run_forward
from attnviz.capture.model_state import PREFIX
from attnviz.capture.recording import Recording
from tests import tiny


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_causal_model_keeps_its_mask_under_the_private_name(attention):
    """Without a mask function beside it, a name of one's own turns a causal model bidirectional,
    and nothing fails."""
    model = tiny.hf("LlamaForCausalLM", attention=attention).eval()
    ids = tiny.ids(7)
    _, output = strategies.STRATEGIES[0].record(model, "decoder", run_forward, {"input_ids": ids})
    with torch.no_grad():
        np.testing.assert_allclose(output.logits[0, -1], model(ids).logits[0, -1], atol=1e-5)
    cap = attnviz.capture(attnviz.wrap(model), input_ids=ids)
    assert cap.receipt.method == "attention interface"
    for registry in (ALL_ATTENTION_FUNCTIONS, ALL_MASK_ATTENTION_FUNCTIONS):
        assert not any(name.startswith(PREFIX) for name in registry.keys())


class _Louder(Recording):
    """A recorder that changes what it records."""

    def open_call(self, block, mixed):
        return super().open_call(block, mixed) * 1.01


class _Deaf(Recording):
    """A recorder that misses a layer."""

    def open_call(self, block, mixed):
        opened = super().open_call(block, mixed)
        self.calls = [call for call in self.calls if call.block.layer != 1]
        return opened


def only(monkeypatch, *recorders):
    """Leave no other ways than these, all through the registry."""
    kept = [
        strategies.RecordingStrategy(recorder.__name__, recorder, PREFIX + "{own}")
        for recorder in recorders
    ]
    monkeypatch.setattr(strategies, "STRATEGIES", tuple(kept))


def test_a_way_that_moves_the_outputs_is_not_taken(monkeypatch):
    """huggingface/transformers#29946: a model's numbers must not move because it is looked at."""
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM"))
    only(monkeypatch, _Louder, Recording)
    assert attnviz.capture(model, input_ids=tiny.ids(5)).receipt.method == "Recording"
    only(monkeypatch, _Louder)
    with pytest.raises(attnviz.UnsupportedModel, match="changes what LlamaForCausalLM puts out"):
        attnviz.capture(attnviz.wrap(tiny.hf("LlamaForCausalLM")), input_ids=tiny.ids(5))


def test_a_way_that_misses_a_block_is_not_taken(monkeypatch):
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM"))
    only(monkeypatch, _Deaf, Recording)
    assert attnviz.capture(model, input_ids=tiny.ids(5)).receipt.method == "Recording"
    only(monkeypatch, _Deaf)
    with pytest.raises(attnviz.UnsupportedModel, match="2 of 3 attention blocks"):
        attnviz.capture(attnviz.wrap(tiny.hf("LlamaForCausalLM")), input_ids=tiny.ids(5))


def test_a_plain_run_in_another_thread_leaves_no_trace_in_a_capture(monkeypatch):
    """streamlit/streamlit#8009: what another session runs meanwhile is not this one's."""
    model = tiny.hf("LlamaForCausalLM", num_key_value_heads=2).eval()
    loaded, ids = attnviz.wrap(model), tiny.ids(6)
    alone = attnviz.capture(loaded, input_ids=ids)
    layer = model.model.layers[1].mlp
    own, here, others = layer.forward, threading.get_ident(), []

    def beside(states):
        if threading.get_ident() == here:
            with torch.no_grad():
                other = threading.Thread(target=lambda: others.append(model(tiny.ids(4, seed=9))))
                other.start()
                other.join()
        return own(states)

    monkeypatch.setattr(layer, "forward", beside)
    cap = attnviz.capture(loaded, input_ids=ids)
    assert len(others) == 1 and len(cap.blocks) == 3
    for layer, head in np.ndindex(3, 4):
        assert np.array_equal(cap.head(layer, head).weights, alone.head(layer, head).weights)
