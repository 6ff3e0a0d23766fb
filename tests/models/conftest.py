"""Tiny checkpoints made by hand, and a Hub of our own to fetch them from."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.models.fake_hub import FakeHub, serving


def tiny_llama(**changes: Any) -> Any:
    """A hot tiny Llama: 3 layers, 4 query heads on 2 key/value heads, 99 tokens."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    options: dict[str, Any] = {
        "vocab_size": 99,
        "hidden_size": 32,
        "intermediate_size": 37,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 64,
        "initializer_range": 0.5,
    }
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**(options | changes))).eval()


def word_tokenizer() -> Any:
    """A tokenizer of ten words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["[UNK]", "the", "cat", "sat", "on", "mat", "dog", "ate", "hat", "."]
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, "[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="[UNK]")


@pytest.fixture
def make_llama() -> Callable[..., Any]:
    return tiny_llama


@pytest.fixture
def llama_folder(tmp_path: Path) -> Path:
    """A folder with a tiny Llama in safetensors and a tokenizer."""
    folder = tmp_path / "tiny-llama"
    tiny_llama().save_pretrained(folder)
    word_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def edit_config() -> Callable[..., None]:
    def edit(folder: Path, name: str = "config.json", **changes: Any) -> None:
        config = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(config | changes))

    return edit


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    """A fake Hub; the Hub library is pointed at it, with a cache of its own and a made-up token."""
    from huggingface_hub import constants

    with serving(FakeHub()) as fake:
        monkeypatch.setattr(constants, "ENDPOINT", fake.address)
        template = fake.address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
        monkeypatch.setenv("HF_TOKEN", "hf_secretsecretsecret")
        yield fake
