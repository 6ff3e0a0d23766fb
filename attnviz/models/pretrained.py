"""A pretrained model, read from a checkpoint's folder: its weights, its tokenizer, and remarks."""

import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from attnviz.errors import BadInput, ModelRefused, TooLarge
from attnviz.models import architecture, checkpoint
from attnviz.models.loaded import LoadedModel, describe_model
from attnviz.progress import Progress

DeviceMap = str | dict[str, Any] | None

_NO_TOKENIZER = "The model came without a tokenizer; give token ids."


def read_model(
    folder: Path,
    name: str,
    revision: str,
    *,
    dtype: str,
    device_map: DeviceMap,
    report: Progress,
    max_parameters: int | None,
) -> LoadedModel:
    """The model of a folder, under this name and pinned to this revision; see `load` for the rest.

    Raises BadInput, ModelRefused, TooLarge or UnsupportedModel.
    """
    raw = checkpoint.read_config(folder)
    config, cls = architecture.check_config(raw, max_parameters)
    notes = []
    if raw.get("auto_map"):
        notes.append("The model brings code of its own; it was not run. The library's was used.")
    report("Reading the weights", None)
    with ExitStack() as stack:
        view = stack.enter_context(checkpoint.open_safe_view(folder, raw))
        hf, missing = _read_weights(cls, view, config, dtype, device_map)
        if missing and not any(_is_in_body(key, hf) for key in missing):
            # Nothing random is shown: without its own head a model is loaded without one.
            notes.append("The checkpoint lacks the model's head, so it makes no predictions.")
            body = architecture.find_body_class(config)
            hf, missing = _read_weights(body, view, config, dtype, device_map)
        tokenizer, remark = _read_tokenizer(view, config)
        if device_map is not None:  # what is left on disk is read from the view, again and again
            weakref.finalize(hf, stack.pop_all().close)
    if missing:
        raise ModelRefused(
            what="The model's weights do not fit its config.",
            why=f"The checkpoint lacks {len(missing)} of its {len(hf.state_dict())} tensors, and "
            "random numbers would stand in for them.",
            todo="Download or save the model again, or choose another one.",
        )
    hf.config._name_or_path = hf.name_or_path = name
    if remark:
        notes.append(remark)
    report("Ready", 1.0)
    info = describe_model(hf, name=name, revision=revision)
    return LoadedModel(hf, tokenizer, info, tuple(notes))


def torch_dtype(name: str) -> Any:
    """The dtype of torch that has this name."""
    import torch

    return getattr(torch, name)


def _is_in_body(key: str, hf: Any) -> bool:
    """Whether a weight belongs to the model below its head."""
    return hf.base_model is hf or key.startswith(f"{hf.base_model_prefix}.")


def _read_weights(
    cls: Any, view: Path, config: Any, dtype: str, device_map: DeviceMap
) -> tuple[Any, list[str]]:
    """The model, and the names of weights that it should have and the files do not."""
    try:
        hf, info = cls.from_pretrained(
            view,
            config=config,
            attn_implementation=architecture.choose_attention(cls),
            dtype=dtype if dtype == "auto" else torch_dtype(dtype),
            device_map=device_map,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    except Exception as error:  # every class checks its weights in its own way
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            raise TooLarge(
                what="The model does not fit into memory.",
                why="The system gave no more while its weights were read.",
                todo="Choose a smaller model, or run attnviz where there is more memory.",
            ) from error
        if device_map is not None:
            raise BadInput(
                what="The model could not be spread as device_map says.",
                why=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
                todo="Name each part of the model, and devices that this machine has.",
            ) from error
        raise ModelRefused(
            what="The model's weights could not be loaded.",
            why=f"They do not fit the class that its config names ({type(error).__name__}).",
            todo="Download or save the model again, or choose another one.",
        ) from error
    # The pooler stands after all attention, and many encoders are saved without it.
    return hf.eval(), sorted(key for key in info["missing_keys"] if "pooler." not in key)


def _read_tokenizer(view: Path, config: Any) -> tuple[Any, str | None]:
    """The checkpoint's tokenizer, or None and what a reader should know."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            view, config=config, trust_remote_code=False, local_files_only=True
        )
    except Exception as error:  # every class reads its files in its own way
        if not any(view.glob("*token*")) and not any(view.glob("*vocab*")):
            return None, _NO_TOKENIZER
        return None, f"Its tokenizer could not be read ({type(error).__name__}); give token ids."
    return (tokenizer, None) if _has_vocabulary(tokenizer, view) else (None, _NO_TOKENIZER)


def _has_vocabulary(tokenizer: Any, view: Path) -> bool:
    """Whether a tokenizer read its words from a file.

    Where no file is there transformers makes an empty tokenizer, to which every word is unknown.
    """
    kinds = {".model", ".spm", ".tiktoken"}
    names = {"tokenizer.json", *tokenizer.vocab_files_names.values()}
    names -= set(checkpoint.TOKENIZER_CONFIGS) | {"added_tokens.json"}
    needs_none = names == {"tokenizer.json"} and not tokenizer.vocab_files_names
    return needs_none or any(p.name in names or p.suffix in kinds for p in view.iterdir())
