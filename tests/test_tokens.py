"""Labels, spans and ids of a tokenized text, on small tokenizers of every kind."""

import threading
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import ByT5Tokenizer

from attnviz.errors import BadInput
from attnviz.tokens import Token, make_visible, tokenize, tokens_of_ids
from tests import fixtures_tokenizers as small

BYTE_LEVEL = small.byte_level_bpe()
KINDS = {
    "byte-level": BYTE_LEVEL,
    "byte-level, trimmed offsets": small.trimming_bpe(),
    "WordPiece": small.wordpiece(),
    "SentencePiece": small.sentencepiece(),
    "SentencePiece, older": small.sentencepiece(pads_every_part=True),
    "unigram": small.unigram(),
}


def labels(tokenizer: object, text: str, **options: bool) -> list[str]:
    return [token.label for token in tokenize(tokenizer, text, **options).tokens]


def spans(tokens: list[Token]) -> list[tuple[int | None, int | None]]:
    return [(token.start, token.end) for token in tokens]


# Byte-level BPE


def test_an_emoji_of_four_tokens_is_one_character_in_four_parts(bpe):
    """callummcdougall/sae_vis#55, huggingface/tokenizers#156"""
    tokens = tokenize(bpe, "hi 😀!").tokens
    assert [token.label for token in tokens] == [
        *["h", "i", "␣"],
        *["😀 1/4", "😀 2/4", "😀 3/4", "😀 4/4"],
        "!",
    ]
    assert b"".join(token.bytes for token in tokens[3:7]).hex(" ") == "f0 9f 98 80"
    assert spans(tokens)[3:7] == [(3, 4)] * 4
    assert [token.text for token in tokens[3:7]] == ["😀"] * 4


def test_japanese_has_no_noise_in_its_labels(bpe):
    """huggingface/tokenizers#1470, jalammar/ecco#51"""
    assert labels(bpe, "日本語") == [f"{c} {part}/3" for c in "日本語" for part in (1, 2, 3)]


def test_white_space_has_signs_and_a_word_after_a_space_looks_different(bpe):
    """huggingface/tokenizers#57, jalammar/ecco#66"""
    assert labels(bpe, "cat cat")[-1] == "␣cat"
    assert labels(bpe, "cat cat")[0] != "␣cat"
    assert "".join(labels(bpe, "tab\there\nnew")) == "tab⇥here↵new"
    assert "".join(labels(bpe, "    cat")) == "␣␣␣␣cat"
    assert [token.text for token in tokenize(bpe, "   ").tokens] == [" "] * 3


def test_a_space_before_punctuation_survives_the_clean_up_option():
    """inseq-team/inseq#198, inseq-team/inseq#293"""
    cleaning = small.byte_level_bpe(clean_up_tokenization_spaces=True)
    tokens = tokenize(cleaning, "Hello . This is").tokens
    assert "".join(token.text for token in tokens) == "Hello . This is"
    assert "".join(token.label for token in tokens) == "Hello␣.␣This␣is"


def test_no_start_token_is_added_or_dropped(bpe, wordpiece):
    """TransformerLensOrg/TransformerLens#1418, #774, #74"""
    assert tokenize(bpe, "The cat").ids == bpe("The cat")["input_ids"]
    assert labels(bpe, "The cat") == ["The", "␣cat"]
    with_both = tokenize(wordpiece, "the cat")
    assert [token.label for token in with_both.tokens] == ["◆[CLS]", "the", "cat", "◆[SEP]"]
    assert labels(wordpiece, "the cat", add_special_tokens=False) == ["the", "cat"]


# Control tokens


def test_a_typed_control_token_is_the_real_one_and_marked_apart(bpe):
    """vllm-project/vllm#11691, google-deepmind/gemma#770"""
    read = tokenize(bpe, "x<|endoftext|>y")
    assert [token.label for token in read.tokens] == ["x", "◆<|endoftext|>", "y"]
    assert [token.special for token in read.tokens] == [False, True, False]
    assert spans(read.tokens) == [(0, 1), (1, 14), (14, 15)]
    assert read.notes == ["Read as control tokens, not as text: <|endoftext|>."]


def test_a_typed_control_token_can_be_read_as_text_and_nothing_is_switched(bpe):
    """open-webui/open-webui#27094, vllm-project/vllm#11691"""
    before = bpe.backend_tokenizer.to_str(), bpe.backend_tokenizer.encode_special_tokens
    read = tokenize(bpe, "x<|endoftext|>y", split_special_tokens=True)
    assert "".join(token.text for token in read.tokens) == "x<|endoftext|>y"
    assert len(read.tokens) == 14
    assert not any(token.special for token in read.tokens)
    assert read.notes == ["Read as plain text, not as control tokens: <|endoftext|>."]
    assert before == (bpe.backend_tokenizer.to_str(), bpe.backend_tokenizer.encode_special_tokens)
    assert len(tokenize(bpe, "x<|endoftext|>y").tokens) == 3


