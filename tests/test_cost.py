"""What a capture will take, against what it took."""

import pytest
import transformers

import attnviz
from attnviz.models.catalog import CATALOG
from tests import tiny

MODELS = {
    "grouped heads": ("LlamaForCausalLM", {"num_key_value_heads": 2}),
    "one matrix for three": ("GPT2LMHeadModel", {}),
    "an encoder": ("BertModel", {}),
    "heads wider than their share": (
        "Qwen3ForCausalLM",
        {"num_key_value_heads": 2, "head_dim": 16},
    ),
    "both sides": ("T5ForConditionalGeneration", {}),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tokens", [12, 48])
def test_bytes_are_what_a_capture_holds(name, tokens):
    """Neuronpedia and TransformerLens check memory too: predicted against measured."""
    family, options = MODELS[name]
    model = attnviz.wrap(tiny.hf(family, **options), None)
    ids = tiny.ids(tokens)
    asked = {"input_ids": ids}
    if model.info.kind == "encoder-decoder":
        asked["decoder_input_ids"] = ids
    capture = attnviz.capture(model, **asked)
    outputs = sum(a.nbytes for a in (capture.logits, capture.states) if a is not None)
    shared = {  # masks and position biases, which layers share
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
        for block in capture.blocks
        for tensor in [block.mask, *block.biases.values()]
        if tensor is not None
    }
    held = capture.nbytes - outputs - sum(shared.values())
    taken = attnviz.estimate(model, tokens=tokens)
    assert 0.75 < taken.bytes / held < 1.25
    assert attnviz.estimate(model.hf.config, tokens=tokens).bytes == taken.bytes
    assert taken.seconds > 0


def test_the_default_model_is_estimated_within_a_quarter(smollm2):
    capture = attnviz.capture(smollm2, input_ids=list(range(100, 400)))
    taken = attnviz.estimate("smollm2-135m", tokens=300)
    assert 0.75 < taken.bytes / capture.nbytes < 1.25
    assert taken.model_bytes == 4 * smollm2.info.parameters
    assert taken.matrix_bytes == 270 * 300**2 * 4


@pytest.mark.parametrize("name", [name for name, entry in CATALOG.items() if entry.wheel])
def test_the_catalog_knows_a_models_size_before_it_is_fetched(name):
    real = attnviz.load(name).hf.config.to_dict()
    for key, value in CATALOG[name].config.items():
        assert real[key] == value, key
    whole = attnviz.estimate(attnviz.load(name), tokens=64)
    before = attnviz.estimate(name, tokens=64)
    assert (before.bytes, before.model_bytes) == (whole.bytes, whole.model_bytes)


def test_a_folder_is_estimated_from_its_config_alone(tmp_path):
    config = transformers.GPT2Config(n_layer=3, n_head=2, n_embd=8, vocab_size=9)
    config.architectures = ["GPT2LMHeadModel"]
    config.save_pretrained(tmp_path)
    assert attnviz.estimate(tmp_path, tokens=10).bytes == 10 * 3 * 3 * 8 * 4


def test_more_tokens_take_more():
    few, many = (attnviz.estimate("smollm2-135m", tokens=n) for n in (128, 8_192))
    assert many.bytes == 64 * few.bytes and many.matrix_bytes == 64**2 * few.matrix_bytes
    assert 900e6 < many.bytes < 1e9


@pytest.mark.parametrize("tokens", [0, -1])
def test_no_tokens_are_refused(tokens):
    with pytest.raises(attnviz.BadInput, match="at least one"):
        attnviz.estimate("planted-circuit", tokens=tokens)


def test_a_name_that_is_none_is_refused():
    with pytest.raises(attnviz.AttnvizError):
        attnviz.estimate("no such model", tokens=5)


def test_multiplications_are_counted_by_hand():
    config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=9, n_positions=16)
    alone = transformers.GPT2Model(config)
    table = 9 * 8
    weights = sum(p.numel() for p in alone.parameters()) - table
    for tokens in (4, 10):  # each query with the keys up to it: half of them
        pairs = tokens * tokens / 2 * 2 * (4 + 4)
        found = attnviz.estimate(config, tokens=tokens).multiplications
        assert found == pytest.approx(tokens * weights + pairs, rel=0.02)


def test_layers_that_differ_are_estimated_by_the_largest():
    model = attnviz.wrap(tiny.hf("Gemma3ForCausalLM", num_key_value_heads=2, head_dim=8))
    assert attnviz.estimate(model, tokens=8).bytes > 0


def test_a_model_without_attention_is_refused_in_words():
    config = transformers.MambaConfig(
        vocab_size=9, hidden_size=8, num_hidden_layers=2, state_size=4
    )
    with pytest.raises(attnviz.UnsupportedModel):
        attnviz.estimate(attnviz.wrap(transformers.MambaForCausalLM(config)), tokens=5)


def test_several_paragraphs_are_told_beforehand_and_take_a_part_of_all_matrices():
    """jessevig/bertviz#74, Lin-jun-xiang/docGPT-langchain#2: a notebook that fell over on a text of
    some paragraphs, three copies of every matrix in it."""
    shape = {"n_layer": 12, "n_head": 12, "n_embd": 96, "n_positions": 1024}
    model = attnviz.wrap(tiny.hf("GPT2LMHeadModel", **shape), None)
    told = attnviz.estimate(model, tokens=1024)
    assert told.matrix_bytes == 576 * 2**20
    capture = attnviz.capture(model, input_ids=tiny.ids(1024))
    assert 0.75 < told.bytes / capture.nbytes < 1.25
    assert capture.nbytes < told.matrix_bytes / 15
