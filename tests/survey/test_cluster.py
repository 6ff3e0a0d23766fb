"""Surveys on Ray: the same files as in one process, workers that are lost, models that are not."""

import os
import signal
import time
from pathlib import Path

import pytest
import ray
import torch

import attnviz
import attnviz.survey
from attnviz.models.placement import is_spread
from attnviz.survey import ray_engine, survey, survey_run
from attnviz.survey import survey_part as parts
from attnviz.survey.rule_corpus import probe_texts
from attnviz.survey.survey_tables import TABLES
from tests.models.conftest import tiny_llama, word_tokenizer

TEXTS = [text for _, text in probe_texts(24)]
MODEL = "planted-circuit"


@pytest.fixture(scope="module", autouse=True)
def started():
    """Ray on this machine, once for all tests."""

    os.environ["RAY_worker_niceness"] = "0"  # on a busy machine workers would get no turn
    # a GPU that is only counted: Ray hands it out, and nothing here asks what it can do
    ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    survey(attnviz.load(MODEL), TEXTS, folder)
    return folder


def same_files(one, other):
    return all(
        (one / f"{name}.parquet").read_bytes() == (other / f"{name}.parquet").read_bytes()
        for name in TABLES
    )


def test_the_engine_makes_no_difference(whole, tmp_path):
    told = []
    survey(MODEL, TEXTS, tmp_path, engine="ray", workers=2, progress=told.append)
    assert same_files(whole, tmp_path)
    assert told[-1].done == len(TEXTS) and told[-1].total == len(TEXTS)


def test_a_worker_that_is_killed_loses_nothing(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "SIZE", 4)
    killed = []

    def kill(progress):
        """The process that holds the other part is shot while it is at it."""
        if not killed:
            (victim, *_) = workers()
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)

    survey(MODEL, TEXTS, tmp_path, engine="ray", workers=2, progress=kill)
    assert killed
    for name in ("heads", "examples", "failures"):
        one, other = (
            getattr(attnviz.survey.open_survey(folder), name) for folder in (whole, tmp_path)
        )
        assert len(one) == len(other)
        numbers = one.select_dtypes("number").columns
        assert ((one[numbers] - other[numbers]).abs().max() < 1e-6).all()


def workers():
    """Processes that hold a worker of the survey and come from this one."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(b"ray::Worker") and ours(folder.name):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def ours(pid):
    while pid not in ("0", "1", str(os.getpid())):
        pid = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    return pid == str(os.getpid())


def test_a_part_that_every_worker_dies_of_is_an_error_in_words(tmp_path, monkeypatch):
    class Doomed(ray_engine.Worker):
        def examine(self, texts, options):
            time.sleep(0.1)
            os._exit(1)

    monkeypatch.setattr(ray_engine, "Worker", Doomed)
    with pytest.raises(attnviz.BadInput, match="3 workers were lost"):
        survey(MODEL, TEXTS[:2], tmp_path, engine="ray")


def test_a_worker_with_other_versions_is_refused(tmp_path, monkeypatch):
    real = survey_run.model_facts
    monkeypatch.setattr(
        survey_run, "model_facts", lambda model: real(model) | {"versions": {"torch": 1}}
    )
    with pytest.raises(attnviz.BadInput, match="other packages.*differ in: versions"):
        survey(MODEL, TEXTS[:2], tmp_path, engine="ray")


def test_more_workers_than_cores_are_refused_and_not_waited_for(tmp_path):
    with pytest.raises(attnviz.BadInput, match="no room for 3 workers.*has 2"):
        survey(MODEL, TEXTS[:2], tmp_path, engine="ray", workers=3)


def test_workers_share_a_gpu_and_load_the_model_as_told(tmp_path, monkeypatch):
    class Told(ray_engine.Worker):
        def examine(self, texts, options):
            hf = self._model.hf
            (own,) = ray.get_runtime_context().get_accelerator_ids()["GPU"]
            assert own == "0" and ray.get_runtime_context().get_assigned_resources()["GPU"] == 0.5
            assert {parameter.dtype for parameter in hf.parameters()} == {torch.bfloat16}
            assert is_spread(hf)
            return super().examine(texts, options)

    monkeypatch.setattr(ray_engine, "Worker", Told)
    for one in (tiny_llama(), word_tokenizer()):
        one.save_pretrained(tmp_path / "model")
    how = {"dtype": "bfloat16", "device_map": {"": "disk"}, "gpus": 0.5, "workers": 2}
    found = survey(str(tmp_path / "model"), TEXTS[:4], tmp_path / "out", engine="ray", **how)
    assert found.texts == 4 and found.provenance["dtype"] == "bfloat16"


def test_more_gpus_than_there_are_are_refused(tmp_path):
    with pytest.raises(attnviz.BadInput, match="2 workers.*takes 1 GPU, and .* has 1"):
        survey(MODEL, TEXTS[:2], tmp_path, engine="ray", workers=2, gpus=1)


def test_ray_wants_a_name_and_says_where_it_is_missing(tmp_path, monkeypatch):
    with pytest.raises(attnviz.BadInput, match="load the model themselves"):
        survey(attnviz.load(MODEL), TEXTS, tmp_path, engine="ray")
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(attnviz.BadInput, match=r"attnviz\[ray\]"):
        survey(MODEL, TEXTS, tmp_path, engine="ray")
