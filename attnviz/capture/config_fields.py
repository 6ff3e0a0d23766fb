"""Fields of a config that say something about attention, and where a capture meets each of them.

A capture reads what reaches the attention call or softmax itself, so most fields are accounted
for before it begins. A field that is in none of these lists may mean something that is not: then
the capture refuses. A release of transformers that adds one turns a test red.
"""

import re
from collections.abc import Iterator
from typing import Any

from transformers import PreTrainedConfig

from attnviz.errors import UnsupportedModel

_ABOUT_ATTENTION = re.compile(
    r"attn|attention|softmax|soft_?cap|logits?_scal|alibi|rotary|causal|bidirectional|^index_(?!name$|path$)"
    r"|(?:^|_)(?:att|sinks?|windows?|sliding|swa|qkv?|kv|query|key|m?rope|yarn|ntk"
    r"|positions?|rel|relative|talking|indexer)(?:_|$)"
)

# Scale, cap, window and sink: arguments of the attention call, read from it.
READ_FROM_THE_CALL = {
    "attention_multiplier", "attn_logit_softcapping", "learnable_sink_init",
    "query_pre_attn_scalar", "reorder_and_upcast_attn", "scale_attn_by_inverse_layer_idx",
    "scale_attn_weights", "softmax_scale",
}  # fmt: skip

# Added to the score: in the call's mask, an argument of it, or followed on the way to softmax.
BIASES = {
    "alibi", "alibi_bias_max", "d_rel", "has_relative_attention_bias",
    "has_spatial_attention_bias", "max_rel_2d_pos", "max_rel_pos", "max_relative_positions",
    "norm_rel_ebd", "pos_att_type", "position_bias_max_distance", "position_bias_num_buckets",
    "position_buckets", "rel_2d_pos_bins", "rel_extent", "rel_l2_clip_threshold", "rel_pos_bins",
    "relative_attention", "relative_attention_max_distance", "relative_attention_num_buckets",
    "relative_max_distance", "share_att_key",
}  # fmt: skip

# Which query may look at which key: in the mask of the call, or followed to softmax.
MASKS = {
    "attention_chunk_size", "attention_layers", "attention_type", "attention_types",
    "attention_window", "attention_window_size", "attn_layers", "causal", "conv_window",
    "encoder_attention_type", "full_attn_idxs", "global_attn_every_n_layers", "index_block_size",
    "index_head_dim", "index_local_blocks", "index_n_heads", "index_topk", "index_topk_blocks",
    "index_topk_freq", "index_topk_pattern", "indexer_budget", "indexer_compress_ratio",
    "indexer_head_dim", "indexer_kv_heads", "indexer_n_heads", "indexer_types", "is_causal",
    "keep_window_size", "local_attention", "local_attention_window_len", "local_attn_chunk_length",
    "lsh_attn_chunk_length", "max_window_layers", "prefix_dense_sliding_window_pattern",
    "sliding_window", "sliding_window_pattern", "sliding_window_size",
    "use_bidirectional_attention", "use_sliding_window", "window_size",
}  # fmt: skip

# In queries, keys and values by the time they reach the call: projections and their sizes, norms,
# rotation, scales of their own, heads that share, layers that share.
INSIDE_Q_K_V = {
    "attention_bias", "attention_head_dim", "attention_head_size", "attention_heads",
    "attention_hidden_size", "attention_in_multiplier", "attention_k_eq_v",
    "attention_value_scale", "attn_rotary_emb", "attn_scale", "attn_temperature_tuning",
    "clip_qkv", "compress_rope_theta", "cross_attention_hidden_size", "cross_attn_k",
    "cross_num_attention_heads", "cross_num_key_value_heads", "d_kv", "decoder_attention_heads",
    "encoder_attention_heads", "ignore_keys_at_rope_validation", "key_multiplier",
    "key_query_shared_bottleneck", "kv_channels", "kv_lora_rank", "kv_n_heads",
    "kv_source_layers", "layer_rope_theta", "multi_query", "no_rope_layer_interval",
    "no_rope_layers", "num_attention_heads", "num_attention_heads_per_layer",
    "num_cross_attention_heads", "num_decoder_attention_heads", "num_encoder_attention_heads",
    "num_key_value_heads", "num_kv_heads", "num_kv_shared_layers", "num_query_groups",
    "num_self_attention_heads", "num_sliding_attention_heads", "partial_rotary_factor",
    "qk_channels", "qk_dim_factor", "qk_head_dim", "qk_l2_clip_threshold", "qk_layernorm",
    "qk_nope_head_dim", "qk_norm_type", "qk_rope_head_dim", "qk_scale_factor", "qkv_bias",
    "rope_interleave", "rope_local_base_freq", "rope_parameters", "rope_percent", "rope_scaling",
    "rope_scaling_layers", "rope_theta", "rotary", "rotary_dim", "rotary_emb_base",
    "rotary_embedding_base", "rotary_pct", "rotary_value", "swa_head_dim",
    "swa_num_attention_heads", "swa_num_key_value_heads", "use_bottleneck_attention",
    "use_entity_aware_attention", "use_mem_rope", "use_qk_norm", "use_qkv_bias",
    "use_shared_attention_adapter",
}  # fmt: skip

