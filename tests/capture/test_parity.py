"""What a capture shows is what the model's own plain attention computes, on hot tiny models."""

import copy

import numpy as np
import pytest
import torch

import attnviz
from tests import tiny

FAMILIES = {
    "Llama, grouped heads": ("LlamaForCausalLM", {"num_key_value_heads": 2}),
    "GPT-2": ("GPT2LMHeadModel", {}),
    "GPT-2, layer scaling": ("GPT2LMHeadModel", {"scale_attn_by_inverse_layer_idx": True}),
    "BERT": ("BertModel", {}),
    "RoBERTa, language model": ("RobertaForMaskedLM", {}),
    "Qwen3, normed queries and keys": (
        "Qwen3ForCausalLM",
        {"num_key_value_heads": 2, "head_dim": 16},
    ),
    "Mistral, window 3": (
        "MistralForCausalLM",
        {"num_key_value_heads": 2, "sliding_window": 3},
    ),
    "Gemma-2, soft cap": (
        "Gemma2ForCausalLM",
        {
            "num_key_value_heads": 2,
            "head_dim": 8,
            "query_pre_attn_scalar": 16,
            "attn_logit_softcapping": 5.0,
            "sliding_window": 4,
        },
    ),
    "Gemma-3": (
        "Gemma3ForCausalLM",
        {"num_key_value_heads": 2, "head_dim": 8, "sliding_window": 4},
    ),
    "gpt-oss, sinks": (
        "GptOssForCausalLM",
        {
            "num_hidden_layers": 4,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "sliding_window": 4,
            "num_local_experts": 2,
            "num_experts_per_tok": 1,
        },
    ),
    "GPT-NeoX, fused and partly rotary": ("GPTNeoXForCausalLM", {"rotary_pct": 0.25}),
    "ALBERT, one shared layer": ("AlbertModel", {"embedding_size": 16}),
    "BART": ("BartForConditionalGeneration", {}),
    "T5": ("T5ForConditionalGeneration", {}),
}
OPTIONS = {"BART": {"decoder_input_ids": [[2, 7, 8, 9]]}, "T5": {"decoder_input_ids": [[0, 7, 8]]}}


@pytest.fixture(params=FAMILIES, scope="module")
def family(request):
    """(name, model with the fast kernel where it has one, the same with plain attention)."""
    name, options = FAMILIES[request.param]
    model = tiny.hf(name, **options).eval()
    plain = copy.deepcopy(model)
    plain.set_attn_implementation("eager")
    return request.param, model, plain


@pytest.fixture(scope="module")
def shots(family):
    """(capture, the plain model's output, the ids)."""
    name, model, plain = family
    ids, extra = tiny.ids(10), OPTIONS.get(name, {})
    cap = attnviz.capture(attnviz.wrap(model), input_ids=ids, **extra)
    inputs = {"input_ids": ids, **{key: torch.tensor(value) for key, value in extra.items()}}
    with torch.no_grad():
        return cap, plain(**inputs, output_attentions=True), inputs


def own_weights(output, stack):
    names = {
        "encoder": ("encoder_attentions", "attentions"),
        "decoder": ("decoder_attentions", "attentions"),
        "cross": ("cross_attentions",),
    }[stack]
    return next(getattr(output, name) for name in names if getattr(output, name, None))


def test_weights_are_the_models_own(shots):
    cap, output, _ = shots
    for block in cap.blocks:
        own = own_weights(output, block.stack)[block.layer][0].numpy()
        for h in range(block.heads):
            head = cap.head(block.layer, h, block.stack)
            np.testing.assert_allclose(head.weights, own[h], atol=1e-5)


def test_softmax_of_scores_with_the_sink_is_the_weights(shots):
    cap, _, _ = shots
    for block in cap.blocks:
        for h in range(block.heads):
            head = cap.head(block.layer, h, block.stack)
            exp = np.exp(head.scores.astype(np.float64))
            extra = 0 if head.sink_logit is None else np.exp(head.sink_logit)
            expected = exp / (exp.sum(axis=1, keepdims=True) + extra)
            np.testing.assert_allclose(head.weights, expected, atol=1e-5)
            np.testing.assert_allclose(head.weights.sum(axis=1) + head.sink, 1, atol=1e-5)


def watch_projections(model, cap, inputs):
    """{module path: (input, output)} of every output projection, by hooks of the test's own."""
    seen: dict[str, list] = {}
    handles = []
    owners = {id(m): name for name, m in model.named_modules()}
    weights = {block.projection.weight.data_ptr() for block in cap.blocks}
    for module in model.modules():
        weight = getattr(module, "weight", None)
        if isinstance(weight, torch.Tensor) and weight.data_ptr() in weights:

            def note(module, args, output):
                seen.setdefault(owners[id(module)], []).append((args[0][0], output[0]))

            handles.append(module.register_forward_hook(note))
    with torch.no_grad():
        model(**inputs)
    for handle in handles:
        handle.remove()
    return [pair for pairs in seen.values() for pair in pairs]


def test_contributions_add_up_to_the_blocks_output(family, shots):
    _, model, _ = family
    cap, _, inputs = shots
    pairs = watch_projections(model, cap, inputs)
    assert len(pairs) == len(cap.blocks)
    for block in cap.blocks:
        heads = [cap.head(block.layer, h, block.stack) for h in range(block.heads)]
        mixed = np.concatenate([head.weights @ head.v for head in heads], axis=1)
        parts = sum(head.weights @ (head.v @ head.w_o) for head in heads)
        bias = heads[0].w_o_bias
        total = parts if bias is None else parts + bias
        fitting = [pair for pair in pairs if pair[0].shape == mixed.shape]
        real = min(fitting, key=lambda pair: np.abs(mixed - pair[0].numpy()).max())
        np.testing.assert_allclose(mixed, real[0].numpy(), atol=1e-4, rtol=1e-5)
        np.testing.assert_allclose(total, real[1].numpy(), atol=1e-4, rtol=1e-5)


def test_outputs_with_capture_are_the_outputs_without(family, shots):
    _, model, _ = family
    cap, _, inputs = shots
    with torch.no_grad():
        output = model(**inputs)
    if cap.logits is not None and len(cap.logits):
        np.testing.assert_allclose(cap.logits[-1], output.logits[0, -1].numpy(), atol=1e-5)


def test_the_model_is_as_it_was(family, shots):
    _, model, _ = family
    cap, _, _ = shots
    state = {name: value.clone() for name, value in model.state_dict().items()}
    before = (model.config._attn_implementation, model.training, hooks(model))
    attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(5), decoder_input_ids=None)
    assert (model.config._attn_implementation, model.training, hooks(model)) == before
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_layers_are_numbered_by_the_model_and_axes_fit_the_tokens(shots):
    cap, _, _ = shots
    for stack in cap.stacks:
        assert cap.layers(stack) == list(range(len(cap.layers(stack))))
        for layer in cap.layers(stack):
            shape = cap.head(layer, 0, stack).scores.shape
            assert shape == (len(cap.query_tokens(stack)), len(cap.key_tokens(stack)))
    assert cap.receipt.ok
