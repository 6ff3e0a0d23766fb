"""The facts stated about a model, on tiny models of many families."""

from typing import Any

import pytest

import attnviz
from attnviz.errors import BadInput

LIMIT = 20
TWO_STACKS = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 37,
    "decoder_ffn_dim": 37,
}

# model type: (config, class, kind, (layers, heads, kv heads), longest text, does a longer one fail)
FAMILIES: dict[str, tuple[dict[str, Any], str, str, tuple[int, int, int], int | None, bool]] = {
    "gpt2": ({}, "GPT2LMHeadModel", "decoder", (2, 4, 4), LIMIT, True),
    "gpt_bigcode": ({}, "GPTBigCodeForCausalLM", "decoder", (2, 4, 1), LIMIT, True),
    "gptj": ({"rotary_dim": 4}, "GPTJForCausalLM", "decoder", (2, 4, 4), LIMIT, True),
    "opt": (
        {"ffn_dim": 37, "word_embed_proj_dim": 32},
        "OPTForCausalLM",
        "decoder",
        (2, 4, 4),
        LIMIT,
        True,
    ),
    "llama": ({"num_key_value_heads": 2}, "LlamaForCausalLM", "decoder", (2, 4, 2), LIMIT, False),
    "falcon": ({}, "FalconForCausalLM", "decoder", (2, 4, 1), LIMIT, False),
    "bloom": ({"n_layer": 2, "n_head": 4}, "BloomForCausalLM", "decoder", (2, 4, 4), LIMIT, False),
    "mpt": (
        {"d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": LIMIT},
        "MptForCausalLM",
        "decoder",
        (2, 4, 4),
        LIMIT,
        True,
    ),
    "bert": ({}, "BertForMaskedLM", "encoder", (2, 4, 4), LIMIT, True),
    "roberta": (
        {"max_position_embeddings": LIMIT + 2},
        "RobertaForMaskedLM",
        "encoder",
        (2, 4, 4),
        LIMIT,
        True,
    ),
    "nystromformer": ({}, "NystromformerForMaskedLM", "encoder", (2, 4, 4), LIMIT, True),
    "bart": (TWO_STACKS, "BartForConditionalGeneration", "encoder-decoder", (3, 2, 2), LIMIT, True),
    "fsmt": (
        TWO_STACKS | {"src_vocab_size": 99, "tgt_vocab_size": 99, "langs": ["a", "b"]},
        "FSMTForConditionalGeneration",
        "encoder-decoder",
        (3, 2, 2),
        LIMIT,
        False,
    ),
    "t5": (
        {"d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_decoder_layers": 3},
        "T5ForConditionalGeneration",
        "encoder-decoder",
        (3, 4, 4),
        LIMIT,
        False,
    ),
}


def build(model_type: str, class_name: str, **changes: Any) -> Any:
    import torch
    import transformers

    options = {
        "vocab_size": 99,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 37,
        "max_position_embeddings": LIMIT,
        "n_positions": LIMIT,
    }
    if model_type == "t5":
        options = {"vocab_size": 99, "num_heads": 4, "n_positions": LIMIT}
    config = transformers.AutoConfig.for_model(model_type, **(options | changes))
    torch.manual_seed(0)
    return getattr(transformers, class_name)(config).eval()


@pytest.mark.parametrize("model_type", FAMILIES)
def test_the_facts_of_a_family(model_type: str) -> None:
    import torch

    changes, name, kind, counts, longest, hard = FAMILIES[model_type]
    model = build(model_type, name, **changes)
    info = attnviz.wrap(model).info
    assert (info.architecture, info.kind) == (name, kind)
    assert (info.layers, info.heads, info.kv_heads) == counts
    assert (info.max_positions, info.hard_positions) == (longest, hard)
    assert info.parameters == sum(p.numel() for p in model.parameters())
    assert info.dtype == "float32"

    def runs(length: int) -> bool:
        ids = torch.full((1, length), 7)
        extra = {"decoder_input_ids": ids} if kind == "encoder-decoder" else {}
        try:
            with torch.no_grad():
                model(input_ids=ids, **extra)
        except (IndexError, RuntimeError):
            return False
        return True

    assert longest is not None
    assert runs(longest)
    assert runs(longest + 1) is not hard


def test_an_encoder_used_as_a_decoder_is_one() -> None:
    model = build("bert", "BertLMHeadModel", is_decoder=True)
    assert attnviz.wrap(model).info.kind == "decoder"
    assert attnviz.wrap(build("bert", "BertModel")).info.kind == "encoder"


def test_the_decoder_half_of_a_pair_is_a_decoder() -> None:
    model = build("bart", "BartForCausalLM", **TWO_STACKS)
    info = attnviz.wrap(model).info
    assert (info.kind, info.layers, info.heads) == ("decoder", 3, 2)


def test_the_encoder_half_of_a_pair_is_an_encoder() -> None:
    model = build("t5", "T5EncoderModel", d_model=32, d_kv=8, d_ff=37, num_layers=2)
    info = attnviz.wrap(model).info
    assert (info.kind, info.layers, info.heads) == ("encoder", 2, 4)


def test_wrapping_changes_nothing() -> None:
    """idiap/fast-transformers#131, huggingface/transformers#31468"""
    import torch

    model = build("bert", "BertModel")
    model.train()
    before = dict(vars(model)), model.config.to_dict(), torch.get_rng_state().tolist()
    loaded = attnviz.wrap(model, name="mine")
    assert loaded.hf is model and loaded.tokenizer is None and loaded.info.name == "mine"
    assert model.training  # a model built from a config starts so; it is the owner's to change
    assert (dict(vars(model)), model.config.to_dict(), torch.get_rng_state().tolist()) == before
    assert not any(module._forward_hooks for module in model.modules())


def test_what_is_no_transformers_model_is_refused() -> None:
    import torch

    for other in (torch.nn.Linear(2, 2), "gpt2", None):
        with pytest.raises(BadInput, match="not a transformers model"):
            attnviz.wrap(other)


@pytest.mark.parametrize(
    ("name", "needs"), [("ViT", "an image"), ("CLIP", "an image beside the text")]
)
def test_a_wrapped_model_of_images_is_refused_by_what_it_needs(name, needs):
    """zjysteven/VLM-Visualizer#2, seilk/LocalizationHeads#6: text tools given image models."""
    import transformers

    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4,
             "intermediate_size": 40}  # fmt: skip
    if name == "CLIP":
        config = transformers.CLIPConfig(text_config=small, vision_config=small)
    else:
        config = transformers.ViTConfig(**small)
    with pytest.raises(attnviz.UnsupportedModel, match=needs):
        attnviz.wrap(getattr(transformers, f"{name}Model")(config))
