"""Surveys: against texts measured one by one; stopped, failed, changed and gone on with."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import attnviz
from attnviz.detectors import profile
from attnviz.survey import open_survey, plan, survey
from attnviz.survey import survey_part as parts
from attnviz.survey.rule_corpus import probe_texts
from attnviz.survey.survey_tables import TABLES
from tests import tiny
from tests.models.conftest import tiny_llama, word_tokenizer

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [text for _, text in probe_texts(20)]
MODEL = "planted-circuit"


@pytest.fixture(scope="module")
def planted():
    return attnviz.load(MODEL)


@pytest.fixture(scope="module")
def found(planted, tmp_path_factory):
    return survey(planted, TEXTS, tmp_path_factory.mktemp("survey"))


def same_files(one, other):
    return all(
        (one / f"{name}.parquet").read_bytes() == (other / f"{name}.parquet").read_bytes()
        for name in TABLES
    )


def test_means_are_those_of_the_texts_measured_one_by_one(planted, found):
    profiles = [profile(attnviz.capture(planted, text)) for text in TEXTS]
    for name in ("previous_token", "induction", "entropy", "output_norm"):
        values = np.stack([one.values[name] for one in profiles]).astype(float)
        rows = np.stack([one.counted[name] for one in profiles])
        expected = np.nansum(values * rows, axis=0) / rows.sum(axis=0)
        np.testing.assert_allclose(found.grid(name), expected, rtol=1e-6)
        np.testing.assert_allclose(
            found.grid(name, "variance"), np.nanvar(values, axis=0, ddof=1), rtol=1e-5, atol=1e-12
        )
        assert (found.grid(name, "rows") == rows.sum(axis=0)).all()
    assert found.texts == len(TEXTS) and found.provenance["failed"] == 0


def test_the_best_examples_are_the_cells_that_add_most(planted, found):
    best = []
    for number, text in enumerate(TEXTS):
        head = attnviz.capture(planted, text).head(1, 0)
        added = head.contribution_matrix("contribution_norm").copy()
        added[head.allowed.sum(axis=1) < 2] = 0
        query, key = np.unravel_index(added.argmax(), added.shape)
        best.append((-float(added[query, key]), number, int(query), int(key)))
    shown = found.examples_of(1, 0)
    assert shown["rank"].tolist() == [0, 1, 2, 3, 4]
    for (added, number, query, key), row in zip(sorted(best), shown.itertuples(), strict=False):
        assert row.contribution == pytest.approx(-added, rel=1e-5)
        if sum(abs(other[0] - added) < 1e-5 for other in best) == 1:
            assert (row.text, row.query, row.key) == (number, query, key)
        text = TEXTS[row.text]
        head = attnviz.capture(planted, text).head(1, 0)
        assert row.weight == pytest.approx(head.weights[row.query, row.key], abs=1e-6)
        assert row.key_token == head.key_tokens[row.key].label
        assert row.excerpt in text and len(row.excerpt) <= 260


@pytest.mark.parametrize("first", ["", "import attnviz.survey\n", "from attnviz import survey\n"])
def test_the_package_is_called_as_the_function(first, tmp_path):
    code = (
        f"import sys, attnviz\n{first}"
        f"found = attnviz.survey({MODEL!r}, ['red fox', 'ran home'], sys.argv[1])\n"
        "assert attnviz.survey.open_survey(sys.argv[1]).texts == found.texts == 2\n"
        "assert attnviz.capture.Capture is attnviz.Capture"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=True)


def test_what_is_written_is_what_is_read(planted, tmp_path):
    found = survey(planted, TEXTS[:3], tmp_path)
    again = open_survey(tmp_path)
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(again, name), getattr(found, name), check_dtype=False)
    assert again.provenance == json.loads(json.dumps(found.provenance))
    assert again.provenance["model"] == MODEL and again.provenance["tokens"] > 0


def test_a_run_that_is_killed_goes_on_and_counts_no_text_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "SIZE", 2)
    whole = tmp_path / "whole"
    model = attnviz.load(MODEL)
    survey(model, TEXTS, whole)
    for tenth in range(1, 10):
        stopped = tmp_path / f"stopped at {tenth}"
        last = tenth * len(TEXTS) // 10

        def stop(progress, last=last):
            if progress.done == last:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            survey(model, TEXTS, stopped, progress=stop)
        with pytest.raises(attnviz.BadInput, match="no finished survey"):
            open_survey(stopped)
        finished = len(list((stopped / "parts").glob("*.npz")))
        told = []
        survey(model, TEXTS, stopped, progress=lambda progress, told=told: told.append(progress))
        assert len(told) == len(TEXTS) - 2 * finished and told[-1].done == len(TEXTS)
        assert same_files(whole, stopped)


def test_a_process_that_is_killed_leaves_parts_that_are_whole(tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("\n".join(json.dumps({"text": text}) for text in TEXTS * 4))
    out, whole = tmp_path / "out", tmp_path / "whole"
    code = (
        "import sys; from attnviz.survey import survey\n"
        f"survey({MODEL!r}, sys.argv[1], sys.argv[2])"
    )
    run = [sys.executable, "-c", code, str(corpus)]
    process = subprocess.Popen([*run, str(out)], cwd=ROOT, start_new_session=True)
    deadline = time.monotonic() + 120
    while not list((out / "parts").glob("*.npz")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list((out / "parts").glob("*.npz")) and not (out / "heads.parquet").exists()
    survey(attnviz.load(MODEL), corpus, out)
    survey(attnviz.load(MODEL), corpus, whole)
    assert same_files(out, whole)


def test_a_text_that_fails_is_recorded_and_left_out(tmp_path):
    tokenizer = attnviz.load(MODEL).tokenizer
    hf = tiny.hf("GPT2LMHeadModel", n_positions=12, vocab_size=len(tokenizer))
    model = attnviz.wrap(hf, tokenizer)
    texts = ["red fox", "\ud800 half a pair", "ran home", "word " * 40]
    found = survey(model, texts, tmp_path)
    assert found.texts == 3 and found.failures["text"].tolist() == [1]
    assert found.failures["why"].str.len().min() > 10
    assert found.provenance["cut"] == 1, "the model has 12 places, whatever max_tokens is"
    assert found.grid("entropy", "rows").max() <= found.provenance["tokens"] <= 3 * 12


def test_what_breaks_down_inside_a_run_is_recorded_too(planted, tmp_path, monkeypatch):
    from attnviz import detectors

    real = detectors.profile

    def starve(capture, *args, **options):
        if len(capture.query_tokens()) < 4:
            raise RuntimeError("not enough memory: you tried to allocate 1 byte\nand a long trace")
        return real(capture, *args, **options)

    monkeypatch.setattr(detectors, "profile", starve)
    found = survey(planted, ["red", TEXTS[0]], tmp_path)
    (why,) = found.failures["why"]
    assert found.texts == 1 and why.startswith("not enough memory") and "trace" not in why


def test_a_part_that_is_damaged_is_made_again(planted, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "SIZE", 4)
    survey(planted, TEXTS, tmp_path / "whole")
    survey(planted, TEXTS, tmp_path / "hurt")
    hurt = tmp_path / "hurt" / "parts" / "000001.npz"
    for damage in (b"", b"PK\x03\x04 no archive", hurt.read_bytes()[:200]):
        hurt.write_bytes(damage)
        survey(planted, TEXTS, tmp_path / "hurt")
        assert same_files(tmp_path / "whole", tmp_path / "hurt")


def test_names_that_are_no_utf_8_are_spelt_out(planted, tmp_path):
    found = survey(planted, [("bad\udcff name", "red fox ran")], tmp_path)
    assert set(found.examples["name"]) == {"bad\\udcff name"}


def test_a_place_that_cannot_be_a_folder_is_refused(planted, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(attnviz.BadInput, match="cannot be used"):
        survey(planted, TEXTS[:1], tmp_path / "file" / "out")


def test_a_corpus_of_which_no_text_counts_is_an_error_with_the_first_reason(planted, tmp_path):
    with pytest.raises(attnviz.BadInput, match="No text of 'texts' could be examined.*surrogate"):
        survey(planted, ["\ud800"], tmp_path)
    kept = open_survey(tmp_path)
    assert kept.texts == 0 and kept.failures["text"].tolist() == [0]
    with pytest.raises(attnviz.BadInput, match="no text that counted"):
        kept.grid("entropy")


def test_a_folder_of_another_survey_is_left_alone(planted, tmp_path):
    survey(planted, TEXTS[:2], tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.glob("*.parquet")}
    with pytest.raises(attnviz.BadInput, match="differs in: max_tokens"):
        survey(planted, TEXTS[:2], tmp_path, max_tokens=9)
    told = []
    with pytest.raises(attnviz.BadInput, match="not the one"):
        survey(planted, [TEXTS[1], TEXTS[0], *TEXTS], tmp_path, progress=told.append)
    assert not told, "it is refused before anything is worked out"
    assert before == {file.name: file.read_bytes() for file in tmp_path.glob("*.parquet")}


def test_damaged_results_are_refused_in_words(found, planted, tmp_path):
    survey(planted, TEXTS[:2], tmp_path)
    (tmp_path / "heads.parquet").write_bytes(b"PAR1 not at all")
    with pytest.raises(attnviz.BadInput, match="cannot be read"):
        open_survey(tmp_path)
    shutil.copy(tmp_path / "failures.parquet", tmp_path / "heads.parquet")
    with pytest.raises(attnviz.BadInput, match="cannot be read"):
        open_survey(tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "spark"}, "no engine 'spark'"),
        ({"max_tokens": 0}, "max_tokens 0"),
        ({"workers": 0}, "workers 0"),
        ({"gpus": 1}, "handed out by Ray.*local engine"),
        ({"gpus": -1}, "-1 GPUs a worker cannot be used"),
        ({"gpus": 1.5}, "1.5 GPUs a worker cannot be used"),
        ({"dtype": "bfloat16"}, "loaded already"),
        ({"device_map": "auto"}, "loaded already"),
    ],
)
def test_options_that_cannot_be_used_are_refused(planted, tmp_path, options, words):
    with pytest.raises(attnviz.BadInput, match=words):
        survey(planted, TEXTS[:1], tmp_path, **options)


def test_a_name_is_loaded_in_the_dtype_that_is_asked_for(tmp_path):
    found = survey(MODEL, TEXTS[:2], tmp_path, dtype="bfloat16")
    assert found.provenance["dtype"] == "bfloat16"
    assert plan(MODEL, TEXTS[:2], dtype="float64").texts == 2
    with pytest.raises(attnviz.BadInput, match="differs in: dtype"):
        survey(MODEL, TEXTS[:2], tmp_path)


def test_a_folder_may_be_given_as_a_path(tmp_path, monkeypatch):
    for one in (tiny_llama(), word_tokenizer()):
        one.save_pretrained(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    found = survey(Path("model"), ["red fox", "ran home"], tmp_path / "out", dtype="float64")
    assert found.texts == 2 and plan(Path("model"), ["red fox"]).texts == 1


def test_both_sides_of_a_model_with_two_are_surveyed(tmp_path, bpe):
    model = attnviz.wrap(tiny.hf("BartForConditionalGeneration", vocab_size=len(bpe)), bpe)
    found = survey(model, ["red fox", "ran home again"], tmp_path)
    assert set(found.stacks) == {"encoder", "decoder", "cross"}
    assert np.isnan(found.grid("entropy", stack="cross")).sum() == 0
    with pytest.raises(attnviz.BadInput, match="no 'mean' of 'entropy' in the nowhere"):
        found.grid("entropy", stack="nowhere")
    assert np.isnan(found.grid("previous_token", stack="cross")).all(), "it needs one text"
    written = found.examples[found.examples["stack"] == "decoder"]
    assert set(written["excerpt"]) == {""}, "the decoder reads what the model wrote"
    assert set(found.examples_of(0, 0, "cross")["excerpt"]) <= {"red fox", "ran home again"}