def test_markup_stays_literal_and_a_typed_start_token_is_told_from_the_real_one(sentencepiece):
    """huggingface/tokenizers#1937, streamlit/streamlit#152"""
    text = "<img src=x onerror=alert(1)> a<b<c </script><s>"
    real = tokenize(sentencepiece, text).tokens
    assert [token.label for token in real if token.special] == ["◆<s>", "◆<s>"]
    assert (real[-1].start, real[-1].text) == (len(text) - 3, "<s>")
    typed = tokenize(sentencepiece, text, split_special_tokens=True).tokens
    assert "".join(token.label for token in typed[-3:]) == "<s>"
    assert "".join(token.text for token in typed[1:]) == text


def test_a_chat_template_and_the_tokenizer_do_not_both_write_the_start_token(sentencepiece):
    """huggingface/transformers#37686, deepseek-ai/DeepSeek-R1#151"""
    chat = [{"role": "user", "content": "hi"}]
    rendered = sentencepiece.apply_chat_template(chat, tokenize=False)
    in_one_step = sentencepiece.apply_chat_template(chat, return_dict=False)
    read = tokenize(sentencepiece, rendered, add_special_tokens=False)
    assert read.ids == in_one_step
    assert [token.label for token in read.tokens if token.special] == ["◆<s>"]
    assert tokenize(sentencepiece, "hi").ids == sentencepiece("hi")["input_ids"]


# WordPiece


def test_wordpiece_keeps_its_own_marks_and_the_case_of_the_source(wordpiece):
    tokens = tokenize(wordpiece, "The cat sat unhappy.").tokens
    assert [t.label for t in tokens[1:-1]] == ["the", "cat", "sat", "un", "##happy", "."]
    assert [t.text for t in tokens[1:-1]] == ["The", "cat", "sat", "un", "happy", "."]
    assert spans(tokens)[4:6] == [(12, 14), (14, 19)]
    assert spans(tokens)[0] == spans(tokens)[-1] == (None, None)


def test_an_unknown_word_shows_as_unknown_and_keeps_its_source(wordpiece):
    tokens = tokenize(wordpiece, "the 😀 zzz").tokens[1:-1]
    assert [(t.label, t.text, t.start) for t in tokens[1:]] == [
        ("[UNK]", "😀", 4),
        ("[UNK]", "zzz", 6),
    ]
    assert not any(t.special for t in tokens)


def test_a_pair_has_spans_into_each_text_and_token_types(wordpiece):
    read = tokenize(wordpiece, "the cat", "a cat sat")
    assert read.model_inputs["token_type_ids"] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [t.sequence for t in read.tokens] == [None, 0, 0, None, 1, 1, 1, None]
    assert spans(read.tokens)[4:7] == [(0, 1), (2, 5), (6, 9)]


# SentencePiece and unigram


def test_sentencepiece_shows_spaces_and_spells_unknown_characters_by_bytes(sentencepiece):
    read = tokenize(sentencepiece, "the cat😀 é")
    assert [t.label for t in read.tokens] == [
        *["◆<s>", "␣the", "␣cat"],
        *["😀 1/4", "😀 2/4", "😀 3/4", "😀 4/4"],
        *["␣", "é 1/2", "é 2/2"],
    ]
    assert [t.text for t in read.tokens[1:3]] == ["the", " cat"]
    assert read.notes == ["The tokenizer put a space in front that the text does not have."]


def test_a_space_the_tokenizer_adds_has_no_share_of_the_source():
    older = small.sentencepiece(pads_every_part=True)
    tokens = tokenize(older, "the <s> é").tokens
    assert [(t.label, t.start, t.end) for t in tokens[1:]] == [
        ("␣the", 0, 3),
        ("␣", 3, 4),
        ("◆<s>", 4, 7),
        ("␣", 7, 7),
        ("␣", 7, 8),
        ("é 1/2", 8, 9),
        ("é 2/2", 8, 9),
    ]


def test_a_real_low_block_is_not_shown_as_a_space(sentencepiece):
    assert labels(sentencepiece, "▁the the")[1:] == ["▁the", "␣the"]


def test_characters_a_tokenizer_rewrites_keep_their_source():
    tokens = tokenize(small.unigram(), "the① 日").tokens
    shown = [(t.label, t.text, t.start, t.end) for t in tokens]
    assert shown[:2] == [("␣the", "the", 0, 3), ("1", "①", 3, 4)]
    assert shown[-1] == ("<unk>", "日", 5, 6)


