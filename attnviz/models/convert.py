"""Turning the catalog's one GGUF file into safetensors.

Only the pinned file of the catalog comes here, after its SHA-256 was checked: a GGUF parser is
no place for a stranger's bytes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attnviz.models import checkpoint
from attnviz.progress import Progress

_ROWS = 4096  # of a tensor that are unpacked at a time


def convert_gguf(gguf: Path, target: Path, report: Progress) -> None:
    """Write config, float32 weights and tokenizer of a GGUF model to a new folder.

    The weights are unpacked a piece at a time, so that this needs little memory of its own: a
    host with room for the model has room for this.
    """
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig

    words = "Preparing the model, once"
    report(words, 0.0)
    named: dict[str, Any] = {"gguf_file": gguf.name, "local_files_only": True}
    config = AutoConfig.from_pretrained(gguf.parent, **named)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, trust_remote_code=False, **named)
    report(words, 0.2)
    _split_as_trained(tokenizer)
    target.mkdir()
    tokenizer.save_pretrained(target)
    config.architectures, config.dtype = ["LlamaForCausalLM"], "float32"
    config.save_pretrained(target)
    GenerationConfig.from_model_config(config).save_pretrained(target)
    with (target / checkpoint.WEIGHTS).open("wb") as file:
        for part, piece in _iterate_chunks(gguf, config):
            file.write(piece)
            report(words, 0.2 + 0.8 * part)
    report(words, 1.0)


def _iterate_chunks(gguf: Path, config: Any) -> Iterator[tuple[float, Any]]:
    """A safetensors file, piece by piece, each with the part of the whole it ends: the length of
    the header, the header, and the tensors in the order of their names."""
    from gguf import GGUFReader
    from transformers.modeling_gguf_pytorch_utils import LlamaTensorProcessor

    processor = LlamaTensorProcessor(config=config.to_dict())
    names = _map_names(config, processor)
    tensors = {names[t.name]: t for t in GGUFReader(gguf).tensors if t.name in names}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    whole = 0
    for name in sorted(tensors):
        shape = [int(size) for size in reversed(tensors[name].shape)]
        start, whole = whole, whole + 4 * int(tensors[name].n_elements)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, whole]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield 0.0, len(text).to_bytes(8, "little")
    yield 0.0, text
    done = 0
    for name in sorted(tensors):
        for piece in _unpack_tensor(tensors[name], processor):
            done += piece.nbytes
            yield done / whole, piece


def _unpack_tensor(tensor: Any, processor: Any) -> Iterator[Any]:
    """A tensor's float32 numbers, some rows at a time; whole where rows are to be reordered."""
    import numpy as np
    from gguf import dequantize

    reordered = ".attn_q." in tensor.name or ".attn_k." in tensor.name
    rows = len(tensor.data) if reordered else _ROWS
    for start in range(0, len(tensor.data), rows):
        numbers = dequantize(tensor.data[start : start + rows], tensor.tensor_type)
        yield np.ascontiguousarray(processor.process(numbers, tensor.name).weights, np.float32)


def _map_names(config: Any, processor: Any) -> dict[str, str]:
    """The name in transformers of each tensor of a GGUF file, read off a model without numbers."""
    import torch
    from transformers import LlamaForCausalLM
    from transformers.modeling_gguf_pytorch_utils import get_gguf_hf_weights_map

    with torch.device("meta"):
        shell = LlamaForCausalLM(config)
    names: dict[str, str] = get_gguf_hf_weights_map(shell, processor)
    return names


def _split_as_trained(tokenizer: Any) -> None:
    """Set what the file says in a word that transformers does not read.

    Its pre-tokenizer is named "smollm": each digit stands alone, then words split as in GPT-2.
    Without the first rule the spaces before a number fall into other tokens than in training.
    """
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    tokenizer.backend_tokenizer.pre_tokenizer = Sequence(
        [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
    )
    tokenizer.model_max_length = 8192
