"""Scores as softmax received them, family by family."""

import numpy as np
import pytest
import torch

import attnviz
from tests import tiny


def capture(model, ids=None, **options):
    return attnviz.capture(
        attnviz.wrap(model), input_ids=tiny.ids(10) if ids is None else ids, **options
    )


def test_models_loaded_the_default_way_give_weights():
    """huggingface/transformers#31990, jessevig/bertviz#54: the fast kernel returns none."""
    for name in ("BertModel", "LlamaForCausalLM", "OPTForCausalLM", "Qwen3ForCausalLM"):
        options = {"OPTForCausalLM": {"word_embed_proj_dim": 32, "ffn_dim": 40}}.get(name)
        grouped = {"num_key_value_heads": 2} if name.startswith("Qwen") else {}
        cap = capture(tiny.hf(name, **(options or grouped)), tiny.ids(3))
        assert len(cap.blocks) == 3
        for layer, head in np.ndindex(3, 4):
            weights = cap.head(layer, head).weights
            assert weights.shape == (3, 3)
            np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


def test_rows_with_a_sink_are_shown_as_they_are():
    """fla-org/flash-linear-attention#831: the sink takes a part of the row, and no value."""
    model = tiny.hf(
        "GptOssForCausalLM",
        num_hidden_layers=4,
        num_key_value_heads=2,
        head_dim=8,
        num_local_experts=2,
        num_experts_per_tok=1,
    )
    cap = capture(model)
    sums = np.array([cap.head(layer, h).weights.sum(axis=1) for layer, h in np.ndindex(4, 4)])
    assert sums.min() < 0.95
    head = cap.head(0, 0)
    np.testing.assert_allclose(head.weights.sum(axis=1) + head.sink, 1, atol=1e-5)
    assert head.sink_logit == pytest.approx(float(model.model.layers[0].self_attn.sinks[0]))


def test_t5_scores_are_not_divided_and_carry_the_bias_of_the_first_layer():
    """huggingface/transformers#13397, #10221: people expect the usual scaling."""
    model = tiny.hf("T5ForConditionalGeneration").eval()
    cap = capture(model, [5, 6, 7, 8, 9, 1], decoder_input_ids=[0, 7, 8])
    table = model.encoder.block[0].layer[0].SelfAttention
    with torch.no_grad():
        bias = table.compute_bias(6, 6)[0].numpy()
    for layer, h in np.ndindex(2, 4):
        head = cap.head(layer, h, "encoder")
        np.testing.assert_allclose(head.stages["scaled"], head.q @ head.k.T, atol=1e-5)
        np.testing.assert_allclose(head.scores - head.stages["scaled"], bias[h], atol=1e-5)
    cross = cap.head(0, 0, "cross")
    assert cross.scores.shape == (3, 6) and "biased" not in cross.stages


def test_grouped_heads_read_the_value_head_of_their_group():
    """TransformerLensOrg/TransformerLens#1593, #520, #980: the order of groups is easily guessed
    wrong."""
    cap = capture(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    assert cap.heads(0) == 4
    values = [cap.head(0, h).v for h in range(4)]
    assert np.array_equal(values[0], values[1]) and np.array_equal(values[2], values[3])
    assert not np.allclose(values[1], values[2])


def test_scores_include_what_happens_between_projection_and_product():
    """TransformerLensOrg/TransformerLens#385, huggingface/transformers#29285: norm and rotation
    come after the projections."""
    model = tiny.hf("Qwen3ForCausalLM", num_key_value_heads=2, head_dim=8).eval()
    ids = tiny.ids(6)
    head = capture(model, ids).head(0, 0)
    layer = model.model.layers[0]
    with torch.no_grad():
        x = layer.input_layernorm(model.model.embed_tokens(ids))[0]
        raw = layer.self_attn.q_proj(x)[:, :8] @ layer.self_attn.k_proj(x)[:, :8].T / 8**0.5
    wrong = torch.softmax(raw.masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf), -1)
    assert np.abs(wrong.numpy() - head.weights).max() > 1e-2


def test_scores_are_capped_before_the_mask_and_scaled_by_the_config():
    """EricLBuehler/mistral.rs#486, huggingface/blog#2168: tanh cap, and a scale of its own."""
    model = tiny.hf(
        "Gemma2ForCausalLM",
        head_dim=8,
        num_key_value_heads=2,
        query_pre_attn_scalar=16,
        attn_logit_softcapping=5.0,
    )
    head = capture(model).head(1, 0)
    assert head.scaling == pytest.approx(0.25) and head.softcap == 5.0
    expected = 5 * np.tanh(head.stages["scaled"] / 5)
    np.testing.assert_allclose(head.stages["capped"], expected, atol=1e-5)
    assert np.abs(head.scores[head.allowed]).max() < 5
    assert np.abs(head.stages["scaled"][head.allowed]).max() > 5
    gemma3 = tiny.hf("Gemma3ForCausalLM", head_dim=8, num_key_value_heads=2)
    assert capture(gemma3).head(0, 0).scaling == pytest.approx(0.0625)


def test_layers_that_share_one_module_keep_their_own_maps():
    """espnet/espnet#1644, facebookresearch/dinov2#69: a hook keeps only the last call."""
    model = tiny.hf("AlbertModel", embedding_size=16, attention="eager").eval()
    cap = capture(model)
    with torch.no_grad():
        own = model(tiny.ids(10), output_attentions=True).attentions
    maps = [cap.head(layer, 0).weights for layer in range(3)]
    for layer in range(3):
        np.testing.assert_allclose(maps[layer], own[layer][0, 0], atol=1e-5)
    assert np.abs(maps[0] - maps[1]).max() > 1e-3 and np.abs(maps[1] - maps[2]).max() > 1e-3


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_gives_float32_arrays_and_says_what_it_ran_in(dtype):
    """illuin-tech/colpali#3, xwying/torchshow#23: half-precision weights become no arrays."""
    model = tiny.hf("LlamaForCausalLM").to(dtype)
    cap = capture(model, tiny.ids(40))
    head = cap.head(0, 0)
    assert head.weights.dtype == np.float32
    assert cap.receipt.dtype == head.dtype == str(dtype).removeprefix("torch.")
    np.testing.assert_allclose(head.weights.sum(axis=1), 1, atol=5e-3)


def test_one_pass_over_a_generated_text_gives_the_rows_of_generation():
    """huggingface/transformers#40752, #26174: attentions of generation are nested by step."""
    model = tiny.hf("LlamaForCausalLM", attention="eager").eval()
    ids = tiny.ids(4)
    with torch.no_grad():
        made = model.generate(
            ids,
            max_new_tokens=3,
            do_sample=False,
            output_attentions=True,
            return_dict_in_generate=True,
            eos_token_id=-1,
        )
    head = capture(model, made.sequences).head(2, 1)
    assert head.weights.shape == (7, 7)
    np.testing.assert_allclose(head.weights[:4, :4], made.attentions[0][2][0, 1], atol=1e-5)
    for step, row in enumerate((4, 5), start=1):
        own = made.attentions[step][2][0, 1, 0]
        np.testing.assert_allclose(head.weights[row, : row + 1], own, atol=1e-5)
