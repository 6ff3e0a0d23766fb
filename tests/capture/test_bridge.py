"""Models whose attention does not go through transformers' registry: followed, or refused."""

import copy

import numpy as np
import pytest
import torch

import attnviz
from attnviz.heads.masks import PADDING
from tests import tiny

BLOOM = {"vocab_size": 99, "hidden_size": 32, "n_layer": 3, "n_head": 4}
FALCON = {
    "vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
    "max_position_embeddings": 64, "initializer_range": 0.5,
}  # fmt: skip
DEBERTA = {
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "max_relative_positions": 16,
    "position_buckets": -1,
}
SQUEEZE = {"hidden_size": 64, "embedding_size": 64, "intermediate_size": 80}
FAMILIES = {
    "BertModel": ("BertModel", {}),
    "BLOOM": ("BloomForCausalLM", {**BLOOM, "initializer_range": 0.5}),
    "MPT": ("MptForCausalLM", {"d_model": 32, "n_layers": 3, "n_heads": 4, "max_seq_len": 64}),
    "DeBERTa-v2": ("DebertaV2Model", DEBERTA),
    "XLNet": ("XLNetModel", {}),
    "MPNet": ("MPNetModel", {}),
    "RoFormer": ("RoFormerModel", {}),
    "GPT-Neo": ("GPTNeoForCausalLM", {}),
    "XLM": ("XLMModel", {"emb_dim": 32, "n_layers": 3, "n_heads": 4, "init_std": 0.5}),
}


def hot(name, **options):
    """A tiny model whose every matrix is hot, whatever its own initialisation does."""
    model = tiny.hf(name, **options)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim >= 2:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4)
    return model


def plain_outputs(model, ids, **inputs):
    plain = copy.deepcopy(model).eval()
    plain.set_attn_implementation("eager")
    with torch.no_grad():
        return plain(ids, output_attentions=True, **inputs)


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_and_scores_of_models_outside_the_registry(family):
    """huggingface/transformers#47014, #26572: a registered function is called 0 times by some of
    these, and raises in others."""
    name, options = FAMILIES[family]
    model = hot(name, **options)
    ids = tiny.ids(10)
    cap = attnviz.capture(attnviz.wrap(model), input_ids=ids)
    own = plain_outputs(model, ids).attentions
    assert len(own) == len(cap.blocks) == cap.receipt.projections
    for layer, head in np.ndindex(len(own), 4):
        shown = cap.head(layer, head)
        np.testing.assert_allclose(shown.weights, own[layer][0, head], atol=1e-5)
        exp = np.where(shown.allowed, np.exp(shown.scores - shown.scores.max()), 0)
        expected = exp / exp.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(shown.weights, expected, atol=1e-5)
        assert list(shown.stages)[:2] == ["dot", "scaled"]


def test_raw_scores_in_the_slot_of_weights_are_not_called_weights():
    """huggingface/transformers#7083, #44010, #15515: SqueezeBERT returns its scores."""
    model = hot("SqueezeBertModel", **SQUEEZE)
    ids = tiny.ids(6)
    head = attnviz.capture(attnviz.wrap(model), input_ids=ids).head(1, 2)
    claimed = plain_outputs(model, ids).attentions[1][0, 2].numpy()
    assert claimed.min() < 0
    np.testing.assert_allclose(head.scores, claimed, atol=1e-5)
    assert head.weights.min() >= 0
    np.testing.assert_allclose(head.weights.sum(axis=1), 1, atol=1e-5)


def test_capture_does_not_move_the_outputs_of_a_model_whose_kernels_disagree():
    """huggingface/transformers#29946: Falcon's hidden states move when weights are asked for."""
    model = hot("FalconForCausalLM", **FALCON, alibi=True, multi_query=False).eval()
    ids = tiny.ids(12)
    with torch.no_grad():
        before = model(ids).logits[0, -1].numpy()
    cap = attnviz.capture(attnviz.wrap(model), input_ids=ids)
    np.testing.assert_allclose(cap.logits[-1], before, atol=1e-5)
    assert cap.receipt.attention == model.config._attn_implementation
    with torch.no_grad():
        assert np.array_equal(model(ids).logits[0, -1].numpy(), before)