# Which layers attend, and to what: blocks are counted, and missing ones refused.
LAYERS = {
    "add_cross_attention", "attn_layer_indices", "attn_layer_offset", "attn_layer_period",
    "attn_type_list", "cross_attention_layers", "full_attention_interval", "parallel_attn",
}  # fmt: skip

# After the values are mixed: the projection is found by watching, and what stands before it seen.
AFTER = {
    "attention_out_bias", "attention_out_multiplier", "attn_output_gate", "full_attn_alpha_factor",
    "full_attn_beta_factor", "n_layers_per_attn_res_block", "post_attention_groups",
    "use_attention_gate",
}  # fmt: skip

# Places that are added to the words before the first layer, and how many places there are.
POSITIONS = {
    "left_max_position_embeddings", "max_2d_position_embeddings",
    "max_decoder_position_embeddings", "max_encoder_position_embeddings",
    "max_position_embeddings", "max_source_positions", "max_target_positions", "n_positions",
    "original_max_position_embeddings", "position_biased_input", "position_id_per_seconds",
    "reset_position_index_per_cell", "right_max_position_embeddings",
    "static_position_embeddings", "use_learned_position_embeddings",
}  # fmt: skip

# No part of what softmax receives or gives, in evaluation mode: dropout, kernels, precision,
# caches, final logits, experts, linear layers of hybrids, and towers that no text goes through.
HARMLESS = {
    "apply_query_key_layer_scaling", "attention_dropout", "attention_probs_dropout_prob",
    "attention_softmax_in_fp32", "attn_impl", "attn_implementation", "attn_pdrop",
    "cross_attention_shape_for_attention", "cross_attention_widening_factor",
    "deterministic_flash_attn", "final_logit_softcapping", "flash_attn", "gate_soft_cap",
    "latent_query_num", "linear_attn_alpha_factor", "linear_attn_beta_factor",
    "linear_key_head_dim", "linear_num_key_heads", "local_attention_probs_dropout_prob",
    "logit_scale", "logit_scale_init_value", "logits_scaling", "logits_soft_cap",
    "lsh_attention_probs_dropout_prob", "masked_softmax_fusion", "max_logit_scale",
    "max_value_projector_patch_to_query_dict", "mlp_gate_softcap", "mlp_up_softcap",
    "moe_router_logit_softcapping", "num_ln_in_parallel_attn", "num_query_tokens", "offset_alibi",
    "output_attentions", "output_logit_soft_cap", "pad_key_length", "pre_allocate_kv_cache",
    "projector_patch_to_query_dict", "recurrent_kv_cache_mode", "scale_attention_softmax_in_fp32",
    "self_attention_widening_factor", "shared_expert_sink",
    "speech_encoder_attention_heads", "t2u_decoder_attention_heads", "t2u_encoder_attention_heads",
    "t2u_max_position_embeddings", "use_flash_attention", "use_flash_attention_2",
    "use_flash_attn", "use_memory_efficient_attention", "use_query_residual",
}  # fmt: skip

KNOWN = frozenset().union(
    READ_FROM_THE_CALL, BIASES, MASKS, INSIDE_Q_K_V, LAYERS, AFTER, POSITIONS, HARMLESS
)
"""Every field of attention that is accounted for."""

# Words for which one value is accounted for and another is not: BERT's class of today takes a
# checkpoint with relative positions, and runs it without them.
VALUES = {
    "attn_type": {"bi", "uni", "multihead_attention"},
    "position_embedding_type": {
        "absolute", "nope", "rope", "rope_gptj", "rotary", "sans_pos",
    },
    "position_embeddings_type": {"relative", "relative_key", "rotary"},
}  # fmt: skip


def refuse_unknown(config: PreTrainedConfig) -> None:
    """Raise where a config says something about attention that a capture does not account for.

    Fields that are None or False say nothing.

    Raises:
        UnsupportedModel: it names the fields.

    >>> from transformers import LlamaConfig
    >>> refuse_unknown(LlamaConfig())
    """
    unknown = sorted({name for part in _parts(config) for name in _unknown(part)})
    if unknown:
        names = ", ".join(unknown)
        raise UnsupportedModel(
            what=f"{type(config).__name__} has settings of attention that attnviz does not know: "
            f"{names}.",
            why="A setting that is not accounted for may change the scores.",
            todo="Report the architecture. If a setting is known to change nothing, set it to "
            "None in the model's config.",
        )


def _unknown(config: PreTrainedConfig) -> Iterator[str]:
    for name, value in vars(config).items():
        if name.startswith("_") or value is None or value is False or name in KNOWN:
            continue
        if isinstance(value, PreTrainedConfig) or not _ABOUT_ATTENTION.search(name):
            continue
        if name not in VALUES:
            yield name
        elif value not in VALUES[name]:
            yield f"{name}={value!r}"


def _parts(config: PreTrainedConfig) -> list[PreTrainedConfig]:
    """The configs that the attention of a text is built from: the model's own, that of its text
    part, those of its two stacks, and what these set apart for attention (MPT, DBRX)."""
    named = (getattr(config, name, None) for name in ("encoder", "decoder"))
    found: list[Any] = [config, config.get_text_config(), *named]
    parts = {id(part): part for part in found if isinstance(part, PreTrainedConfig)}
    for part in list(parts.values()):
        for name, value in vars(part).items():
            if isinstance(value, PreTrainedConfig) and _ABOUT_ATTENTION.search(name):
                parts[id(value)] = value
    return list(parts.values())
