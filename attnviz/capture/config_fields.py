"""Settings of attention in a config: those that a model file ignores, and those it does not know.

A capture reads what reaches the attention call or softmax itself, and its receipt proves that
nothing else came into it. Two kinds of settings are beyond that: what the model file no longer
runs, though the checkpoint was trained with it, and what no part of it has ever heard of.
"""

import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from transformers import PreTrainedConfig

from attnviz.errors import UnsupportedModel

_ABOUT_ATTENTION = re.compile(
    r"attn|attention|softmax|soft_?cap|logits?_scal|alibi|rotary|causal|bidirectional|^index_(?!name$|path$)"
    r"|(?:^|_)(?:att|sinks?|windows?|sliding|swa|qkv?|kv|query|key|m?rope|yarn|ntk"
    r"|positions?|rel|relative|talking|indexer)(?:_|$)"
)

VALUES = {
    "attn_type": {"bi", "uni", "multihead_attention"},
    "position_embedding_type": {"absolute", "nope", "rope", "rope_gptj", "rotary", "sans_pos"},
    "position_embeddings_type": {"relative", "relative_key", "rotary"},
}
"""Settings of which model files run some values and pass over others: BERT's class of today takes a
checkpoint with relative positions, and runs it without them."""


def refuse_ignored(config: PreTrainedConfig) -> None:
    """Raise where a config asks for what the model file does not do.

    Raises:
        UnsupportedModel: it names the settings.

    >>> from transformers import LlamaConfig
    >>> refuse_ignored(LlamaConfig())
    """
    settings = [setting for part in _parts(config) for setting in _settings(part)]
    ignored = sorted({f"{n}={v!r}" for n, v in settings if n in VALUES and v not in VALUES[n]})
    if ignored:
        raise UnsupportedModel(
            what=f"{type(config).__name__} asks for {', '.join(ignored)}.",
            why="The model's class takes this setting and runs without it, so what it puts out "
            "is not what the checkpoint was trained for.",
            todo="If the model was trained without it, set it to None in the model's config.",
        )


def note_unknown(config: PreTrainedConfig) -> str:
    """Which settings of attention the config's own class does not know, in words; "" if none.

    >>> from transformers import LlamaConfig
    >>> note_unknown(LlamaConfig(attention_twist=3.0))[:62]
    'The config has settings of attention that its class does not k'
    """
    parts = _parts(config)  # one may fill in another's fields
    known = VALUES.keys() | {name for part in parts for name in _own_names(type(part))}
    unknown = sorted({name for part in parts for name, _ in _settings(part)} - known)
    if not unknown:
        return ""
    return (
        f"The config has settings of attention that its class does not know: {', '.join(unknown)}. "
        "The recording checks out without them."
    )


def _settings(config: PreTrainedConfig) -> Iterator[tuple[str, Any]]:
    """What a config says about attention; fields that are None or False say nothing."""
    for name, value in vars(config).items():
        if name.startswith("_") or value is None or value is False:
            continue
        if not isinstance(value, PreTrainedConfig) and _ABOUT_ATTENTION.search(name):
            yield name, value


def _own_names(cls: type) -> set[str]:
    """The names that a config class and its parents declare, or use in their methods."""
    names: set[str] = set()
    for parent in cls.__mro__:
        names |= {*vars(parent), *vars(parent).get("__annotations__", {})}
        for method in vars(parent).values():
            if isinstance(method, FunctionType):
                names |= {*method.__code__.co_names, *method.__code__.co_varnames}
    return names


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
