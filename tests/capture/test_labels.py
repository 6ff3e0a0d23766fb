"""Rows and columns are named by the tokens that are really at their places."""

import copy

import pytest

import attnviz
from tests import tiny

WORDS = "the cat sat"


def test_rows_and_columns_are_named_by_the_tokens_at_their_places(bpe):
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM", vocab_size=400), bpe)
    head = attnviz.capture(model, "The cat<|endoftext|>sat").head(1, 2)
    tokens = ["The", "␣cat", "◆<|endoftext|>", "sat"]
    ids = bpe("The cat<|endoftext|>sat")["input_ids"]
    for side in (head.query_tokens, head.key_tokens):
        assert [token.id for token in side] == ids
        assert [token.label for token in side][:3] == tokens[:3]
        assert [token.position for token in side] == list(range(len(ids)))
    table = head.contributions(2)
    assert table["token"].tolist() == [token.text for token in head.key_tokens]


@pytest.fixture
def pair(wordpiece):
    """An encoder-decoder with a tokenizer that ends a text by [SEP]."""
    wordpiece.eos_token = "[SEP]"
    return attnviz.wrap(tiny.hf("BartForConditionalGeneration"), wordpiece)


def test_a_target_is_read_behind_the_start_token(pair):
    """jessevig/bertviz#72, HendrikStrobelt/LMdiff#5: rows of a decoder are what it reads, one place
    behind what it is to say."""
    cap = attnviz.capture(pair, "the cat", target=WORDS, add_special_tokens=False)
    start = pair.hf.config.decoder_start_token_id
    words = pair.tokenizer(WORDS, add_special_tokens=False)["input_ids"]
    rows = cap.query_tokens("cross")
    assert [token.id for token in rows] == [start, *words]
    assert [token.label for token in rows][1:] == ["the", "cat", "sat"]
    assert [token.label for token in cap.key_tokens("cross")] == ["the", "cat"]
    assert cap.head(0, 0, "cross").weights.shape == (4, 2)
    assert cap.forward["decoder_input_ids"].tolist() == [[start, *words]]


def test_the_end_of_a_target_is_said_and_not_read(pair):
    whole = attnviz.capture(pair, "the cat", target=WORDS)
    ids = pair.tokenizer(WORDS)["input_ids"]
    assert ids[-1] == pair.tokenizer.eos_token_id
    start = pair.hf.config.decoder_start_token_id
    assert [token.id for token in whole.query_tokens("decoder")] == [start, *ids[:-1]]


def test_a_pair_of_texts_is_labelled_text_by_text(wordpiece):
    model = attnviz.wrap(tiny.hf("BertModel"), copy.deepcopy(wordpiece))
    head = attnviz.capture(model, "the cat", text_pair="sat").head(0, 0)
    named = [(token.label, token.sequence) for token in head.key_tokens]
    assert named == [
        ("◆[CLS]", None), ("the", 0), ("cat", 0), ("◆[SEP]", None), ("sat", 1), ("◆[SEP]", None),
    ]  # fmt: skip
