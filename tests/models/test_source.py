"""What a name means, decided by its form."""

import os
from pathlib import Path

import pytest

from attnviz.errors import BadInput, ModelNotFound
from attnviz.models import source

REFUSED = [
    "http://169.254.169.254/x",
    "https://huggingface.co/gpt2",
    "hf://gpt2",
    "file:///x",
    "../../etc",
    "/etc",
    "/etc/passwd",
    "/no/such/place",
    "~/models/x",
    "a/b/c",
    "",
    "   ",
    "a" * 300,
    "Ｇpt2",  # a full-width G
    "gрt2",  # a Cyrillic r
    "gpt2\0",
    "gpt2/",
    "/gpt2",
    "-gpt2",
    ".hidden",
    "a..b",
    "a--b",
    "gpt2?x=1",
    "gpt2@main",
    "%2e%2e/x",
    "x.git",
    "models\\x",
    "<script>",
]


@pytest.mark.parametrize("name", REFUSED)
def test_addresses_paths_and_look_alikes_are_refused_by_form(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mudler/LocalAI#9395, FoundationAgents/MetaGPT#1934, huggingface/transformers#47176"""

    def touched(*args: object, **kwargs: object) -> None:
        raise AssertionError("the disk was asked")

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", touched)
        patch.setattr(Path, "is_dir", touched)
        said = _refusal(name)
    assert said.startswith("This is not a model name")
    assert said == _refusal("another/refused/name")


def _refusal(name: str) -> str:
    try:
        source.find_source(name, allow_folders=False)
    except BadInput as error:
        return str(error)
    return "not refused"


def test_the_message_is_the_same_whether_or_not_a_path_exists() -> None:
    """huggingface/transformers#47176"""
    said = set()
    for name in ("/etc/passwd", "/etc/no-such-file", Path("/etc"), Path("/no/such")):
        with pytest.raises(BadInput) as caught:
            source.find_source(name, allow_folders=False)
        said.add(str(caught.value))
    assert len(said) == 1


def test_spaces_around_a_name_are_dropped() -> None:
    """mudler/LocalAI#9395"""
    assert source.find_source("  gpt2 ").repo == "gpt2"
    assert source.find_source("\tminilm-l6\n").entry is not None


@pytest.mark.parametrize("name", ["gpt2", "openai-community/gpt2", "Qwen/Qwen3-0.6B", "a/b_"])
def test_hub_ids_are_taken_as_they_are(name: str) -> None:
    assert source.find_source(name, allow_folders=False).repo == name


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "model.bin"
    file.write_text("x")
    for name in (file, str(file), tmp_path / "missing"):
        with pytest.raises(ModelNotFound, match="no such model folder"):
            source.find_source(name)


def test_a_folder_is_named_by_its_last_part_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "deep" / "inside" / "mine"
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for name in (folder, str(folder), "./deep/inside/mine", "deep/inside/mine"):
        found = source.find_source(name)
        assert (found.name, found.folder) == ("mine", folder.resolve())
    assert source.find_source("deep/missing").repo == "deep/missing"


def test_a_catalog_name_wins_over_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "minilm-l6").mkdir()
    monkeypatch.chdir(tmp_path)
    assert source.find_source("minilm-l6").folder is None


@pytest.mark.parametrize("revision", ["", "../main", "a b", "-x", "a//b", "x" * 300, "é"])
def test_a_revision_has_the_form_of_one(revision: str) -> None:
    with pytest.raises(BadInput, match="not a revision"):
        source.check_revision(revision)


def test_usual_revisions_pass() -> None:
    for revision in (None, "main", "refs/pr/3", "v1.0", "c0ffee" + "0" * 34):
        source.check_revision(revision)
