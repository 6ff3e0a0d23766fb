"""Getting a model from the Hugging Face Hub: only the files that are read, config first.

Files go to the Hub library's own cache, so a model that another program fetched is found there,
and one that was fetched before loads without a network.

Each file is asked for by itself, not all with `snapshot_download`: that lists the repository
without a time limit, so a Hub that stops answering would hold a load for ever. Nor does it notice
that a file in the cache was cut short.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, hf_hub_url, try_to_load_from_cache
from huggingface_hub.utils import tqdm

from attnviz.errors import ModelNotFound, ModelRefused, TooLarge
from attnviz.models import checkpoint
from attnviz.models.cache import require_space
from attnviz.models.hub_faults import is_unreachable, plain_errors
from attnviz.progress import Progress, ignore_progress

_LARGEST_DATA_FILE = 100_000_000  # a tokenizer is smaller; some repositories keep data sets beside
_TIMEOUT = 10.0  # seconds; left alone, the library waits for an answer for ever

Sizes = Mapping[str, int | None]  # name of a file -> its bytes, None where the Hub does not say


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
    api = HfApi(library_name="attnviz")
    cache = str(Path(cache_dir).expanduser() / "hub") if cache_dir else None
    progress("Asking the Hub for the model", None)
    with plain_errors(repo):
        folder = _find_snapshot(repo, revision, cache)
        if folder is not None and folder.name == revision and _is_whole(folder):
            return folder, folder.name  # a commit does not change: nothing to ask
        try:
            info = api.model_info(repo, revision=revision, files_metadata=True, timeout=_TIMEOUT)
        except Exception as error:
            if folder is None or not is_unreachable(error):
                raise
            _require_weights(folder)
            return folder, folder.name
        commit, files = str(info.sha), info.siblings or []
        sizes = {file.rfilename: file.size for file in files if "/" not in file.rfilename}
        _require_config(sizes)

        def fetch(name: str, bar: type[tqdm] | None = None) -> Path:
            bar = bar or _make_bar(ignore_progress, 0, 1)
            options: Any = {"revision": commit, "cache_dir": cache, "tqdm_class": bar}
            path = Path(api.hf_hub_download(repo, name, **options))
            if _is_damaged(path, sizes):  # since it was fetched: a disk may have lost some of it
                path = Path(api.hf_hub_download(repo, name, force_download=True, **options))
            return path

        config = fetch(checkpoint.CONFIG)
        if folder is None or folder.name != commit:
            # By its name, so that the cache knows which commit the name stands for.
            api.hf_hub_download(repo, checkpoint.CONFIG, revision=revision, cache_dir=cache)
        check(checkpoint.read_json(config))
        weights = checkpoint.choose_weights(set(sizes))
        if weights is None:
            weights = checkpoint.list_shards(checkpoint.read_json(fetch(checkpoint.INDEX)))
        sizes |= _ask_sizes(api, repo, commit, [n for n in weights if sizes.get(n, 0) is None])
        _check_bytes([sizes.get(name, 0) for name in weights], max_bytes)
        folder = config.parent
        missing = {
            name: size or 0
            for name, size in _choose_files(sizes, weights).items()
            if not (folder / name).exists() or _is_damaged(folder / name, sizes)
        }
        done, needed = 0, sum(missing.values())
        if needed:
            require_space(folder, needed, setting="HF_HOME")
        for name, size in missing.items():
            fetch(name, _make_bar(progress, done, needed))
            done += size
        if missing:
            progress("Downloading the model", 1.0)
    return folder, commit


def read_config(repo: str) -> dict[str, Any]:
    """A repository's raw config, and nothing else of it.

    Raises ModelNotFound or ModelRefused.
    """
    with plain_errors(repo):
        path = HfApi(library_name="attnviz").hf_hub_download(repo, checkpoint.CONFIG)
    return checkpoint.read_json(Path(path))


def _find_snapshot(repo: str, revision: str | None, cache: str | None) -> Path | None:
    """The folder of the cache with this revision's config, None if it is not there."""
    path = try_to_load_from_cache(repo, checkpoint.CONFIG, cache_dir=cache, revision=revision)
    return Path(path).parent if isinstance(path, str) else None


