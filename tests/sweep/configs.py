"""Tiny configs of every text architecture: by rule from the fields a config class has, and a table
of exceptions (in `exceptions.py`) for what the rule does not reach."""

import dataclasses
from typing import Any, NamedTuple

from tests.sweep.exceptions import EXCEPTIONS, STAND_INS

VOCABULARY = 99
SPECIAL_IDS = range(85, VOCABULARY)  # for image tokens and the like; no input id is one of them


class Row(NamedTuple):
    """One line of the table: a class of transformers, under one of its model types."""

    model_type: str
    name: str  # of the class
    task: str  # CAUSAL_LM, MASKED_LM or SEQ_TO_SEQ_CAUSAL_LM


def rows() -> list[Row]:
    """Every text architecture of the installed transformers, in the order of model types."""
    from transformers.models.auto import modeling_auto as auto

    found: dict[tuple[str, str], Row] = {}
    for task in ("CAUSAL_LM", "MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM"):
        for model_type, names in getattr(auto, f"MODEL_FOR_{task}_MAPPING_NAMES").items():
            for name in [names] if isinstance(names, str) else names:
                found.setdefault((model_type, name), Row(model_type, name, task))
    return sorted(found.values())


# Three layers, so that numbering shows; stacks of different depth and head count in
# encoder-decoders; two key/value heads for four query heads; head sizes that differ from
# hidden size / heads; value heads that differ from key heads; windows shorter than the text.
SIZES: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embedding_dim"), 32),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "dff", "dim_ff", "hidden_dim"), 40),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "n_inner", "d_inner"), 40),
    **dict.fromkeys(("intermediate_size_mlp", "ffn_hidden_size", "dense_intermediate_size"), 40),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "num_encoder_attention_heads"), 4),
    **dict.fromkeys(("decoder_attention_heads", "num_decoder_attention_heads"), 2),
    **dict.fromkeys(("attention_heads", "swa_num_attention_heads"), 4),
    **dict.fromkeys(("num_key_value_heads", "num_kv_heads", "swa_num_key_value_heads"), 2),
    **dict.fromkeys(("head_dim", "d_kv", "dim_head", "kv_channels", "swa_head_dim", "d_head"), 16),
    **dict.fromkeys(("encoder_layers", "num_encoder_layers"), 2),
    **dict.fromkeys(("embedding_size", "input_embedding_size", "output_embedding_size"), 24),
    **dict.fromkeys(("vocab_size", "vocab_size_per_layer_input", "unpadded_vocab_size"), 99),
    **dict.fromkeys(("src_vocab_size", "tgt_vocab_size"), 99),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"), 64),
    **dict.fromkeys(("max_source_positions", "max_target_positions", "context_length"), 64),
    **dict.fromkeys(("max_encoder_position_embeddings", "max_decoder_position_embeddings"), 64),
    **dict.fromkeys(("sliding_window", "window_size", "attention_chunk_size"), 4),
    **dict.fromkeys(("attention_window_size", "sliding_window_size", "keep_window_size"), 4),
    **dict.fromkeys(("local_attention", "attention_window"), 8),  # half of it on each side
    # mixtures of experts
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("moe_num_experts", "zero_expert_num"), 4),
    **dict.fromkeys(("num_experts_per_tok", "moe_k", "moe_topk", "top_k_experts"), 2),
    **dict.fromkeys(("moe_intermediate_size", "expert_ffn_hidden_size"), 24),
    **dict.fromkeys(("shared_expert_intermediate_size", "shared_intermediate_size"), 24),
    **dict.fromkeys(("moe_shared_expert_intermediate_size", "prefix_dense_intermediate_size"), 24),
    "shared_experts_intermediate_size": 24,
    **dict.fromkeys(("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"), 1),
    **dict.fromkeys(("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index"), 1),
    "n_group": 2,
    "topk_group": 1,
    # latent attention, and indexers that pick keys
    "q_lora_rank": 20,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 12,
    "v_head_dim": 16,
    "index_n_heads": 4,
    "index_head_dim": 16,
    "index_topk": 4,
    # scaling that is not 1/sqrt(head size), caps low enough to bite
    "query_pre_attn_scalar": 24,
    "attn_logit_softcapping": 5.0,
    "attention_multiplier": 0.3,
    # state-space and linear layers of hybrids
    **dict.fromkeys(("mamba_d_state", "ssm_state_size", "state_size"), 8),
    **dict.fromkeys(("mamba_n_heads", "mamba_num_heads", "n_mamba_heads"), 4),
    **dict.fromkeys(("mamba_d_head", "mamba_head_dim"), 16),
    **dict.fromkeys(("mamba_n_groups", "n_groups", "mamba_ngroups"), 1),
    **dict.fromkeys(("mamba_chunk_size", "chunk_size"), 8),
    **dict.fromkeys(("linear_num_key_heads", "linear_num_heads"), 2),
    "linear_num_value_heads": 4,
    **dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim", "linear_head_dim"), 8),
    "lru_width": 32,
    # position tables
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 16,
    "rotary_dim": 4,
    # families that can do without their windows
    "max_window_layers": 1,
    "use_sliding_window": True,
    # gemma's extras
    "laurel_rank": 8,
    "hidden_size_per_layer_input": 8,
    "backbone_hidden_size": 32,
}
"""What a field of that name is set to where a config class has it."""

