"""Fetches that break off, and caches that are damaged: nothing of it is taken for a model, each
has its own message, and the next try works."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import attnviz
from attnviz.errors import AttnvizError, ModelNotFound, ModelRefused
from tests.models.test_hub import COMMIT, REPO, assert_plain

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub library tries again at once, not after seconds."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_line_that_breaks_says_so_and_the_next_try_works(
    hub: Any, llama_folder: Path, tmp_path: Path, hasty: None, name: str
) -> None:
    """centre-for-humanities-computing/stormtrooper#5"""
    hub.add(REPO, llama_folder)
    whole = len(hub.repos[REPO][name])
    hub.cut = {name: whole // 2}
    with pytest.raises(ModelNotFound, match="broke off") as caught:
        attnviz.load(REPO)
    assert_plain(caught.value)
    assert not list((tmp_path / "hub-cache").rglob(f"snapshots/*/{name}"))
    hub.cut = {}
    assert attnviz.load(REPO).info.layers == 3
    (stored,) = (tmp_path / "hub-cache").rglob(f"snapshots/*/{name}")
    assert stored.stat().st_size == whole


def test_what_was_whole_is_not_fetched_a_second_time(
    hub: Any, llama_folder: Path, hasty: None
) -> None:
    hub.add(REPO, llama_folder)
    hub.cut = {"model.safetensors": 10}
    with pytest.raises(ModelNotFound):
        attnviz.load(REPO)
    hub.cut, asked = {}, len(hub.asked)
    attnviz.load(REPO)
    again = [line.rpartition("/")[2] for line in hub.asked[asked:] if line.startswith("GET")]
    assert "model.safetensors" in again and "tokenizer.json" not in again


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_file_whose_size_the_hub_does_not_list_is_fetched_once(
    hub: Any, llama_folder: Path, name: str
) -> None:
    hub.add(REPO, llama_folder)
    hub.unlisted = {name}
    attnviz.load(REPO)
    assert name in hub.fetched()
    before = len(hub.fetched())
    assert attnviz.load(REPO).info.layers == 3
    assert len(hub.fetched()) == before


def test_a_download_can_be_stopped_by_whoever_watches_it(
    hub: Any, llama_folder: Path, tmp_path: Path
) -> None:
    """A reader who presses Stop waits for no more of the file, and nothing stands in the way."""
    hub.add(REPO, llama_folder)

    def stop(words: str, fraction: float | None) -> None:
        if words == "Downloading the model":
            raise AttnvizError(what="Stopped.")

    with pytest.raises(AttnvizError, match="Stopped"):
        attnviz.load(REPO, progress=stop)
    assert not list((tmp_path / "hub-cache").rglob("snapshots/*/model.safetensors"))
    assert attnviz.load(REPO).info.layers == 3


def spoil(path: Path, kept: int) -> None:
    """Cut a file of the cache short, where it lies."""
    real = path.resolve()
    real.write_bytes(real.read_bytes()[:kept])


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("kept", [0, 50])
def test_a_damaged_cache_is_mended_where_there_is_a_network(
    hub: Any, llama_folder: Path, tmp_path: Path, name: str, kept: int
) -> None:
    hub.add(REPO, llama_folder)
    before = attnviz.load(REPO).hf.state_dict()["lm_head.weight"].clone()
    (stored,) = (tmp_path / "hub-cache").rglob(f"snapshots/*/{name}")
    spoil(stored, kept)
    model = attnviz.load(REPO)
    assert (model.hf.state_dict()["lm_head.weight"] == before).all()
    assert model.tokenizer("the cat")["input_ids"] == [1, 2]


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_damaged_cache_without_a_network_is_no_model(
    hub: Any, llama_folder: Path, tmp_path: Path, name: str
) -> None:
    hub.add(REPO, llama_folder)
    attnviz.load(REPO)
    (stored,) = (tmp_path / "hub-cache").rglob(f"snapshots/*/{name}")
    spoil(stored, 50)
    hub.fault = (503, {}, b"")
    for revision in (None, COMMIT):
        with pytest.raises((ModelNotFound, ModelRefused)) as caught:
            attnviz.load(REPO, revision=revision)
        assert_plain(caught.value)
    hub.fault = None
    assert attnviz.load(REPO).info.layers == 3


def test_a_process_that_is_killed_while_it_fetches_leaves_nothing_in_the_way(
    hub: Any, llama_folder: Path, tmp_path: Path
) -> None:
    """A host stops an app when it likes; the next start must not stumble over it."""
    hub.add(REPO, llama_folder)
    hub.cut, hub.hold = {"model.safetensors": 5_000}, 60.0
    environment = os.environ | {
        "HF_ENDPOINT": hub.address,
        "HF_HUB_CACHE": str(tmp_path / "hub-cache"),
        "PYTHONPATH": str(ROOT),
    }
    code = f"import attnviz; attnviz.load({REPO!r})"
    child = subprocess.Popen([sys.executable, "-c", code], env=environment, cwd=tmp_path)
    deadline = time.monotonic() + 120
    while not any("GET" in line and "model.safetensors" in line for line in hub.asked):
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.3)  # the first half is on its way
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not list((tmp_path / "hub-cache").rglob("snapshots/*/model.safetensors"))
    hub.cut, hub.hold = {}, 0.0
    assert attnviz.load(REPO).info.layers == 3
    assert attnviz.load(REPO).tokenizer("the cat")["input_ids"] == [1, 2]