def test_spans_hold_where_the_tokenizer_composes_letters_and_trims_spaces():
    tokens = tokenize(small.trimming_bpe(), "e\u0301 the   cat").tokens[1:-1]
    assert [(t.label, t.text) for t in tokens] == [
        ("␣", ""),
        ("é 1/2", "e\u0301"),
        ("é 2/2", "e\u0301"),
        ("␣the", " the"),
        ("␣", " "),
        ("␣", " "),
        ("␣cat", " cat"),
    ]


# Text that is hard to see


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("\u200b", "⟨U+200B⟩"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("\u00a0", "⟨U+00A0⟩"),
        ("\r\n", "⟨U+000D⟩↵"),
        ("\x00\x1b", "⟨U+0000⟩⟨U+001B⟩"),
        ("\ufffd", "⟨U+FFFD⟩"),
        ("\u0301", "◌\u0301"),
        ("e\u0301", "e\u0301"),
        ("❤\ufe0f", "❤⟨U+FE0F⟩"),
        ("\u3164\ue000", "⟨U+3164⟩⟨U+E000⟩"),
        ("␣", "⟨U+2423⟩"),
        ("◆<s>", "⟨U+25C6⟩<s>"),
        ("🫨", "🫨"),
    ],
)
def test_the_unseen_is_made_visible(text, label):
    assert make_visible(text) == label


def test_bytes_that_are_no_text_are_named():
    tokens = tokens_of_ids(BYTE_LEVEL, BYTE_LEVEL.convert_tokens_to_ids(["ð", "h", "Ł"]))
    assert [token.label for token in tokens] == ["⟨0xF0⟩", "h", "⟨0x9F⟩"]


# Empty and absurd texts


def test_an_empty_text_has_no_tokens_and_says_so(bpe):
    """ndif-team/nnsight#608, huggingface/transformers#3678"""
    read = tokenize(bpe, "")
    assert (read.ids, read.tokens) == ([], [])
    assert read.notes == ["The text is empty: no tokens came out of it."]
    assert labels(bpe, "   ") == ["␣", "␣", "␣"]
    assert labels(bpe, "\n") == ["↵"]


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_a_text_of_nothing_leaves_wordpiece_its_special_tokens(wordpiece, text):
    """elixir-nx/bumblebee#373, huggingface/transformers#3678"""
    read = tokenize(wordpiece, text)
    assert [t.label for t in read.tokens] == ["◆[CLS]", "◆[SEP]"]
    start = "The tokenizer dropped the whole text" if text else "The text is empty"
    assert read.notes == [f"{start}: only the special tokens remain."]


def test_dropped_characters_are_named(wordpiece):
    assert tokenize(wordpiece, "a \u200b\u0007 b").notes == [
        "The tokenizer dropped characters of the text: 2 (⟨U+200B⟩, ⟨U+0007⟩)."
    ]


def test_a_text_past_the_limit_is_refused_before_it_is_read():
    """openai/tiktoken#195, rossoctl/context-guru#139"""

    class Unreadable:
        def __call__(self, *_: object, **__: object) -> None:
            raise AssertionError("the tokenizer was called")

    with pytest.raises(BadInput, match=r"400,000 characters.*At most 100,000.*Shorten"):
        tokenize(Unreadable(), "a" * 400_000, max_characters=100_000)


@pytest.mark.parametrize(
    ("tokenizer", "text", "words"),
    [
        (BYTE_LEVEL, "a\ud800", "half of a character"),
        (BYTE_LEVEL, ["a"], "not a string"),
        (None, "a", "no tokenizer"),
    ],
)
def test_what_is_no_text_is_refused_in_words(tokenizer, text, words):
    with pytest.raises(BadInput, match=words):
        tokenize(tokenizer, text)


# Ids, slow tokenizers, none


def test_ids_without_a_tokenizer_or_outside_the_vocabulary_are_named_by_number(bpe):
    assert [token.label for token in tokens_of_ids(None, [7, 0])] == ["id 7", "id 0"]
    assert [token.label for token in tokens_of_ids(bpe, [72, 5000, 0, -1])] == [
        *["h", "id 5000"],
        *["◆<|endoftext|>", "id -1"],
    ]


def test_a_slow_tokenizer_gets_labels_and_spans():
    tokens = tokenize(ByT5Tokenizer(), "hé!").tokens
    assert [(t.label, t.start, t.end) for t in tokens] == [
        ("h", 0, 1),
        ("é 1/2", 1, 2),
        ("é 2/2", 1, 2),
        ("!", 2, 3),
        ("◆</s>", None, None),
    ]


