"""Models of the Hub, against a server that speaks its protocol."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest

import attnviz
from attnviz.errors import AttnvizError, ModelNotFound, ModelRefused, TooLarge, UnsupportedModel

REPO = "someone/tiny-llama"
COMMIT = "c0ffee" + "0" * 34


def test_a_repository_loads_pinned_to_its_commit(hub: Any, llama_folder: Path) -> None:
    hub.add(REPO, llama_folder)
    steps: list[tuple[str, float | None]] = []
    model = attnviz.load(REPO, progress=lambda words, part: steps.append((words, part)))
    assert model.info.name == REPO
    assert model.info.revision == COMMIT
    assert model.info.attention == "sdpa"
    assert model.tokenizer("the cat")["input_ids"] == [1, 2]
    fractions = [part for words, part in steps if words == "Downloading the model"]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0


def test_only_the_files_that_are_read_are_fetched(hub: Any, llama_folder: Path) -> None:
    (llama_folder / "pytorch_model.bin").write_bytes(b"never fetched")
    (llama_folder / "modeling_evil.py").write_text("raise SystemExit")
    (llama_folder / "model.fp16.safetensors").write_bytes(b"another copy")
    (llama_folder / "model.gguf").write_bytes(b"GGUF")
    hub.add(REPO, llama_folder)
    attnviz.load(REPO)
    assert set(hub.fetched()) == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }


def test_a_model_fetched_before_loads_without_a_network(hub: Any, llama_folder: Path) -> None:
    hub.add(REPO, llama_folder)
    attnviz.load(REPO)
    hub.fault = (503, {}, b"")
    assert attnviz.load(REPO).info.revision == COMMIT
    asked = len(hub.asked)
    assert attnviz.load(REPO, revision=COMMIT).info.revision == COMMIT
    assert not any("/resolve/" in line for line in hub.asked[asked:])


def test_half_a_model_in_the_cache_is_not_taken_for_a_whole_one(
    hub: Any, llama_folder: Path, tmp_path: Path
) -> None:
    hub.add(REPO, llama_folder)
    attnviz.load(REPO)
    weights = next((tmp_path / "hub-cache").rglob("model.safetensors")).resolve()
    weights.write_bytes(weights.read_bytes()[:-100])
    hub.fault = (503, {}, b"")
    with pytest.raises(ModelNotFound, match="in part only"):
        attnviz.load(REPO)
    hub.fault = None
    assert attnviz.load(REPO).info.layers == 3  # fetched anew, as soon as it can be


FAULTS: dict[str, tuple[tuple[int, dict[str, str], bytes], str]] = {
    "gated": ((401, {"X-Error-Code": "GatedRepo"}, b""), "is gated"),
    "gated, signed in": ((403, {"X-Error-Code": "GatedRepo"}, b""), "is gated"),
    "missing": ((404, {"X-Error-Code": "RepoNotFound"}, b""), "has no model"),
    "private or missing": ((401, {}, b""), "has no model"),
    "bad token": (
        (401, {"X-Error-Message": "Invalid credentials in Authorization header"}, b""),
        "refused access",
    ),
    "forbidden": ((403, {}, b""), "refused access"),
    "too many requests": ((429, {}, b""), "asks to wait"),
    "out of order": ((500, {}, b"hf_secretsecretsecret was sent"), "has a fault"),
    "gateway": ((504, {}, b""), "has a fault"),
    "disabled": (
        (403, {"X-Error-Message": "Access to this resource is disabled."}, b""),
        "was switched off",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_refusal_of_the_hub_has_its_own_plain_message(hub: Any, fault: str) -> None:
    """centre-for-humanities-computing/stormtrooper#5, streamlit/streamlit#11044"""
    hub.fault, words = FAULTS[fault]
    with pytest.raises(ModelNotFound, match=words) as caught:
        attnviz.load(REPO)
    assert_plain(caught.value)


def test_an_unknown_revision_is_named(hub: Any, llama_folder: Path) -> None:
    hub.add(REPO, llama_folder)
    with pytest.raises(ModelNotFound, match="no revision of that name"):
        attnviz.load(REPO, revision="nightly")