LAYER_FIELDS = {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}
DECODER_LAYER_FIELDS = {"decoder_layers", "num_decoder_layers"}
EVEN_IF_NONE = {"num_key_value_heads", "num_decoder_layers", "unpadded_vocab_size"}
"""Fields that the rule sets though their default is None, which means 'as something else'."""
IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
PATTERNS = ("layer_types", "layers_block_type", "mlp_layer_types", "block_types")


def config_of(row: Row) -> Any:
    """The tiny config of one row, with as few layers as hold every kind of layer it can have."""
    import transformers
    from transformers import CONFIG_MAPPING

    cls = CONFIG_MAPPING[row.model_type]
    wanted = _usual_kinds(cls)
    config: Any = None
    for layers in (3, 4, 5, 6, 8):
        config = cls(**_kwargs(cls, row, layers))
        if _kinds(config) >= wanted:
            break
    for part, stand_in in STAND_INS.get(row.model_type, {}).items():
        other = CONFIG_MAPPING[stand_in["model_type"]]
        rule = _by_rule(other, 2, iter(SPECIAL_IDS))
        vars(config)[part] = other(**rule | stand_in)  # past the check of its type
    own = getattr(transformers, row.name).config_class
    if isinstance(config, own):
        return config
    inner = getattr(config, "decoder", None)  # of a model that also has an encoder of text
    return inner if isinstance(inner, own) else config.get_text_config()


def _usual_kinds(cls: Any) -> set[str]:
    """The kinds of layer in the default config of a class; none where it has no valid default."""
    try:
        return _kinds(cls())
    except Exception:  # config classes check their values in ways of their own
        return set()


def _kinds(config: Any) -> set[str]:
    """The kinds of layer that a config and its text part mix."""
    found: set[str] = set()
    for part in (config, config.get_text_config(decoder=True)):
        for pattern in PATTERNS:
            found |= {str(kind) for kind in getattr(part, pattern, None) or ()}
    return found


def _kwargs(cls: Any, row: Row, layers: int) -> dict[str, Any]:
    special = iter(SPECIAL_IDS)
    kwargs = _by_rule(cls, layers, special)
    if row.task == "CAUSAL_LM" and "is_decoder" in _fields(cls):
        kwargs["is_decoder"] = True  # else an encoder's class reads both ways
    return _merge(kwargs, EXCEPTIONS.get(row.model_type, {}))


def _by_rule(cls: Any, layers: int, special: Any) -> dict[str, Any]:
    kwargs: dict[str, Any] = {}
    fields = _fields(cls)
    two_stacks = fields.keys() & (DECODER_LAYER_FIELDS | {"encoder_layers"})
    for name, default in fields.items():
        if name in getattr(cls, "sub_configs_defaults", {}):
            kwargs[name] = _sub_config(cls.sub_configs_defaults[name], layers, special)
        elif name in LAYER_FIELDS:
            kwargs[name] = 2 if two_stacks and name == "num_layers" else layers
        elif name in DECODER_LAYER_FIELDS:
            kwargs[name] = layers
        elif name in IDS:
            kwargs[name] = IDS[name]
        elif name.endswith(("_token_id", "_token_index")) and isinstance(default, int):
            kwargs[name] = next(special)
        elif name in SIZES and (default is not None or name in EVEN_IF_NONE):
            kwargs[name] = SIZES[name]
    if "kv_lora_rank" in fields:  # latent attention: a key and a value for each query head
        kwargs |= {"num_key_value_heads": 4}
    if "head_dim" in kwargs and "qk_rope_head_dim" in kwargs:
        kwargs["head_dim"] = kwargs["qk_rope_head_dim"]  # the part that is rotated
    return kwargs


def _sub_config(spec: Any, layers: int, special: Any) -> dict[str, Any] | None:
    from transformers import CONFIG_MAPPING, PretrainedConfig

    if spec.optional:
        return None
    fixed = issubclass(spec.config_class, PretrainedConfig)
    cls = spec.config_class if fixed else CONFIG_MAPPING[spec.model_type]
    kwargs = {**spec.init_kwargs, **_by_rule(cls, layers, special)}
    if not fixed:
        kwargs["model_type"] = cls.model_type
    return _merge(kwargs, EXCEPTIONS.get(cls.model_type, {}))


def _fields(cls: Any) -> dict[str, Any]:
    """Field -> default of a config class."""
    return {f.name: f.default for f in dataclasses.fields(cls)}


def _merge(kwargs: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(kwargs)
    for name, value in changes.items():
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = _merge(merged[name], value) if both else value
    return merged
