"""A GGUF file unpacked piece by piece: the numbers of the whole, in the memory of a piece."""

import tracemalloc
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import safetensors.numpy
from transformers import LlamaConfig
from transformers.modeling_gguf_pytorch_utils import LlamaTensorProcessor

from attnviz.models import convert

CONFIG = LlamaConfig(
    vocab_size=30_000,
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    tie_word_embeddings=True,
)
QUANTISED = gguf.GGMLQuantizationType.Q8_0
SHAPES = {
    "token_embd": (30_000, 64),
    "output_norm": (64,),
    **{
        f"blk.{layer}.{name}": shape
        for layer in range(2)
        for name, shape in {
            "attn_q": (64, 64),
            "attn_k": (32, 64),
            "attn_v": (32, 64),
            "attn_output": (64, 64),
            "ffn_gate": (96, 64),
            "ffn_up": (96, 64),
            "ffn_down": (64, 96),
            "attn_norm": (64,),
            "ffn_norm": (64,),
        }.items()
    },
}


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A tiny Llama in a GGUF file."""
    random, path = np.random.default_rng(0), tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    for name, shape in SHAPES.items():
        numbers = random.normal(size=shape).astype(np.float32)
        if len(shape) == 1:
            writer.add_tensor(f"{name}.weight", numbers)
        else:
            packed = gguf.quantize(numbers, QUANTISED)
            writer.add_tensor(f"{name}.weight", packed, raw_dtype=QUANTISED)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def unpack(packed: Path, target: Path) -> dict[str, Any]:
    with target.open("wb") as file:
        for _, piece in convert._iterate_chunks(packed, CONFIG):
            file.write(piece)
    return dict(safetensors.numpy.load_file(target))


def test_every_tensor_is_what_unpacking_it_whole_gives(packed: Path, tmp_path: Path) -> None:
    found = unpack(packed, tmp_path / "model.safetensors")
    processor = LlamaTensorProcessor(config=CONFIG.to_dict())
    names = convert._map_names(CONFIG, processor)
    tensors = gguf.GGUFReader(packed).tensors
    assert len(found) == len(SHAPES) == len(tensors)
    for tensor in tensors:
        whole = gguf.dequantize(tensor.data, tensor.tensor_type)
        assert (found[names[tensor.name]] == processor.process(whole, tensor.name).weights).all()


def test_only_a_piece_at_a_time_is_in_memory(packed: Path, tmp_path: Path) -> None:
    """A host with room for the model would otherwise fall over while it is prepared."""
    for _ in convert._iterate_chunks(packed, CONFIG):
        pass  # what is imported is not counted
    tracemalloc.start()
    for _ in convert._iterate_chunks(packed, CONFIG):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30_000 * 64 * 4, "the largest tensor alone is more"
