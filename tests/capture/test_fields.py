"""A setting of attention, or an argument of its call, that no code accounts for is refused."""

import numpy as np
import pytest
import torch
import transformers

import attnviz
from attnviz.capture import strategies
from attnviz.capture.config_fields import refuse_unknown
from attnviz.capture.forward import run_forward
from tests import tiny
from tests.sweep.configs import config_of, rows


def test_an_unknown_setting_of_attention_is_refused_by_name():
    model = tiny.hf("LlamaForCausalLM")
    model.config.attention_twist = 3.0
    with pytest.raises(attnviz.UnsupportedModel, match=r"attention_twist.*may change the scores"):
        attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(5))
    assert model.config._attn_implementation == "sdpa" and model.training


@pytest.mark.parametrize("value", [None, False])
def test_a_setting_that_says_nothing_is_let_through(value):
    model = tiny.hf("LlamaForCausalLM")
    model.config.attention_twist = value
    assert attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(5)).receipt.ok


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
    refuse_unknown(config)
    getattr(config, part).qk_twist = 3.0
    with pytest.raises(attnviz.UnsupportedModel, match="qk_twist"):
        refuse_unknown(config)


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
    config = transformers.LlamaConfig(**{name: value})
    with pytest.raises(attnviz.UnsupportedModel, match=name):
        refuse_unknown(config)


@pytest.mark.parametrize(
    "fields",
    [
        {"head_size": 8, "classifier_pooling": "mean", "mask_token_id": 4, "tie_embeddings": True},
        {"masked_softmax_fusion": True, "attn_implementation": "flash_attention_2"},
        {"rope_scaling": {"rope_type": "linear", "factor": 2.0}, "rotary_pct": 0.25},
    ],
)
def test_other_settings_and_those_of_kernels_are_let_through(fields):
    refuse_unknown(transformers.LlamaConfig(**fields))


def test_relative_positions_that_the_model_file_no_longer_has_are_refused():
    """huggingface/transformers#41170: the class takes the setting and runs without it."""
    model = tiny.hf("BertModel", position_embedding_type="relative_key")
    with pytest.raises(attnviz.UnsupportedModel, match="position_embedding_type='relative_key'"):
        attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(5))
    model.config.position_embedding_type = "absolute"
    assert attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(5)).receipt.ok


def test_every_setting_of_the_swept_architectures_is_accounted_for():
    """A release of transformers with a new one must be looked at."""
    unknown = {}
    for row in rows():
        try:
            refuse_unknown(config_of(row))
        except attnviz.UnsupportedModel as refusal:
            unknown[row.name] = refusal.what
    assert not unknown


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
