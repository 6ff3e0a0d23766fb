"""Which transformers class to build for a config, and which models have nothing to show."""

import json
import tempfile
from pathlib import Path
from typing import Any

from attnviz.errors import TooLarge, UnsupportedModel
from attnviz.models import checkpoint

# Model types without softmax over tokens anywhere; refused before anything is downloaded.
WITHOUT_ATTENTION = {
    "falcon_mamba": "a state-space model",
    "fnet": "a model that mixes tokens by Fourier transform",
    "mamba": "a state-space model",
    "mamba2": "a state-space model",
    "rwkv": "a recurrent model",
    "xlstm": "a recurrent model",
}


_COUNTED: dict[str, int] = {}
_MOST_COUNTED = 64

# More layers or experts than this no model has; building even empty ones would take minutes.
_MOST = 2_000
_COUNTS = {
    "layers": (
        "num_hidden_layers",
        "n_layer",
        "n_layers",
        "num_layers",
        "encoder_layers",
        "decoder_layers",
        "num_encoder_layers",
        "num_decoder_layers",
    ),
    "experts": ("num_experts", "num_local_experts", "n_routed_experts"),
}


def check_config(raw: dict[str, Any], max_parameters: int | None = None) -> tuple[Any, type]:
    """The transformers config and class for a raw config, before any weight is touched.

    Raises UnsupportedModel for what cannot be shown, TooLarge for more than `max_parameters`.
    """
    _refuse_without_attention(raw.get("model_type"))
    if raw.get("quantization_config") is not None:
        raise UnsupportedModel(
            what="This is a quantised model.",
            why="Its weights are packed, and need another program to unpack them.",
            todo="Choose the original model that it was made from.",
        )
    _refuse_absurd(raw)
    config = _read_config(raw)
    cls = find_model_class(config)
    if max_parameters is not None:
        parameters = count_parameters(cls, config)
        if parameters > max_parameters:
            raise TooLarge(
                what=f"This model has {parameters:,} parameters.",
                why=f"The limit here is {max_parameters:,}.",
                todo="Choose a smaller model, or run attnviz where there is more memory.",
            )
    return config, cls


def count_parameters(cls: Any, config: Any) -> int:
    """How many numbers a model of this config holds, counted on a shell without storage, once a
    config."""
    import torch

    key = f"{cls.__module__}.{cls.__name__} {config.to_json_string(use_diff=False)}"
    if key not in _COUNTED:
        with torch.device("meta"):
            shell = cls._from_config(config, attn_implementation=choose_attention(cls))
        if len(_COUNTED) >= _MOST_COUNTED:
            _COUNTED.clear()
        _COUNTED[key] = sum(parameter.numel() for parameter in shell.parameters())
    return _COUNTED[key]


def choose_attention(cls: Any) -> str:
    """The attention to ask for: the fast kernel where the class has it, else the plain one.

    Always passed on explicitly, so that nothing a config says can choose.
    """
    return "sdpa" if cls._supports_sdpa else "eager"


def _read_config(raw: dict[str, Any]) -> Any:
    from transformers import AutoConfig

    with tempfile.TemporaryDirectory(prefix="attnviz-config-") as folder:
        (Path(folder) / checkpoint.CONFIG).write_text(
            json.dumps(checkpoint.scrub_config(raw)), encoding="utf-8"
        )
        try:
            return AutoConfig.from_pretrained(folder, trust_remote_code=False)
        except Exception as error:  # each config class checks its values in its own way
            known = f"its type is {raw['model_type']!r}" if raw.get("model_type") else "no type"
            raise UnsupportedModel(
                what="This model's config cannot be used.",
                why=f"transformers does not accept it ({known}).",
                todo="The model may need code of its own, which attnviz never runs, or a newer "
                "transformers. Choose another model.",
            ) from error


def _refuse_absurd(raw: dict[str, Any]) -> None:
    """Raise TooLarge if a config, or one inside it, asks for more parts than any model has."""
    for noun, keys in _COUNTS.items():
        for key in keys:
            count = raw.get(key)
            if isinstance(count, int | float) and count > _MOST:
                raise TooLarge(
                    what=f"This model's config asks for {count:,.0f} {noun}.",
                    why=f"attnviz takes at most {_MOST:,}.",
                    todo="Check the model's config.json, or choose another model.",
                )
    for part in raw.values():
        if isinstance(part, dict):
            _refuse_absurd(part)


def find_model_class(config: Any) -> type:
    """The class to load: with its language-model head where the checkpoint has one.

    Raises UnsupportedModel for a model without attention or without text as its input.
    """
    from transformers.models.auto import modeling_auto as auto

    _refuse_without_attention(config.model_type)
    names = set(config.architectures or ())
    heads = (
        auto.MODEL_FOR_CAUSAL_LM_MAPPING,
        auto.MODEL_FOR_MASKED_LM_MAPPING,
        auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
        auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    )
    for mapping in heads:
        if type(config) in mapping:
            for candidate in _list_classes(mapping[type(config)]):
                if candidate.__name__ in names:
                    return require_text_input(candidate)
    pretraining = auto.MODEL_FOR_PRETRAINING_MAPPING
    masked = auto.MODEL_FOR_MASKED_LM_MAPPING
    if type(config) in pretraining and type(config) in masked:
        # A checkpoint with all of its pre-training heads has the language-model one among them.
        if any(cls.__name__ in names for cls in _list_classes(pretraining[type(config)])):
            return require_text_input(_list_classes(masked[type(config)])[0])
    if type(config) in auto.MODEL_MAPPING:
        return require_text_input(find_body_class(config))
    raise UnsupportedModel(
        what="This kind of model cannot be shown.",
        why=f"transformers has no text model for the type {config.model_type!r}.",
        todo="Choose a text model: a decoder, an encoder, or an encoder-decoder.",
    )


def find_body_class(config: Any) -> type:
    """The class of a model without any head."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING

    return _list_classes(MODEL_MAPPING[type(config)])[0]


def _list_classes(value: Any) -> tuple[type, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _refuse_without_attention(model_type: Any) -> None:
    if model_type in WITHOUT_ATTENTION:
        raise UnsupportedModel(
            what="This architecture has no attention weights.",
            why=f"{model_type} is {WITHOUT_ATTENTION[model_type]}: no query looks at keys in it.",
            todo="Choose a model with softmax attention.",
        )


def require_text_input(candidate: Any) -> type:
    """The class, or UnsupportedModel where it does not run on a text alone."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES as IMAGE_AND_TEXT,
    )

    model_type = candidate.config_class.model_type
    needs = {"pixel_values": "an image", "input_features": "sound", "input_values": "sound"}
    needed = needs.get(candidate.main_input_name)
    if model_type in IMAGE_AND_TEXT and candidate.main_input_name == "input_ids":
        needed = "an image beside the text"
    if needed or candidate.main_input_name != "input_ids":
        raise UnsupportedModel(
            what="This model does not run on a text alone.",
            why=f"{candidate.__name__} needs {needed or 'another kind of input'}.",
            todo="Choose a text model: a decoder, an encoder, or an encoder-decoder.",
        )
    return candidate
