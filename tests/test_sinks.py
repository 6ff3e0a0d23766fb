"""A sink takes a part of every row and no value; on numbers small enough to check by hand, and on
a model whose sinks are large enough to be seen."""

import numpy as np
import pytest
import torch

import attnviz
from attnviz.heads.head import Head
from tests import tiny

GPT_OSS = {"num_key_value_heads": 2, "head_dim": 8, "num_local_experts": 2}


def test_temperature_divides_the_logit_of_the_sink_as_well():
    """microsoft/onnxruntime-genai#1211: scores 0, 0 and a sink of log 4 are 1 : 1 : 4; at
    temperature 2 they are 1 : 1 : 2."""
    head = Head([[0.0]], [[0.0], [0.0]], [[1.0], [3.0]], scaling=1.0, sink_logit=float(np.log(4)))
    np.testing.assert_allclose(head.weights, [[1 / 6, 1 / 6]], atol=1e-6)
    np.testing.assert_allclose(head.sink, [4 / 6], atol=1e-6)
    cooler = head.temper(2.0)
    np.testing.assert_allclose(cooler.weights, [[1 / 4, 1 / 4]], atol=1e-6)
    np.testing.assert_allclose(cooler.sink, [2 / 4], atol=1e-6)


def test_what_the_sink_takes_brings_no_value():
    head = Head(
        [[0.0]], [[0.0], [0.0]], [[1.0], [3.0]], scaling=1.0, sink_logit=float(np.log(2)),
        w_o=[[1.0]],
    )  # fmt: skip
    np.testing.assert_allclose(head.output, [[1.0]], atol=1e-6)
    np.testing.assert_allclose(head.contributions(0)["contribution_norm"], [0.25, 0.75], atol=1e-6)


def test_each_head_of_a_model_has_its_own_sink():
    """fla-org/flash-linear-attention#831: rows fall short of 1 by as much as their own head's sink
    takes."""
    model = tiny.hf("GptOssForCausalLM", num_experts_per_tok=1, **GPT_OSS)
    logits = torch.tensor([20.0, 0.0, 45.0, -20.0])
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.sinks.copy_(logits)
    cap = attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(8))
    for layer, h in np.ndindex(3, 4):
        head = cap.head(layer, h)
        assert head.sink_logit == pytest.approx(float(logits[h]))
        wide = np.concatenate([head.scores, np.full((8, 1), float(logits[h]))], 1).astype(float)
        wide = np.exp(wide - wide.max(axis=1, keepdims=True))
        expected = wide / wide.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(head.weights, expected[:, :-1], atol=1e-5)
        np.testing.assert_allclose(head.sink, expected[:, -1], atol=1e-5)
    assert cap.head(0, 2).sink.min() > 0.9 and np.median(cap.head(0, 3).sink) < 0.1