def test_a_slow_hub_is_told_from_a_missing_one(
    hub: Any, llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """streamlit/streamlit#11044"""
    from attnviz.models import hub as hub_module

    hub.add(REPO, llama_folder)
    hub.stall = 0.5
    monkeypatch.setattr(hub_module, "_TIMEOUT", 0.05)
    with pytest.raises(ModelNotFound, match="did not answer in time") as caught:
        attnviz.load(REPO)
    assert_plain(caught.value)


def test_no_network_at_all_says_so(monkeypatch: pytest.MonkeyPatch, hub: Any) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    with pytest.raises(ModelNotFound, match="could not be reached") as caught:
        attnviz.load(REPO)
    assert_plain(caught.value)


def test_the_offline_switch_is_named(monkeypatch: pytest.MonkeyPatch, hub: Any) -> None:
    from huggingface_hub import close_session, constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    close_session()  # the switch is read when a session is made
    try:
        with pytest.raises(ModelNotFound, match="HF_HUB_OFFLINE"):
            attnviz.load(REPO)
    finally:
        monkeypatch.undo()
        close_session()


def test_a_full_disk_is_told_from_a_fault_of_the_hub(
    hub: Any, llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """centre-for-humanities-computing/stormtrooper#5"""
    from huggingface_hub import file_download

    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/somewhere/secret")

    hub.add(REPO, llama_folder)
    monkeypatch.setattr(file_download, "http_get", full)
    with pytest.raises(TooLarge, match="does not fit on the disk") as caught:
        attnviz.load(REPO)
    assert_plain(caught.value)


def test_too_little_room_is_said_before_the_download(
    hub: Any, llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    hub.add(REPO, llama_folder)
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(TooLarge, match="0 MB are free"):
        attnviz.load(REPO)
    assert "model.safetensors" not in hub.fetched()


def test_a_repository_without_config_is_no_model(hub: Any, llama_folder: Path) -> None:
    """centre-for-humanities-computing/stormtrooper#5"""
    hub.add(REPO, llama_folder)
    del hub.repos[REPO]["config.json"]
    with pytest.raises(UnsupportedModel, match=r"no config\.json") as caught:
        attnviz.load(REPO)
    assert_plain(caught.value)


def test_a_failed_load_is_tried_anew(hub: Any, llama_folder: Path) -> None:
    """streamlit/streamlit#8009"""
    hub.fault = (429, {}, b"")
    with pytest.raises(ModelNotFound):
        attnviz.load(REPO)
    hub.fault = None
    hub.add(REPO, llama_folder)
    assert attnviz.load(REPO).info.layers == 3


def test_pickled_weights_of_a_repository_are_not_even_fetched(hub: Any, llama_folder: Path) -> None:
    """huggingface/sentence-transformers#2927"""
    (llama_folder / "model.safetensors").rename(llama_folder / "pytorch_model.bin")
    hub.add(REPO, llama_folder)
    with pytest.raises(ModelRefused, match="pickles"):
        attnviz.load(REPO)
    assert "pytorch_model.bin" not in hub.fetched()


def test_a_model_too_large_is_refused_from_its_config(
    hub: Any, llama_folder: Path, edit_config: Any
) -> None:
    """Lin-jun-xiang/docGPT-langchain#2"""
    seven_billion = {
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "head_dim": 128,
        "vocab_size": 32000,
    }
    edit_config(llama_folder, **seven_billion)
    hub.add(REPO, llama_folder)
    with pytest.raises(TooLarge, match=r"6,738,415,616 parameters.*limit here is 500,000,000"):
        attnviz.load(REPO, max_parameters=500_000_000)
    assert hub.fetched() == ["config.json"]


def test_a_million_layers_are_not_built_even_as_a_shell(
    hub: Any, llama_folder: Path, edit_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """streamlit/docs#893"""
    from attnviz.models import architecture

    def fail(*args: Any) -> None:
        raise AssertionError("a model was built")

    monkeypatch.setattr(architecture, "count_parameters", fail)
    edit_config(llama_folder, num_hidden_layers=1_000_000)
    hub.add(REPO, llama_folder)
    with pytest.raises(TooLarge, match="1,000,000 layers"):
        attnviz.load(REPO, max_parameters=500_000_000)
    assert hub.fetched() == ["config.json"]


def test_shards_are_fetched_as_the_index_names_them(hub: Any, llama_folder: Path) -> None:
    import safetensors.torch

    tensors = safetensors.torch.load_file(llama_folder / "model.safetensors")
    names = sorted(tensors)
    parts = {"part-1.safetensors": names[:10], "part-2.safetensors": names[10:]}
    for file, members in parts.items():
        part = {name: tensors[name] for name in members}
        safetensors.torch.save_file(part, llama_folder / file, metadata={"format": "pt"})
    (llama_folder / "model.safetensors").unlink()
    index = {"weight_map": {name: file for file, part in parts.items() for name in part}}
    (llama_folder / "model.safetensors.index.json").write_text(json.dumps(index))
    hub.add(REPO, llama_folder)
    model = attnviz.load(REPO)
    for name, value in model.hf.state_dict().items():
        if name in tensors:
            assert (value == tensors[name]).all()


def assert_plain(error: AttnvizError) -> None:
    """Three sentences, and nothing of the machine or the wire in them."""
    assert error.what and error.why and error.todo
    for secret in ("hf_secret", "http", "127.0.0.1", "/somewhere", "Traceback", "Error:"):
        assert secret not in str(error)
    # Nor in what a log prints with it.
    assert error.__suppress_context__ or error.__context__ is None


def test_weights_whose_size_is_not_listed_are_held_against_the_limit(
    hub: Any, llama_folder: Path, tmp_path: Path
) -> None:
    """A list without sizes would let any file into a host's memory."""
    from attnviz.models.hub import _check_bytes, download

    hub.add(REPO, llama_folder)
    hub.unlisted = {"model.safetensors"}
    size = (llama_folder / "model.safetensors").stat().st_size
    options: Any = {"progress": lambda *told: None, "check": lambda config: None}
    with pytest.raises(TooLarge, match=f"weights take {size / 1e6:,.0f} MB"):
        download(REPO, None, cache_dir=tmp_path / "a", max_bytes=size - 1, **options)
    assert "model.safetensors" not in hub.fetched()
    folder, _ = download(REPO, None, cache_dir=tmp_path / "a", max_bytes=size, **options)
    assert (folder / "model.safetensors").stat().st_size == size
    with pytest.raises(ModelRefused, match="size of this model's weights is not known"):
        _check_bytes([10, None], 1000)
    _check_bytes([10, None], None)
