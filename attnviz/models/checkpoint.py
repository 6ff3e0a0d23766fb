"""A folder with a checkpoint: what it holds, and a safe view of it for transformers.

A checkpoint is somebody else's data. transformers reads several things in it as instructions:
`auto_map` names code to import, an attention or expert implementation names a kernel repository
to fetch and import, `quantization_config` names another loader, `adapter_config.json` another
model, `*.bin` and `*.distcp` files are pickles. So transformers never sees the folder itself. It
is given a view: a temporary folder with links to the files on a list of harmless kinds, and with
copies of the two config files that have the instructions taken out.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attnviz.errors import ModelRefused, UnsupportedModel

CONFIG = "config.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
TOKENIZER_CONFIGS = (TOKENIZER_CONFIG, "special_tokens_map.json")
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"

# What is data and nothing else. Weights are linked by name, config files are copied.
_DATA_SUFFIXES = {".json", ".txt", ".model", ".spm", ".tiktoken", ".jinja", ".bpe", ".codes"}
_NOT_DATA = {CONFIG, *TOKENIZER_CONFIGS, INDEX, "adapter_config.json"}
_PICKLES = {".bin", ".pt", ".pth", ".pkl", ".ckpt", ".pickle", ".h5", ".msgpack", ".distcp"}

# Keys that make a loader fetch, import or replace something, at any depth of a config.
_INSTRUCTIONS = {
    "attn_implementation",
    "_attn_implementation",
    "_attn_implementation_internal",
    "experts_implementation",
    "_experts_implementation",
    "_experts_implementation_internal",
    "auto_map",
    "custom_pipelines",
    "trust_remote_code",
    "use_kernels",
    "use_pretrained_backbone",
    "kernel_config",
    "fusion_config",
    "distributed_config",
    "transformers_weights",
    "configuration_files",
    "_name_or_path",
    "name_or_path",
    "_commit_hash",
}
# Keys of a tokenizer's configs that name a file to open: the files are found by their usual names.
_PATHS = re.compile(r".*_(files?|paths?|dir|spm)|vocab|merges|init_inputs|tokenizer_object")
_LARGEST_JSON = 64 * 1024 * 1024
_SAMPLES, _SAMPLE_BYTES = 64, 4096


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a checkpoint. Raises ModelRefused if it holds none."""
    try:
        if path.stat().st_size > _LARGEST_JSON:
            raise ValueError
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        value = None
    if not isinstance(value, dict):
        raise ModelRefused(
            what=f"The model's {path.name} cannot be read.",
            why="It is not a JSON object, so the file is damaged or is something else.",
            todo="Download or save the model again.",
        )
    return value


def read_config(folder: Path) -> dict[str, Any]:
    """The checkpoint's config, as it stands in config.json.

    Raises UnsupportedModel if there is none.
    """
    if (folder / "adapter_config.json").is_file():
        raise adapter_refusal()
    if not (folder / CONFIG).is_file():
        raise no_config()
    return read_json(folder / CONFIG)


def adapter_refusal() -> UnsupportedModel:
    return UnsupportedModel(
        what="This is an adapter, or a model with an adapter beside it.",
        why="An adapter changes the weights of another model, which it names.",
        todo="Merge the adapter into its model, save the result, and load that.",
    )


def no_config() -> UnsupportedModel:
    return UnsupportedModel(
        what="This holds no model that transformers can read.",
        why=f"There is no {CONFIG} in it.",
        todo=f"Choose a model that was saved for transformers, with {CONFIG} and safetensors.",
    )


def scrub_config(config: Any) -> Any:
    """A copy of a config without the keys that a loader would obey, at any depth."""
    return _drop_keys(config, lambda key: key in _INSTRUCTIONS)


def scrub_tokenizer(config: Any) -> Any:
    """The same of a tokenizer's config, without file names either: they may lead anywhere."""
    return _drop_keys(config, lambda key: key in _INSTRUCTIONS or bool(_PATHS.fullmatch(key)))


def _drop_keys(config: Any, unwanted: Callable[[str], bool]) -> Any:
    if isinstance(config, dict):
        kept = (key for key in config if not unwanted(key))
        return {key: _drop_keys(config[key], unwanted) for key in kept}
    if isinstance(config, list):
        return [_drop_keys(value, unwanted) for value in config]
    return config


