"""Tiny models with hot weights: random weights so large that wrong scales, masks and head orders
show. With the usual initializer range every row of weights is nearly uniform and hides them."""

from typing import Any

import torch
import transformers

SIZES = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
    "initializer_range": 0.5,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GPT2_SIZES = {
    "vocab_size": 99,
    "n_embd": 32,
    "n_layer": 3,
    "n_head": 4,
    "n_positions": 64,
    "initializer_range": 0.5,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
SEQ2SEQ_SIZES = {
    "vocab_size": 99,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
    "max_position_embeddings": 64,
    "init_std": 0.5,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}
OTHER_SIZES: dict[str, dict[str, Any]] = {
    "GPT2LMHeadModel": GPT2_SIZES,
    "BartForConditionalGeneration": SEQ2SEQ_SIZES,
    "XLNetModel": {"vocab_size": 99, "d_model": 32, "n_layer": 3, "n_head": 4, "d_inner": 40},
    "GPTNeoForCausalLM": {
        "vocab_size": 99,
        "hidden_size": 32,
        "num_layers": 2,
        "num_heads": 4,
        "attention_types": [[["global", "local"], 1]],
        "window_size": 4,
        "max_position_embeddings": 64,
        "initializer_range": 0.5,
    },
    "T5ForConditionalGeneration": {
        "vocab_size": 99,
        "d_model": 32,
        "d_kv": 8,
        "d_ff": 40,
        "num_layers": 2,
        "num_decoder_layers": 3,
        "num_heads": 4,
        "initializer_factor": 1.5,
        "decoder_start_token_id": 0,
    },
}


def hf(name: str, *, seed: int = 0, attention: str | None = None, **options: Any) -> Any:
    """A hot tiny model of a transformers class, as its config builds it: in training mode."""
    cls = getattr(transformers, name)
    config = cls.config_class(**{**OTHER_SIZES.get(name, SIZES), **options})
    if attention:
        config._attn_implementation = attention
    torch.manual_seed(seed)
    return cls(config)


def ids(count: int, *, seed: int = 1, low: int = 5, high: int = 99) -> torch.Tensor:
    """(1, count) ids, the same every time."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, (1, count), generator=generator)
