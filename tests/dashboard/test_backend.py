"""Limits of a text, and what a cut leaves."""

import gc
import weakref

import pytest

import attnviz
from dashboard.session import all_heads, backend
from dashboard.session.backend import Ask
from tests import tiny
from tests.fixtures_tokenizers import byte_level_bpe, wordpiece


def quiet(words, fraction):
    pass


@pytest.fixture
def gpt2(monkeypatch):
    """A model of 16 places behind every name; a fresh store."""
    tokenizer = byte_level_bpe()
    model = attnviz.wrap(
        tiny.hf("GPT2LMHeadModel", n_positions=16, vocab_size=len(tokenizer)), tokenizer
    )
    backend.store.clear()
    monkeypatch.setattr(backend, "load_model", lambda name, tell: model)
    return model


def test_one_run_serves_all_heads_and_all_readers(gpt2, monkeypatch):
    """jessevig/bertviz#82, #74, #110: the second head comes without running the model again."""
    runs = []
    run = backend.run_model
    monkeypatch.setattr(backend, "run_model", lambda m, ask: runs.append(ask) or run(m, ask))
    ask = Ask("m", "the cat")
    first = backend.get_head(ask, "decoder", 0, 0)
    second = backend.get_head(ask, "decoder", 2, 3)
    assert len(runs) == 1 and (first.scores != second.scores).any()
    backend.get_head(Ask("m", "the dog"), "decoder", 0, 0)
    backend.get_head(Ask("m", "the cat", special=False), "decoder", 0, 0)
    assert len(runs) == 3


@pytest.mark.parametrize("text", ["xyz" * 30, "😀" * 20, "x" * 16 + "😀é", "a " * 40])
def test_a_cut_text_fits_and_is_as_long_as_may_be(gpt2, text):
    ask = Ask("m", text, cut_to=backend.MAX_TOKENS)
    kept = backend.cut_text(gpt2, ask)
    assert text.startswith(kept)
    capture = backend.get_capture(ask, quiet)
    count = len(capture.key_tokens())
    whole = len(gpt2.tokenizer(text)["input_ids"])
    assert 12 < count <= 16  # a character of several tokens goes as a whole
    assert backend.count_left_out(ask) == whole - count


def test_special_tokens_have_their_place_within_the_limit():
    tokenizer = wordpiece()
    model = attnviz.wrap(
        tiny.hf("BertModel", max_position_embeddings=16, vocab_size=len(tokenizer)), tokenizer
    )
    ask = Ask("m", "the cat sat . " * 10, cut_to=backend.MAX_TOKENS)
    kept = tokenizer(backend.cut_text(model, ask))["input_ids"]
    assert len(kept) == 16


def test_a_text_within_the_limit_is_not_cut(gpt2):
    ask = Ask("m", "the cat", cut_to=backend.MAX_TOKENS)
    backend.get_capture(ask, quiet)
    assert backend.cut_text(gpt2, ask) == "the cat" and backend.count_left_out(ask) == 0


def test_too_many_tokens_says_how_many_and_runs_nothing(gpt2, monkeypatch):
    """huggingface/transformers#2446, #5611: an index error that names nothing."""
    monkeypatch.setattr(backend, "run_model", None)
    with pytest.raises(backend.TooManyTokens, match="20 tokens, and 16") as caught:
        backend.get_capture(Ask("m", "x" * 20), quiet)
    assert (caught.value.count, caught.value.limit) == (20, 16)


def test_a_real_capture_and_its_model_are_free_after_release(monkeypatch):
    def load(name, tell):
        tokenizer = byte_level_bpe()
        return attnviz.wrap(tiny.hf("LlamaForCausalLM", vocab_size=len(tokenizer)), tokenizer)

    backend.store.clear()
    monkeypatch.setattr(backend, "load_model", load)
    ask = Ask("m", "the cat sat")
    grid = all_heads.measure_grid(ask, "focus", "decoder")
    capture = backend.get_capture(ask, quiet)
    model = backend.store().model("m", quiet)
    assert backend.store().nbytes == capture.nbytes + grid.nbytes > grid.nbytes > 0
    gone = [weakref.ref(capture), weakref.ref(model), weakref.ref(model.hf)]
    del capture, model
    backend.store().models.release("m")
    gc.collect()
    assert [ref() for ref in gone] == [None, None, None]


def test_a_model_that_keeps_a_number_a_pair_of_tokens_takes_shorter_texts():
    biased = attnviz.wrap(tiny.hf("T5ForConditionalGeneration"), None)
    plain = attnviz.wrap(tiny.hf("GPT2LMHeadModel", n_positions=9_000), None)
    assert backend.token_limit(biased, 8_192)[0] == backend.MAX_TOKENS
    assert "square" in backend.token_limit(biased, 8_192)[1]
    assert backend.token_limit(plain, 8_192)[0] == 8_192
