"""Getting a model from the Hugging Face Hub: only the files that are read, config first.

Files go to the Hub library's own cache, so a model that another program fetched is found there,
and one that was fetched before loads without a network.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attnviz.errors import ModelNotFound, ModelRefused, TooLarge
from attnviz.models import checkpoint
from attnviz.models.hub_faults import is_unreachable, plain_errors

Progress = Callable[[str, float | None], None]

_LARGEST_DATA_FILE = 100_000_000  # a tokenizer is smaller; some repositories keep data sets beside
_TIMEOUT = 10.0  # seconds; left alone, the library waits for an answer for ever
_SPARE = 64 * 1024 * 1024


def download(
    repo: str,
    revision: str | None,
    *,
    cache_dir: str | Path | None,
    progress: Progress,
    check: Callable[[dict[str, Any]], object],
    max_bytes: int | None = None,
) -> tuple[Path, str]:
    """A folder with a repository's config, tokenizer and safetensors, and its commit hash.

    check: called with the raw config before anything large is fetched; raises to stop. max_bytes:
    of the weights files together, as the Hub lists them: a config may promise less than it brings.

    Raises ModelNotFound, ModelRefused, TooLarge or UnsupportedModel.
    """
    from huggingface_hub import HfApi

    api = HfApi(library_name="attnviz")
    cache = str(Path(cache_dir).expanduser() / "hub") if cache_dir else None
    progress("Asking the Hub for the model", None)
    with plain_errors(repo, revision):
        folder = _snapshot(repo, revision, cache)
        if folder is not None and folder.name == revision and _is_whole(folder):
            return folder, folder.name  # a commit does not change: nothing to ask
        try:
            info = api.model_info(repo, revision=revision, files_metadata=True, timeout=_TIMEOUT)
        except Exception as error:
            if folder is None or not is_unreachable(error):
                raise
            return _cached_folder(folder), folder.name
        commit = str(info.sha)
        files = info.siblings or []
        sizes = {file.rfilename: file.size for file in files if "/" not in file.rfilename}
        folder = _snapshot(repo, commit, cache)
        if folder is not None and _is_whole(folder) and _has_sizes(folder, sizes):
            return folder, commit
        _require_config(sizes)

        def get(name: str, bar: Any = None, at: str | None = commit, anew: bool = False) -> Path:
            path = api.hf_hub_download(
                repo,
                name,
                revision=at,
                cache_dir=cache,
                tqdm_class=bar or _Quiet,
                force_download=anew,
            )
            return Path(path)

        get(checkpoint.CONFIG, at=revision)  # by its name, so that the cache learns the name
        config = get(checkpoint.CONFIG)
        if _is_damaged(config, sizes):  # damaged since it was fetched
            config = get(checkpoint.CONFIG, anew=True)
        folder = config.parent
        check(checkpoint.read_json(config))
        weights = checkpoint.weight_files(set(sizes))
        if weights is None:
            index = get(checkpoint.INDEX)
            if _is_damaged(index, sizes):
                index = get(checkpoint.INDEX, anew=True)
            weights = checkpoint.shards(checkpoint.read_json(index))
        sizes |= _unlisted(api, repo, commit, sizes, weights)
        _check_bytes([sizes.get(name, 0) for name in weights], max_bytes)
        _fetch(get, _wanted(sizes, weights), progress, folder)
    return folder, commit


def config(repo: str) -> dict[str, Any]:
    """A repository's raw config, and nothing else of it.

    Raises ModelNotFound or ModelRefused.
    """
    from huggingface_hub import HfApi

    with plain_errors(repo, None):
        path = HfApi(library_name="attnviz").hf_hub_download(repo, checkpoint.CONFIG)
    return checkpoint.read_json(Path(path))


def _snapshot(repo: str, revision: str | None, cache: str | None) -> Path | None:
    """The folder of the cache with this revision's config, None if it is not there."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(repo, checkpoint.CONFIG, cache_dir=cache, revision=revision)
    return Path(found).parent if isinstance(found, str) else None


def _is_whole(folder: Path) -> bool:
    """Whether nothing needs to be asked about a commit that is in the cache already.

    Weights are fetched last here. Another program may have fetched them alone, so a tokenizer
    must be there too.
    """
    try:
        checkpoint.read_json(folder / checkpoint.CONFIG)
        checkpoint.read_json(folder / "tokenizer.json")
        return bool(checkpoint.present_weights(folder))
    except (ModelRefused, OSError):
        return False


def _has_sizes(folder: Path, sizes: dict[str, int | None]) -> bool:
    """Whether every file in a folder is as long as the Hub says: a disk may have lost some."""
    return not any(_is_damaged(folder / name, sizes) for name in sizes)


