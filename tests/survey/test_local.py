"""The local engine: several texts at once, with the numbers of one after another."""

import threading

import numpy as np
import pytest
import torch
from accelerate.hooks import ModelHook, add_hook_to_module

import attnviz
from attnviz.capture.cost import estimate
from attnviz.survey import examination, local_engine, survey
from attnviz.survey import survey_part as parts
from attnviz.survey.corpus import Text
from attnviz.survey.rule_corpus import probe_texts
from tests import tiny

TEXTS = [text for _, text in probe_texts(20)]
OPTIONS = {"max_tokens": 64, "most": 3}


@pytest.fixture(scope="module")
def planted():
    return attnviz.load("planted-circuit")


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def corpus(texts=TEXTS):
    return [Text(number, f"text {number}", text) for number, text in enumerate(texts)]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_texts_at_once_come_to_the_numbers_of_texts_one_by_one(
    planted, threads, monkeypatch, count
):
    threads(count)
    monkeypatch.setattr(parts, "SIZE", 3)
    waiting = parts.split_corpus(corpus([*TEXTS, "\ud800 half a pair"]))
    found = list(local_engine.examine_parts(planted, waiting, **OPTIONS))
    assert [number for number, _, _ in found] == list(range(7))
    for _, texts, part in found:
        one_by_one = examination.examine(planted, texts, **OPTIONS)
        assert part.failures == one_by_one.failures
        assert (part.texts, part.tokens) == (one_by_one.texts, one_by_one.tokens)
        assert part.examples == one_by_one.examples
        for name, array in part.statistics["decoder"].arrays().items():
            np.testing.assert_array_equal(array, one_by_one.statistics["decoder"].arrays()[name])
    assert sum(len(part.failures) for *_, part in found) == 1


@pytest.mark.parametrize(
    "name",
    [
        "LlamaForCausalLM",
        "BloomForCausalLM",
        "FalconForCausalLM",
        "DebertaV2ForMaskedLM",
        "T5ForConditionalGeneration",
        "BartForConditionalGeneration",
    ],
)
def test_threads_that_share_a_model_of_any_kind_do_not_mix(bpe, threads, name):
    """Recorders are switched on by each thread, and a decoder's text is written by the model."""
    model = attnviz.wrap(tiny.hf(name, vocab_size=len(bpe)), bpe)
    texts = corpus([f"red fox {'ran home ' * (1 + number % 4)}again" for number in range(24)])
    threads(4)
    (found,) = local_engine.examine_parts(model, iter([(0, texts)]), **OPTIONS)
    threads(1)
    one_by_one = examination.examine(model, texts, **OPTIONS)
    assert not found[2].failures and found[2].texts == len(texts)
    for stack, statistics in one_by_one.statistics.items():
        for kind, array in statistics.arrays().items():
            np.testing.assert_array_equal(array, found[2].statistics[stack].arrays()[kind], kind)


def test_as_many_texts_at_once_as_torch_has_threads(planted, threads, monkeypatch):
    threads(3)
    meeting = threading.Barrier(3, timeout=60)  # breaks unless three are there at once
    real = examination.examine_text

    def find(*args, **options):
        meeting.wait()
        assert torch.get_num_threads() == 1
        return real(*args, **options)

    monkeypatch.setattr(local_engine, "examine_text", find)
    (found,) = local_engine.examine_parts(planted, iter([(0, corpus(TEXTS[:6]))]), **OPTIONS)
    assert found[2].texts == 6
    assert torch.get_num_threads() == 3


def test_the_threads_go_to_few_texts_where_captures_are_large(planted, threads, monkeypatch):
    threads(4)
    seen = []

    def find(*args, **options):
        seen.append(torch.get_num_threads())
        return examination.examine_text(*args, **options)

    monkeypatch.setattr(local_engine, "examine_text", find)
    one = estimate(planted, OPTIONS["max_tokens"]).bytes
    for room, each in ((4 * one, 1), (3 * one - 1, 2), (2 * one - 1, 4), (1, 4)):
        monkeypatch.setattr(local_engine, "ROOM", room)
        list(local_engine.examine_parts(planted, iter([(0, corpus(TEXTS[:2]))]), **OPTIONS))
        assert set(seen) == {each}, room
        seen.clear()


def test_weights_that_are_not_in_memory_are_read_by_one_text_at_a_time(threads):
    threads(4)
    model = attnviz.wrap(tiny.hf("GPT2LMHeadModel"))
    assert local_engine._threads_of(model) == 4
    elsewhere = attnviz.wrap(tiny.hf("GPT2LMHeadModel"))
    elsewhere.hf.lm_head.weight = torch.nn.Parameter(torch.empty(1, 1, device="meta"))
    assert local_engine._threads_of(elsewhere) == 1
    add_hook_to_module(model.hf.transformer.h[0], ModelHook())  # brings weights and takes them away
    assert local_engine._threads_of(model) == 1


def test_a_survey_that_is_stopped_begins_no_other_text_and_gives_the_threads_back(
    planted, threads, tmp_path, monkeypatch
):
    threads(2)
    begun = []

    def find(model, text, **options):
        begun.append(text.number)
        return examination.examine_text(model, text, **options)

    def stop(progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(local_engine, "examine_text", find)
    long = ["red fox ran home " * 8] * 16
    with pytest.raises(KeyboardInterrupt):
        survey(planted, long, tmp_path, progress=stop)
    assert torch.get_num_threads() == 2
    count = len(begun)
    assert count < len(long)
    assert not any(thread.name.startswith("ThreadPool") for thread in threading.enumerate())
    assert len(begun) == count