@pytest.mark.parametrize("options", [{"alibi": True, "multi_query": False}, {"multi_query": True}])
def test_a_model_that_calls_the_fast_kernel_itself(options, monkeypatch):
    """huggingface/transformers#29946: Falcon's plain attention adds its slopes twice, so what it
    really runs is the oracle: the kernel's own arguments, softmax written out."""
    model = hot("FalconForCausalLM", **FALCON, **options).eval()
    ids = tiny.ids(10)
    cap = attnviz.capture(attnviz.wrap(model), input_ids=ids)
    own = []

    def written_out(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **more):
        scores = query @ key.mT / query.shape[-1] ** 0.5
        hide = torch.ones_like(scores, dtype=torch.bool).triu(1) if is_causal else None
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            hide = ~attn_mask
        elif attn_mask is not None:
            scores = scores + attn_mask
        scores = scores if hide is None else scores.masked_fill(hide, -torch.inf)
        own.append(scores.softmax(-1))
        return own[-1] @ value

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", written_out)
    with torch.no_grad():
        logits = model(ids).logits[0, -1]
    np.testing.assert_allclose(cap.logits[-1], logits, atol=1e-4)
    for layer, head in np.ndindex(3, 4):
        shown = cap.head(layer, head)
        np.testing.assert_allclose(shown.weights, own[layer][0, head], atol=1e-5)
    assert cap.receipt.projections == 3


ALIBI = {
    "BloomForCausalLM": BLOOM,
    "MptForCausalLM": FAMILIES["MPT"][1],
    "FalconForCausalLM": {**FALCON, "alibi": True, "multi_query": False},
}


@pytest.mark.parametrize("name", ALIBI)
def test_slopes_of_alibi_are_a_stage_of_their_own(name):
    """Press et al. 2022: head h of 4 slopes by 2^-(2h+2) a place."""
    cap = attnviz.capture(attnviz.wrap(hot(name, **ALIBI[name])), input_ids=tiny.ids(10))
    for h in range(4):
        head = cap.head(0, h)
        added = head.stages["biased"] - head.stages["scaled"]
        step = np.diff(added[9])
        slope = 2.0 ** -(2 * h + 2)
        if name == "FalconForCausalLM":
            slope *= head.scaling  # Falcon adds its slopes before it scales
        np.testing.assert_allclose(step, slope, rtol=0.02)


FUSED = {
    "GPTNeoXForCausalLM": {},
    "BloomForCausalLM": BLOOM,
    "FalconForCausalLM": {**FALCON, "multi_query": True},
    "GPT2LMHeadModel": {},
    "MptForCausalLM": FAMILIES["MPT"][1],
}


@pytest.mark.parametrize("name", FUSED)
def test_values_of_fused_projections_belong_to_their_head(name):
    """lablup/mlxcel#928, vllm-project/vllm#53114: the wrong split has the right shape."""
    model = hot(name, **FUSED[name]).eval()
    ids = tiny.ids(10)
    cap = attnviz.capture(attnviz.wrap(model), input_ids=ids)
    block = cap.block(1)
    module = dict(model.named_modules())[block.module]
    seen = {}
    children = dict(module.named_children())
    handles = [
        child.register_forward_hook(
            lambda _, args, output, key=key: seen.__setitem__(key, (args[0], output))
        )
        for key, child in children.items()
    ]
    with torch.no_grad():
        model(ids)
    for handle in handles:
        handle.remove()
    mixed = np.concatenate([cap.head(1, h).weights @ cap.head(1, h).v for h in range(4)], axis=1)
    total = sum(cap.head(1, h).weights @ (cap.head(1, h).v @ cap.head(1, h).w_o) for h in range(4))
    bias = cap.head(1, 0).w_o_bias
    total = total if bias is None else total + bias
    last = next(key for key in ("dense", "c_proj", "out_proj") if key in children)
    np.testing.assert_allclose(mixed, seen[last][0][0].reshape(10, 32), atol=1e-4)
    np.testing.assert_allclose(total, seen[last][1][0].reshape(10, 32), atol=1e-4)
    if name in ("GPTNeoXForCausalLM", "BloomForCausalLM"):
        fused = seen["query_key_value"][1][0].reshape(10, 96).numpy()
        assert not np.allclose(fused[:, 64:72], cap.head(1, 0).v, atol=1e-2)


