"""What a capture will cost, worked out from a model's config before anything is loaded."""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attnviz.errors import BadInput, UnsupportedModel
from attnviz.models import architecture, planted, source
from attnviz.models.loaded import describe_model, read_count

if TYPE_CHECKING:
    from torch.nn import Module

    from attnviz.models import ModelInfo
    from attnviz.models.source import Source

FLOAT = 4  # bytes: models are run in float32 unless another dtype is asked for
_SIDE = 1024  # of the product that this machine's speed is measured with


@dataclass(frozen=True)
class Estimate:
    """What one capture takes.

    Attributes:
        tokens: of the text; of either side, where a model has an encoder and a decoder.
        bytes: what the capture keeps: queries, keys and values of every attention block.
        multiplications: of the forward pass's matrix products.
        model_bytes: the model's parameters, in float32.
        matrix_bytes: what all attention matrices would take, which are never all held.
    """

    tokens: int
    bytes: int
    multiplications: float
    model_bytes: int
    matrix_bytes: int

    @cached_property
    def seconds(self) -> float:
        """Of the forward pass on this machine, roughly; its speed is measured when this is first
        asked for."""
        return self.multiplications / _products_a_second()


def estimate(model: Any, tokens: int = 1024) -> Estimate:
    """What a capture of a text of so many tokens will take, before anything is loaded.

    Of a model's name, only the config is read: from the catalog, a folder, or the Hub. Sizes are
    exact for models whose heads are all alike; the time is of the matrix products alone, so a
    short text takes longer than estimated.

    Args:
        model: a name as for `attnviz.load`, a transformers config, or a loaded model.
        tokens: at least 1.

    Raises:
        BadInput: no tokens, or no such name.
        ModelNotFound, UnsupportedModel: as `attnviz.load`.

    >>> estimate("planted-circuit", tokens=10).bytes > 0
    True
    """
    if tokens < 1:
        raise BadInput(
            what=f"{tokens} tokens cannot be estimated.",
            why="A text has at least one.",
            todo="Give a positive whole number.",
        )
    from attnviz.capture.expected import attention_blocks

    shell = _shell(model)
    info = describe_model(shell, name="", revision="")
    blocks = attention_blocks(shell, info.kind)
    if not (blocks and info.heads):
        raise UnsupportedModel(
            what=f"What a capture of {info.architecture} takes cannot be told from its config.",
            why="The config names no attention heads.",
            todo="Choose a model with attention.",
        )
    return Estimate(
        tokens=tokens,
        bytes=tokens * blocks * _floats_a_token(shell.config, info) * FLOAT,
        multiplications=_products(shell, info, blocks, tokens),
        model_bytes=info.parameters * FLOAT,
        matrix_bytes=blocks * info.heads * tokens**2 * FLOAT,
    )


def _shell(model: Any) -> "Module":
    """The model without its numbers: a model that is there already, or one built from a config
    on torch's device for shapes alone."""
    import torch
    from transformers import PreTrainedConfig

    if hasattr(model, "hf"):
        return model.hf
    cls: Any
    if isinstance(model, PreTrainedConfig):
        config, cls = model, architecture.find_model_class(model)
    else:
        origin = source.find_source(model)
        if origin.is_planted:
            return planted.build_model()
        config, cls = architecture.check_config(_raw_config(origin))
    with torch.device("meta"):
        return cls._from_config(config, attn_implementation=architecture.choose_attention(cls))


def _raw_config(origin: "Source") -> dict[str, Any]:
    from attnviz.models import checkpoint, hub

    if origin.entry is not None:
        return dict(origin.entry.config)
    if origin.folder is not None:
        return checkpoint.read_config(origin.folder)
    assert origin.repo is not None
    return hub.read_config(origin.repo)


def _floats_a_token(config: Any, info: "ModelInfo") -> int:
    """Numbers that one block keeps of one token: its queries, keys and values."""
    size, value = _head_sizes(config, info)
    return info.heads * size + info.kv_heads * (size + value)


def _head_sizes(config: Any, info: "ModelInfo") -> tuple[int, int]:
    """(d_k, d_v) of one head; the largest, where layers differ."""
    text = config.get_text_config()
    whole = read_count(text, "hidden_size", "d_model", "n_embd") // info.heads
    size = read_count(text, "head_dim", "d_kv") or whole
    value = read_count(text, "v_head_dim") or size
    return read_count(text, "qk_head_dim") or size, value


def _products(shell: "Module", info: "ModelInfo", blocks: int, tokens: int) -> float:
    """Multiplications of a forward pass: each parameter once a token, but for the tables that
    tokens are looked up in, and each query with each key, for the score and for the value."""
    embeddings: Any = shell.get_input_embeddings()  # type: ignore[operator]
    table = embeddings.weight.numel() if hasattr(embeddings, "weight") else 0
    per_pair = info.heads * sum(_head_sizes(shell.config, info))
    seen = tokens / 2 if info.kind == "decoder" else tokens
    return tokens * (info.parameters - table + blocks * per_pair * seen)


def _products_a_second() -> float:
    """Multiplications a second of this machine now, on a product like a model's own."""
    import torch

    square = torch.ones(_SIDE, _SIDE)
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        square @ square
        best = min(best, time.perf_counter() - start)
    return _SIDE**3 / best