# Sharing


def test_truncation_set_on_the_tokenizer_never_cuts_a_text(bpe):
    bpe.backend_tokenizer.enable_truncation(max_length=2)
    assert len(tokenize(bpe, "The cat sat on").ids) > 2
    assert bpe.backend_tokenizer.truncation["max_length"] == 2


def test_a_tokenizer_changed_afterwards_is_read_as_it_is_now(bpe):
    assert len(tokenize(bpe, "<new>").ids) > 1
    bpe.add_tokens(["<new>"])
    assert labels(bpe, "<new>") == ["<new>"]


def test_threads_share_a_tokenizer_that_others_switch_about():
    """Reading goes on while other threads truncate and pad with the same object, and helps them
    to no error either."""
    shared = small.byte_level_bpe(pad_token="<|endoftext|>")
    text = "The cat sat on the mat. " * 200
    right = shared(text)["input_ids"]
    wrong: list[object] = []
    go_on = threading.Event()
    switching = threading.Lock()

    def switch() -> None:
        while not go_on.is_set():
            with switching:
                try:
                    shared(text, truncation=True, max_length=5, padding="max_length")
                    shared(text)
                except RuntimeError as error:
                    wrong.append(error)

    def read() -> None:
        for _ in range(40):
            for split in (False, True):
                if tokenize(shared, text, split_special_tokens=split).ids != right:
                    wrong.append("other ids")

    switcher = threading.Thread(target=switch)
    readers = [threading.Thread(target=read) for _ in range(4)]
    for thread in [switcher, *readers]:
        thread.start()
    for thread in readers:
        thread.join()
    go_on.set()
    switcher.join()
    assert wrong == []


# The real ones


def test_the_default_model_reads_bytes_whole(smollm2):
    text = "Naïve 😀 日本語\tend \u200b\n"
    tokens = tokenize(smollm2.tokenizer, text).tokens
    assert [t.id for t in tokens] == smollm2.tokenizer(text)["input_ids"]
    assert b"".join(t.bytes for t in tokens).decode() == text
    assert any(t.label.startswith("😀") or " 😀 " in t.label for t in tokens)
    assert not any("Ġ" in t.label or "Ċ" in t.label for t in tokens)


def test_minilm_reads_words_between_its_two_special_tokens(minilm):
    read = tokenize(minilm.tokenizer, "The gardener Unhappily waited.")
    assert (read.tokens[0].label, read.tokens[-1].label) == ("◆[CLS]", "◆[SEP]")
    assert [t.text.lower() for t in read.tokens[1:-1]] == [
        t.label.removeprefix("##") for t in read.tokens[1:-1]
    ]
    long = "word " * 600
    assert len(tokenize(minilm.tokenizer, long).ids) == 602


# Anything at all

_LETTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from(" \t\n😀é▁the cat\u200d\ufe0f\u202e\u0301É①\ufffd␣⟨"),
)
_CHUNKS = st.one_of(
    st.text(_LETTERS, max_size=20),
    st.sampled_from(["<s>", "</s>", "<mask>", "<|endoftext|>", "[SEP]", " the", "  ", "<0x0A>"]),
)
_TEXTS = st.lists(_CHUNKS, max_size=5).map("".join)


@pytest.mark.parametrize("kind", KINDS)
@given(text=_TEXTS, split=st.booleans())
@settings(max_examples=150)
def test_any_text_has_a_visible_label_an_id_and_a_span_for_each_token(kind, text, split):
    tokenizer = KINDS[kind]
    read = tokenize(tokenizer, text, split_special_tokens=split)
    assert read.model_inputs == dict(tokenizer(text, split_special_tokens=split))
    assert [token.id for token in read.tokens] == read.ids
    assert [token.position for token in read.tokens] == list(range(len(read.ids)))
    reached = 0
    for token in read.tokens:
        assert token.label.strip() and "\ufffd" not in token.label
        assert not any(unicodedata.category(c) in {"Cc", "Cf", "Zl"} for c in token.label)
        if token.start is not None:
            assert 0 <= token.start <= token.end <= len(text)
            assert reached <= token.start
            reached = token.start
            if not token.special:
                assert token.text == text[token.start : token.end]


@given(text=_TEXTS, split=st.booleans())
@settings(max_examples=300)
def test_byte_level_tokens_spell_any_text_exactly(text, split):
    tokens = tokenize(BYTE_LEVEL, text, split_special_tokens=split).tokens
    assert b"".join(token.bytes for token in tokens).decode() == text
    reached = 0
    for token in tokens:
        assert token.start <= reached <= token.end, "a gap, or characters told twice"
        reached = token.end
    assert reached == len(text)