def test_deberta_masks_rows_of_padding_and_adds_two_terms():
    """huggingface/transformers#35182, #14621: a disentangled encoder masks pad rows as well."""
    model = hot("DebertaV2Model", **DEBERTA)
    mask = [1, 1, 1, 1, 0, 0]
    cap = attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(6), attention_mask=mask)
    own = plain_outputs(model, tiny.ids(6), attention_mask=torch.tensor([mask])).attentions
    head = cap.head(1, 0)
    assert head.attends.tolist() == [True] * 4 + [False] * 2
    assert (head.mask_reason[4:] == PADDING).all() and (head.mask_reason[:4, 4:] == PADDING).all()
    np.testing.assert_allclose(head.weights[:4], own[1][0, 0, :4], atol=1e-5)
    np.testing.assert_allclose(own[1][0, 0, 4], 1 / 6, atol=1e-5)
    assert head.scaling == pytest.approx(1 / np.sqrt(3 * 8))
    assert set(head.biases) == {"content to position", "position to content"}
    total = head.stages["scaled"] + sum(head.biases.values())
    np.testing.assert_allclose(head.stages["biased"], total, atol=1e-6)


def test_a_hybrid_keeps_its_own_layer_numbers():
    """TransformerLensOrg/TransformerLens#1403, huggingface/transformers#46738: the one map of
    four layers is layer 3, not layer 0."""
    model = tiny.hf(
        "Qwen3NextForCausalLM",
        num_hidden_layers=4,
        num_key_value_heads=2,
        head_dim=8,
        linear_num_value_heads=4,
        linear_num_key_heads=2,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
    )
    cap = attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(6))
    assert cap.layers() == [3]
    with pytest.raises(attnviz.BadInput, match="Layer 0 of the decoder has no attention"):
        cap.head(0, 0)
    assert cap.receipt.expected == 1
    assert "No attention weights in layers 0-2: linear attention." in cap.notes
    assert "gate" in cap.block(3).between and cap.head(3, 0).w_o is None


def test_block_sparse_attention_is_refused_and_the_model_does_not_switch_itself():
    """jessevig/bertviz#80, huggingface/transformers#20031: a short text switches it for good."""
    model = hot("BigBirdModel", block_size=4)
    for count in (10, 64, 10):
        with pytest.raises(attnviz.UnsupportedModel, match="blocks.*original_full"):
            attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(count))
        assert model.attention_type == "block_sparse"
    full = hot("BigBirdModel", attention_type="original_full")
    own = plain_outputs(full, tiny.ids(10)).attentions
    cap = attnviz.capture(attnviz.wrap(full), input_ids=tiny.ids(10))
    np.testing.assert_allclose(cap.head(2, 1).weights, own[2][0, 1], atol=1e-5)


def test_a_band_of_weights_is_refused_by_name():
    """huggingface/transformers#5646, #5659, #7562: a windowed encoder returns a band."""
    model = hot("LongformerModel", attention_window=4)
    with pytest.raises(attnviz.UnsupportedModel, match="LongformerModel"):
        attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(10))


@pytest.mark.parametrize("name", ["MambaForCausalLM", "FNetModel"])
def test_models_without_attention_say_so(name):
    """TransformerLensOrg/TransformerLens#1403, ML-GSAI/LLaDA#114."""
    options = {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 99}
    if name == "FNetModel":
        options["intermediate_size"] = 40
    model = getattr(tiny.transformers, name)
    with pytest.raises(attnviz.UnsupportedModel, match="no attention weights"):
        attnviz.capture(
            attnviz.wrap(model(model.config_class(**options))), input_ids=tiny.ids(5, high=90)
        )
