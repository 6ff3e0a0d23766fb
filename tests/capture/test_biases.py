"""Biases of projections belong to no head and to no key. Most models begin with biases of 0, which
hide a bias that is dropped, so here they are large."""

import numpy as np
import pytest
import torch

import attnviz
from tests import tiny

FALCON = {
    "vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 64, "initializer_range": 0.5, "bias": True,
}  # fmt: skip
MODELS = {
    "one call of a linear layer": ("BertModel", {}, "encoder.layer.1.attention.output.dense"),
    "GPT-2's product with the bias added": ("GPT2LMHeadModel", {}, "transformer.h.1.attn.c_proj"),
    "Falcon's product, the bias a step of its own": (
        "FalconForCausalLM", FALCON, "transformer.h.1.self_attention.dense",
    ),
    "a convolution over one place": (
        "SqueezeBertModel",
        {"hidden_size": 64, "embedding_size": 64, "intermediate_size": 80},
        "encoder.layers.1.post_attention.conv1d",
    ),
    "without": ("LlamaForCausalLM", {}, "model.layers.1.self_attn.o_proj"),
}  # fmt: skip


@pytest.mark.parametrize("how", MODELS)
def test_contributions_and_the_bias_are_the_output_of_the_projection(how):
    name, options, path = MODELS[how]
    model = tiny.hf(name, **options).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.copy_(1 + torch.randn(parameter.shape, generator=generator))
    cap = attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(7))
    seen = []
    projection = model.get_submodule(path)
    handle = projection.register_forward_hook(lambda module, args, output: seen.append(output[0]))
    with torch.no_grad():
        model(tiny.ids(7))
    handle.remove()
    real = seen[0].T if seen[0].shape[-1] == 7 else seen[0]
    heads = [cap.head(1, h) for h in range(cap.heads(1))]
    parts = sum(head.weights @ (head.v @ head.w_o) for head in heads)
    bias = getattr(projection, "bias", None)
    if bias is None:
        assert heads[0].w_o_bias is None
    else:
        np.testing.assert_array_equal(heads[0].w_o_bias, bias.detach())
        assert np.abs(parts - real.numpy()).max() > 0.1
        parts = parts + heads[0].w_o_bias
    np.testing.assert_allclose(parts, real, atol=1e-4, rtol=1e-4)
    assert cap.receipt.projections == len(cap.blocks)
