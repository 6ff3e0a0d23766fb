"""What the rule of `configs.py` does not reach, by model type: values that depend on each other,
patterns of layers whose default is one kind throughout, sizes of towers that no text goes through.
"""

from typing import Any

Changes = dict[str, Any]

CONV_AND_ATTENTION = {"layer_types": ["conv", "full_attention", "conv"]}
MAMBA_AND_ATTENTION = ["linear_attention", "full_attention", "linear_attention"]
MAMBA_AND_HYBRID = ["linear_attention", "hybrid", "linear_attention", "hybrid"]
SOUND_TOWER = {"num_filters": 4, "downsampling_ratios": [2, 2], "depths": [1, 1, 1]}

EXCEPTIONS: dict[str, Changes] = {
    # patterns of layers
    "bamba": {"attn_layer_indices": [1]},
    "dory": {
        "num_hidden_layers": 4,
        "n_input_layers": 1,
        "n_output_layers": 1,
        "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
    },
    "cohere_compass_text": {
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
        "sliding_window": 4,
        "rope_parameters": {
            kind: {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}
            for kind in ("sliding_attention", "full_attention")
        },
    },
    "gpt_neo": {"num_layers": 4, "attention_types": [[["global", "local"], 2]]},
    "granitemoehybrid": {"layer_types": MAMBA_AND_ATTENTION},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "lfm2": CONV_AND_ATTENTION,
    "lfm2_moe": CONV_AND_ATTENTION,
    "nemotron_h": {"layers_block_type": ["linear_attention", "full_attention", "moe"]},
    "zamba": {"num_hidden_layers": 4, "layers_block_type": MAMBA_AND_HYBRID},
    "zamba2": {"num_hidden_layers": 4, "layers_block_type": MAMBA_AND_HYBRID},
    "gemma3n_text": {
        "num_hidden_layers": 4,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "num_kv_shared_layers": 2,  # they reuse keys and values of the first two
    },
    "reformer": {
        "attn_layers": ["local", "lsh", "local"],
        "axial_pos_embds": False,
        "attention_head_size": 8,
        "feed_forward_size": 40,
        "local_attn_chunk_length": 4,
        "lsh_attn_chunk_length": 4,
        "num_buckets": 2,
        "hash_seed": 0,
    },
    "funnel": {"block_sizes": [2, 1, 1]},
    # heads and their sizes
    "dots3_note": {
        "vision_config": {
            "mlp_layer_types": ["dense"] * 3,
            "adapter_in_dim": 32,
            "adapter_out_dim": 32,
        },
        "audio_config": {"adapter_input_size": 32, "adapter_out_dim": 32},
    },
    "dots3_note_text": {"num_key_value_heads": 4},
    "esmc": {"num_key_value_heads": 4},
    "helium": {"head_dim": 8},
    "hunyuan_v1_dense": {"head_dim": 16},
    "hunyuan_v1_moe": {"head_dim": 16},
    "ministral": {"head_dim": 16},
    "squeezebert": {"embedding_size": 32},
    "falcon_h1": {"mamba_d_ssm": 64},
    "xlstm": {"hidden_size": 128},  # smaller ones are rounded up, each part in its own way
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 4.0, "rope_theta": 1e4},
        "ffn_config": {"ffn_hidden_size": 40, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "blt": {
        "encoder_config": {"hidden_size_global": 64},
        "decoder_config": {"hidden_size_global": 64},
        "global_config": {"hidden_size": 64},
        "encoder_hash_byte_group_vocab": 40,
        "local_attention_window_len": 4,
    },
    "gemma4_assistant": {
        "text_config": {"hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 0}
    },
    # experts
    "deepseek_v2": {"num_experts_per_tok": 2},
    "dots1": {
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "n_group": 2,
        "topk_group": 1,
    },
    "zaya": {"num_experts_per_tok": 1, "router_hidden_size": 16},
    # indexers, which pick the keys that a query may look at
    "qwen4_exp_text": {
        "indexer_n_heads": 4,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 16,
        "indexer_budget": 4,
        "indexer_compress_ratio": 2,
    },
    "deepseek_v4": {
        "compress_rates": {"compressed_sparse_attention": 2, "heavily_compressed_attention": 4},
        "o_groups": 2,
        "o_lora_rank": 8,
    },
    "minimax_m3_vl_text": {"index_block_size": 2, "index_topk_blocks": 2},
    # vocabularies and position tables
    "esm": {"vocab_size": 99, "mask_token_id": 4},
    "mpnet": {"relative_attention_num_buckets": 32},  # the number is fixed in the model file
    "xmod": {"default_language": "en_XX"},
    "luke": {"entity_vocab_size": 20, "entity_emb_size": 16},
    "roc_bert": {
        "pronunciation_vocab_size": 99,
        "shape_vocab_size": 99,
        "pronunciation_embed_dim": 16,
        "shape_embed_dim": 16,
    },
    "fsmt": {"langs": ["en", "de"]},
    # block-sparse and windowed encoders: blocks shorter than the text
    "big_bird": {"block_size": 4},
    "bigbird_pegasus": {"block_size": 4},
    "longt5": {"local_radius": 3, "global_block_size": 4},
    "pegasus_x": {"block_size": 4, "num_global_tokens": 2},
    "mra": {"block_per_row": 1},
    "nystromformer": {"segment_means_seq_len": 64, "num_landmarks": 64},
    # sizes of what is beside attention, or of what a text does not go through
    "mobilebert": {"intra_bottleneck_size": 16, "embedding_size": 24},
    "perceiver": {
        "num_latents": 7,
        "d_latents": 32,
        "d_model": 32,
        "num_self_attends_per_block": 2,
        "num_self_attention_heads": 4,
        "num_cross_attention_heads": 4,
        "qk_channels": 32,
        "v_channels": 32,
    },
    "nemo_speechlm": {
        "audio_config": {"diarization_config": {"head_config": {"audio_hidden_size": 32}}}
    },
    "vibevoice_asr": {
        "acoustic_tokenizer_encoder_config": SOUND_TOWER,
        "semantic_tokenizer_encoder_config": SOUND_TOWER,
        "acoustic_tokenizer_chunk_size": 64,
    },
}
"""Model type -> fields to set."""

STAND_INS: dict[str, dict[str, Changes]] = {
    "gemma3n": {
        "vision_config": {
            "model_type": "siglip_vision_model",
            "rms_norm_eps": 1e-6,
            "vocab_size": 4,
            "vocab_offset": 90,
        }
    }
}
"""Model type -> part -> what stands in for it: its own needs a package that is not installed, and
no text goes through it."""

REASONS = {
    "gemma4_assistant": "shared_kv_states",
    "gemma4_unified_assistant": "shared_kv_states",
    "musicgen": "is invalid for input of size",
    "musicgen_melody": "is invalid for input of size",
    "voxtral_realtime": "input_features",
}
"""Model type -> a part of the message with which it refuses a text."""

PLAIN_REASONS = {
    "shared_kv_states": "It drafts for another model and needs that one's keys and values.",
    "is invalid for input of size": "It reads several rows of sound codes at once, not a text.",
    "input_features": "It needs sound beside the text.",
}