def _is_damaged(path: Path, sizes: dict[str, int | None]) -> bool:
    """Whether a file that is there is not as long as the Hub says, where it says so."""
    return sizes[path.name] is not None and _size(path) not in (None, sizes[path.name])


def _cached_folder(folder: Path) -> Path:
    """What an earlier run left in the cache, if its weights are whole."""
    try:
        checkpoint.present_weights(folder)
    except ModelRefused:
        raise ModelNotFound(
            "The model is here in part only.",
            "An earlier download was not finished, and the Hub cannot be reached now.",
            "Try again when there is a network.",
        ) from None
    return folder


def _require_config(sizes: dict[str, int | None]) -> None:
    if "adapter_config.json" in sizes:
        raise checkpoint.adapter_refusal()
    if checkpoint.CONFIG not in sizes:
        raise checkpoint.no_config()


def _unlisted(
    api: Any, repo: str, commit: str, sizes: dict[str, int | None], weights: list[str]
) -> dict[str, int | None]:
    """The bytes of weights whose size the Hub's list leaves out, as the files' own headers say;
    None where they do not either."""
    from huggingface_hub import hf_hub_url

    found = {}
    for name in weights:
        if name in sizes and sizes[name] is None:
            url = hf_hub_url(repo, name, revision=commit, endpoint=api.endpoint)
            found[name] = api.get_hf_file_metadata(url=url, timeout=_TIMEOUT).size
    return found


def _check_bytes(weights: list[int | None], limit: int | None) -> None:
    if limit is None:
        return
    if None in weights:
        raise ModelRefused(
            "The size of this model's weights is not known.",
            f"The Hub does not say it, and the limit here is {limit / 1e6:,.0f} MB.",
            "Choose another model, or run attnviz on a machine of your own.",
        )
    size = sum(known or 0 for known in weights)
    if size > limit:
        raise TooLarge(
            f"This model's weights take {size / 1e6:,.0f} MB.",
            f"The limit here is {limit / 1e6:,.0f} MB.",
            "Choose a smaller model, or run attnviz where there is more memory.",
        )


def _wanted(sizes: dict[str, int | None], weights: list[str]) -> dict[str, int | None]:
    """Name -> bytes of the files to have, the weights last: whole weights mean a whole model."""
    missing = [name for name in weights if name not in sizes]
    if missing:
        raise ModelRefused(
            "This model's weights are not complete.",
            f"Its index names {len(missing)} files that the repository does not have.",
            "Choose another revision or another model.",
        )
    data = [
        name
        for name, size in sizes.items()
        if checkpoint.is_data(name) and (size or 0) <= _LARGEST_DATA_FILE
    ]
    data += [name for name in checkpoint.TOKENIZER_CONFIGS if name in sizes]
    return {name: sizes[name] for name in [*data, *weights]}


def _fetch(get: Any, wanted: dict[str, int | None], progress: Progress, folder: Path) -> None:
    left = {
        name: size or 0
        for name, size in wanted.items()
        if not (folder / name).exists() or _is_damaged(folder / name, wanted)
    }
    needed = sum(left.values())
    free = shutil.disk_usage(folder).free
    if needed and needed + _SPARE > free:
        raise TooLarge(
            "The model does not fit on the disk.",
            f"It needs {needed / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB are free.",
            "Free some space, or set HF_HOME to a folder on another disk.",
        )
    done = 0
    for name, size in left.items():
        damaged = (folder / name).exists()
        get(name, _bar(progress, done, needed), anew=damaged)
        done += size
    progress("Downloading the model", 1.0)


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.exists() else None


class _Quiet:
    """What the Hub library asks of a progress bar, showing nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.update(kwargs.get("initial") or 0)

    def __enter__(self) -> "_Quiet":
        return self

    def __exit__(self, *args: Any) -> None:
        pass

    def update(self, n: float | None = 1) -> None:
        pass

    def update_transfer(self, n: float | None = 1) -> None:
        pass

    def set_postfix_str(self, *args: Any, **kwargs: Any) -> None:
        pass

    def set_transfer_postfix_str(self, *args: Any, **kwargs: Any) -> None:
        pass

    def close(self) -> None:
        pass


def _bar(progress: Progress, done: int, total: int) -> type[_Quiet]:
    """A progress bar for one file that reports the fraction of all files."""

    class Bar(_Quiet):
        seen = 0.0

        def update(self, n: float | None = 1) -> None:
            self.seen += n or 0
            progress("Downloading the model", min((done + self.seen) / max(total, 1), 1.0))

    return Bar