def choose_weights(names: set[str]) -> list[str] | None:
    """The weights to use among a checkpoint's file names, None if an index names them.

    Raises ModelRefused where the weights are there as pickles only, or not at all.
    """
    if WEIGHTS in names:
        return [WEIGHTS]
    if INDEX in names:
        return None
    if any(Path(name).suffix in _PICKLES for name in names):
        raise ModelRefused(
            what="This model's weights are refused.",
            why="They are stored as pickles, which can run code when opened; attnviz reads "
            "safetensors only.",
            todo="Look for a copy in safetensors, or save it so with save_pretrained.",
        )
    if any(Path(name).suffix == ".gguf" for name in names):
        raise ModelRefused(
            what="This model's weights are refused.",
            why="They are in GGUF files; attnviz reads safetensors only.",
            todo="Load the original model that the GGUF files were made from.",
        )
    raise ModelRefused(
        what="This model has no weights that attnviz can read.",
        why=f"There is neither {WEIGHTS} nor {INDEX} in it.",
        todo="Choose a model saved in safetensors.",
    )


def list_shards(index: dict[str, Any]) -> list[str]:
    """The file names in a weights index. Raises ModelRefused if one is more than a name."""
    weight_map = index.get("weight_map")
    values = set(weight_map.values()) if isinstance(weight_map, dict) else set()
    names = sorted(str(value) for value in values)
    if not names or any(Path(n).name != n or Path(n).suffix != ".safetensors" for n in names):
        raise ModelRefused(
            what="This model's weights are refused.",
            why=f"{INDEX} does not name safetensors files of the same folder.",
            todo="Download or save the model again.",
        )
    return names


def check_weights(folder: Path) -> list[str]:
    """The weight files of a folder, each checked to be there and to be safetensors."""
    names = {path.name for path in folder.iterdir()}
    files = choose_weights(names)
    if files is None:
        files = list_shards(read_json(folder / INDEX))
    for name in files:
        _check_safetensors(folder / name)
    return files


def _check_safetensors(path: Path) -> None:
    """A safetensors file begins with the length of its header, and its last tensor ends it."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            header_length = int.from_bytes(file.read(8), "little")
            if header_length > min(size - 8, 100_000_000):
                raise ValueError
            header = json.loads(file.read(header_length))
        ends = [entry["data_offsets"][1] for key, entry in header.items() if key != "__metadata__"]
        whole = size == 8 + header_length + max(ends, default=0)
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise ModelRefused(
            what=f"The weights file {path.name} is missing, cut short or damaged.",
            why="Its size is not what its own header says.",
            todo="Download or save the model again.",
        )


def is_data(name: str) -> bool:
    """Whether a file of a checkpoint is of a kind that is linked into the view."""
    return Path(name).suffix.lower() in _DATA_SUFFIXES and name not in _NOT_DATA


@contextmanager
def open_safe_view(folder: Path, config: dict[str, Any]) -> Iterator[Path]:
    """A temporary folder with the harmless files of a checkpoint, for transformers to read.

    Weights are mapped into memory from the linked files, so they outlive the view.
    """
    weights = check_weights(folder)
    with tempfile.TemporaryDirectory(prefix="attnviz-view-") as temporary:
        view = Path(temporary)
        for path in folder.iterdir():
            if path.is_file() and is_data(path.name):
                _link_file(path, view / path.name)
        for name in weights:
            _link_file(folder / name, view / name)
        if weights != [WEIGHTS]:
            index = {"metadata": {}, "weight_map": read_json(folder / INDEX)["weight_map"]}
            (view / INDEX).write_text(json.dumps(index), encoding="utf-8")
        (view / CONFIG).write_text(json.dumps(scrub_config(config)), encoding="utf-8")
        for name in TOKENIZER_CONFIGS:
            if (folder / name).is_file():
                text = json.dumps(scrub_tokenizer(read_json(folder / name)))
                (view / name).write_text(text, encoding="utf-8")
        yield view


def _link_file(source: Path, target: Path) -> None:
    try:
        os.symlink(source.resolve(), target)
    except OSError:  # no right to make links
        shutil.copyfile(source, target)


def compute_digest(folder: Path) -> str:
    """Sixteen hex digits that identify a folder's config and weights, wherever the folder is.

    Of each weights file its size, its header and samples from end to end are read: enough to tell
    one training from another, and as quick for a large model as for a small one.
    """
    sha = hashlib.sha256((folder / CONFIG).read_bytes())
    for name in check_weights(folder):
        size = (folder / name).stat().st_size
        sha.update(f"{name}:{size}:".encode())
        with (folder / name).open("rb") as file:
            sha.update(file.read(8 + min(int.from_bytes(file.read(8), "little"), 1 << 20)))
            for sample in range(_SAMPLES):
                file.seek(sample * max(size - _SAMPLE_BYTES, 0) // (_SAMPLES - 1))
                sha.update(file.read(_SAMPLE_BYTES))
    return sha.hexdigest()[:16]
