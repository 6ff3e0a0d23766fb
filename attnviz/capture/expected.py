"""How many attention blocks a model has, by its own config."""

from collections.abc import Collection, Sequence
from typing import Any

from transformers import PreTrainedConfig

from attnviz.capture.row_chunks import split_runs
from attnviz.errors import UnsupportedModel
from attnviz.models.architecture import WITHOUT_ATTENTION

_WITHOUT_SOFTMAX = ("linear", "mamba", "recurrent", "conv", "rwkv", "ssm")


def refuse_without_attention(hf: Any) -> None:
    """Raise where the model's own config says that there is no softmax attention to be shown.

    What a class is called says nothing: of any other model the recorders find out.
    """
    config, name = hf.config, type(hf).__name__
    if getattr(config, "attention_type", None) == "block_sparse":
        raise UnsupportedModel(
            what=f"{name} attends by blocks.",
            why="Its weights are spread over blocks of the text, and a short text switches it to "
            "another attention for good.",
            todo="Load it with attention_type='original_full'.",
        )
    kinds = _kinds(config.get_text_config())
    if config.model_type in WITHOUT_ATTENTION or (kinds and not any(_softmax(kinds))):
        raise UnsupportedModel(
            what=f"{name} has no attention weights.",
            why="Its layers mix tokens without softmax attention.",
            todo="Choose a model with attention.",
        )


def attention_blocks(hf: Any, kind: str) -> int:
    """The number of softmax attention blocks that one forward pass on text goes through."""
    config = hf.config
    if kind != "encoder-decoder":
        return _layers(config.get_text_config(), kind)
    if isinstance(getattr(config, "encoder", None), PreTrainedConfig):
        encoder = _layers(config.encoder.get_text_config(), "encoder")
        decoder = _layers(config.decoder.get_text_config(), "decoder")
    else:
        encoder = _size(config, "encoder_layers", "num_layers", "num_hidden_layers")
        decoder = _size(config, "decoder_layers", "num_decoder_layers", "num_hidden_layers")
    return encoder + decoder + _crossing(hf, decoder)


def without_attention(hf: Any, recorded: Collection[int]) -> str:
    """Which layers of a hybrid have no softmax attention, and what they have; "" if all do."""
    kinds = _kinds(hf.config.get_text_config())
    silent: dict[str, list[int]] = {}
    for layer, kind in enumerate(kinds):
        if layer not in recorded:
            silent.setdefault(kind.replace("_", " "), []).append(layer)
    named = [f"{ranges(layers)}: {kind}" for kind, layers in silent.items()]
    return f"No attention weights in layers {'; '.join(named)}." if named else ""


def ranges(numbers: Sequence[int]) -> str:
    """Whole numbers in ascending order, as ranges: 0-3, 7."""
    groups = split_runs(numbers)
    return ", ".join(f"{g[0]}" if len(g) == 1 else f"{g[0]}-{g[-1]}" for g in groups if len(g))


def _crossing(hf: Any, decoder: int) -> int:
    """Decoder layers that also attend to the encoder: all, unless one attention does both."""
    merged = any("MergedAttention" in type(module).__name__ for module in hf.modules())
    return 0 if merged else decoder


def _layers(config: Any, kind: str) -> int:
    kinds = _kinds(config)
    if kinds:
        return sum(_softmax(kinds))
    if kind == "decoder" and "decoder_layers" in config.to_dict():
        return int(config.decoder_layers)  # the decoder of a pair, by itself
    if getattr(config, "num_hidden_layers", None) is None:
        raise UnsupportedModel(
            what=f"{type(config).__name__} does not say how many layers the model has.",
            why="Without that number, a capture cannot be known to be whole.",
            todo="Report the architecture.",
        )
    return int(config.num_hidden_layers)


def _kinds(config: Any) -> list[str]:
    """What each layer is, where the config of a hybrid says so."""
    return getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None) or []


def _softmax(kinds: list[str]) -> list[bool]:
    """Which layers have softmax attention. Some configs name it ("attention" beside "mamba" and
    "mlp"), some name something else about the layers that have it ("hybrid", "sparse")."""
    could = [not any(word in kind for word in _WITHOUT_SOFTMAX) for kind in kinds]
    named = [yes and "attention" in kind for yes, kind in zip(could, kinds, strict=True)]
    return named if any(named) else could


def _size(config: Any, *names: str) -> int:
    return next(int(getattr(config, n)) for n in names if getattr(config, n, None) is not None)