def _is_whole(folder: Path) -> bool:
    """Whether nothing needs to be asked about a commit that is in the cache already.

    Weights are fetched last here. Another program may have fetched them alone, so a tokenizer
    must be there too.
    """
    try:
        checkpoint.read_json(folder / checkpoint.CONFIG)
        checkpoint.read_json(folder / "tokenizer.json")
        return bool(checkpoint.check_weights(folder))
    except (ModelRefused, OSError):
        return False


def _is_damaged(path: Path, sizes: Sizes) -> bool:
    """Whether a file that is there is not as long as the Hub says, where it says so."""
    size = sizes.get(path.name)
    return size is not None and path.exists() and path.stat().st_size != size


def _require_weights(folder: Path) -> None:
    """Raise ModelNotFound unless the weights that an earlier run left in the cache are whole."""
    try:
        checkpoint.check_weights(folder)
    except ModelRefused:
        raise ModelNotFound(
            what="The model is here in part only.",
            why="An earlier download was not finished, and the Hub cannot be reached now.",
            todo="Try again when there is a network.",
        ) from None


def _require_config(sizes: Sizes) -> None:
    if "adapter_config.json" in sizes:
        raise checkpoint.adapter_refusal()
    if checkpoint.CONFIG not in sizes:
        raise checkpoint.no_config()


def _ask_sizes(api: HfApi, repo: str, commit: str, names: list[str]) -> dict[str, int | None]:
    """The bytes of files whose size the Hub's list leaves out, as the files' own headers say;
    None where they do not either."""
    urls = {name: hf_hub_url(repo, name, revision=commit, endpoint=api.endpoint) for name in names}
    return {
        name: api.get_hf_file_metadata(url=url, timeout=_TIMEOUT).size for name, url in urls.items()
    }


def _check_bytes(weights: list[int | None], limit: int | None) -> None:
    if limit is None:
        return
    if None in weights:
        raise ModelRefused(
            what="The size of this model's weights is not known.",
            why=f"The Hub does not say it, and the limit here is {limit / 1e6:,.0f} MB.",
            todo="Choose another model, or run attnviz on a machine of your own.",
        )
    size = sum(known or 0 for known in weights)
    if size > limit:
        raise TooLarge(
            what=f"This model's weights take {size / 1e6:,.0f} MB.",
            why=f"The limit here is {limit / 1e6:,.0f} MB.",
            todo="Choose a smaller model, or run attnviz where there is more memory.",
        )


def _choose_files(sizes: Sizes, weights: list[str]) -> Sizes:
    """The files to have, the weights last: whole weights mean a whole model."""
    missing = [name for name in weights if name not in sizes]
    if missing:
        raise ModelRefused(
            what="This model's weights are not complete.",
            why=f"Its index names {len(missing)} files that the repository does not have.",
            todo="Choose another revision or another model.",
        )
    data = [
        name
        for name, size in sizes.items()
        if (checkpoint.is_data(name) and (size or 0) <= _LARGEST_DATA_FILE)
        or name in checkpoint.TOKENIZER_CONFIGS
    ]
    return {name: sizes[name] for name in [*data, *weights]}


def _make_bar(progress: Progress, done: int, total: int) -> type[tqdm]:
    """A progress bar for one file, drawn nowhere, that reports the fraction of all files."""

    class Bar(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs | {"disable": True})

        def update(self, n: float | None = 1) -> None:
            self.n += n or 0
            progress("Downloading the model", min((done + self.n) / max(total, 1), 1.0))

        # With these two the library makes one bar a file, of bytes written, not a second one of
        # bytes received.
        def update_transfer(self, n: float | None = 1) -> None:
            pass

        def set_transfer_postfix_str(self, *args: Any, **kwargs: Any) -> None:
            pass

    return Bar
