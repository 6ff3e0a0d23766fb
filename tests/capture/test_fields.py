"""Settings that a model file ignores are refused, and arguments of its calls that no code accounts
for; settings that nothing knows are noted, and the receipt tells whether they did anything."""

import numpy as np
import pytest
import torch
import transformers
from transformers.models.llama import modeling_llama

import attnviz
from attnviz.capture import interface, strategies
from attnviz.capture.config_fields import note_unknown, refuse_ignored
from attnviz.capture.forward import run_forward
from tests import tiny
from tests.sweep.configs import config_of, rows


def test_an_unknown_setting_of_attention_is_noted_by_name():
    model = tiny.hf("LlamaForCausalLM")
    model.config.attention_twist = 3.0
    cap = attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(5))
    assert cap.receipt.ok and any("does not know: attention_twist." in note for note in cap.notes)
    assert model.config._attn_implementation == "sdpa" and model.training


@pytest.fixture
def twistable(monkeypatch):
    """A model whose plain attention multiplies scores by a setting of its own."""
    own = modeling_llama.eager_attention_forward

    def twisted(module, query, *args, scaling, **kwargs):
        return own(module, query, *args, scaling=scaling * module.config.attention_twist, **kwargs)

    monkeypatch.setattr(modeling_llama, "eager_attention_forward", twisted)
    interface._own_function.cache_clear()  # which function a class calls
    yield tiny.hf("LlamaForCausalLM", attention="eager")
    interface._own_function.cache_clear()


def test_an_unknown_setting_that_changes_attention_is_refused_by_the_receipt(twistable):
    twistable.config.attention_twist = 1.0
    assert attnviz.capture(attnviz.wrap(twistable), input_ids=tiny.ids(5)).receipt.ok
    twistable.config.attention_twist = 1.01
    with pytest.raises(attnviz.CaptureFailed, match="could not be verified"):
        attnviz.capture(attnviz.wrap(twistable), input_ids=tiny.ids(5))
    assert twistable.config._attn_implementation == "eager" and twistable.training


@pytest.mark.parametrize("value", [None, False])
def test_a_setting_that_says_nothing_is_let_through(value):
    model = tiny.hf("LlamaForCausalLM")
    model.config.attention_twist = value
    cap = attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(5))
    assert cap.receipt.ok and not cap.notes


@pytest.mark.parametrize("part", ["text_config", "attn_config", "decoder"])
def test_the_parts_of_a_config_are_looked_through_as_well(part):
    bert = transformers.BertConfig()
    config = {
        "text_config": transformers.Gemma3Config,
        "attn_config": transformers.MptConfig,
        "decoder": lambda: transformers.EncoderDecoderConfig(
            encoder=bert.to_dict(), decoder=bert.to_dict()
        ),
    }[part]()
    assert not note_unknown(config)
    getattr(config, part).qk_twist = 3.0
    assert "qk_twist" in note_unknown(config)
    refuse_ignored(config)
    getattr(config, part).position_embedding_type = "relative_key"
    with pytest.raises(attnviz.UnsupportedModel, match="position_embedding_type='relative_key'"):
        refuse_ignored(config)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sink_tokens", 4),
        ("use_alibi", True),
        ("score_softcap", 20.0),
        ("talking_heads", True),
        ("yarn_scale", 2.0),
        ("key_scale", 2.0),
        ("local_window", 128),
        ("cosine_attn", True),
    ],
)
def test_settings_that_change_attention_are_noticed_by_their_names(name, value):
    assert name in note_unknown(transformers.LlamaConfig(**{name: value}))


@pytest.mark.parametrize(
    "fields",
    [
        {"head_size": 8, "classifier_pooling": "mean", "mask_token_id": 4, "tie_embeddings": True},
        {"attn_implementation": "flash_attention_2", "attention_dropout": 0.1},
        {"rope_scaling": {"rope_type": "linear", "factor": 2.0}, "rope_theta": 1e4},
    ],
)
def test_other_settings_and_those_of_the_class_are_let_through(fields):
    assert not note_unknown(transformers.LlamaConfig(**fields))


def test_relative_positions_that_the_model_file_no_longer_has_are_refused():
    """huggingface/transformers#41170: the class takes the setting and runs without it."""
    model = tiny.hf("BertModel", position_embedding_type="relative_key")
    with pytest.raises(attnviz.UnsupportedModel, match="position_embedding_type='relative_key'"):
        attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(5))
    model.config.position_embedding_type = "absolute"
    cap = attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(5))
    assert cap.receipt.ok and not cap.notes


def test_every_setting_of_the_swept_architectures_is_known_and_run():
    """A release of transformers with a new one must be looked at."""
    noted = {}
    for row in rows():
        config = config_of(row)
        refuse_ignored(config)
        if note := note_unknown(config):
            noted[row.name] = note
    assert not noted


@pytest.fixture
def twisted(monkeypatch):
    """A model whose second layer hands its attention call an argument of its own."""
    model = tiny.hf("LlamaForCausalLM").eval()
    attention = model.model.layers[1].self_attn
    own = attention.forward
    monkeypatch.setattr(
        attention, "forward", lambda *args, **kwargs: own(*args, **kwargs, attention_twist=3.0)
    )
    return model


def test_an_unknown_argument_of_the_call_is_refused_by_name(twisted):
    read = strategies.STRATEGIES[0]
    with pytest.raises(attnviz.UnsupportedModel, match=r"layers\.1.*attention_twist"):
        read.record(twisted, "decoder", run_forward, {"input_ids": tiny.ids(6)})


def test_where_arguments_cannot_be_read_the_scores_themselves_are_watched(twisted):
    ids = tiny.ids(6)
    cap = attnviz.capture(attnviz.wrap(twisted), input_ids=ids)
    assert cap.receipt.method == "softmax bridge"
    plain = tiny.hf("LlamaForCausalLM", attention="eager").eval()
    with torch.no_grad():
        own = plain(ids, output_attentions=True).attentions
    for layer in range(3):
        np.testing.assert_allclose(cap.head(layer, 0).weights, own[layer][0, 0], atol=1e-5)
