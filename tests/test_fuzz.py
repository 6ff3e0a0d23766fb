"""Ten thousand texts and two thousand links that nobody would type, the same ones every time."""

import random
import unicodedata
from collections.abc import Sequence
from urllib.parse import parse_qs, urlencode

import pytest

from attnviz.tokens import tokenize
from dashboard.compare import other_side
from dashboard.compare.other_side import Other
from dashboard.how_it_works import toy
from dashboard.how_it_works.toy import Toy
from dashboard.server.host import Host
from dashboard.session import selection
from dashboard.session.link_fields import Ignored, read_fields, write_fields
from dashboard.session.selection import Selection
from dashboard.what_if import experiment
from dashboard.what_if.experiment import Experiment
from dashboard.widgets import text_place
from tests import fixtures_tokenizers as small

TOKENIZERS = {
    "byte-level": small.byte_level_bpe(),
    "WordPiece": small.wordpiece(),
    "SentencePiece": small.sentencepiece(),
    "unigram": small.unigram(),
}
TEXTS, LINKS = 10_000, 2_000
BLOCKS = (
    (0x00, 0x20),  # controls
    (0x20, 0x7F),
    (0x80, 0x250),
    (0x300, 0x370),  # combining
    (0x590, 0x700),  # right to left
    (0xE00, 0xE80),
    (0x1100, 0x1200),  # jamo
    (0x2000, 0x2070),  # spaces, joiners, directions
    (0x3040, 0xD7FF),
    (0xE000, 0xF900),  # private use
    (0xFE00, 0xFE10),  # variation selectors
    (0xFFF0, 0x10000),  # specials, U+FFFD among them
    (0x1F300, 0x1FAFF),
    (0x1D400, 0x1D800),
    (0xE0000, 0xE0080),  # tags
    (0x10FF00, 0x110000),
)
PIECES = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</s><s>[CLS]<|endoftext|>",
    "**$x$** :red[y] ~~z~~",
    "{{datum.x}} ${y} %s",
    "=1+1",
    "the cat",
    "\r\n\t",
    "👩‍👩‍👧‍👦",
    "e\u0301\u0301\u0301",
    "\u202eabc\u202c",
    "a.b[0]['c']",
    "\\u0000\\",
)


def text_of(chance: random.Random) -> str:
    parts = []
    for _ in range(chance.randint(0, 8)):
        if chance.random() < 0.3:
            parts.append(chance.choice(PIECES))
        else:
            low, high = chance.choice(BLOCKS)
            parts += [chr(chance.randrange(low, high)) for _ in range(chance.randint(1, 5))]
    return "".join(parts)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_any_text_has_tokens_that_can_be_shown(kind):
    """huggingface/tokenizers#1937, streamlit/streamlit#8726: what a text may be is not up to us."""
    chance, tokenizer = random.Random(f"texts {kind}"), TOKENIZERS[kind]
    for _ in range(TEXTS // len(TOKENIZERS)):
        text = text_of(chance)
        read = tokenize(tokenizer, text)
        assert read.ids == tokenizer(text)["input_ids"], ascii(text)
        for token in read.tokens:
            assert token.label.strip(), ascii(text)
            kinds = {unicodedata.category(character) for character in token.label}
            assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}, ascii(text)
            if token.start is not None and not token.special:
                assert token.text == text[token.start : token.end], ascii(text)
        labels = text_place.number_labels(read.tokens)
        assert len(set(labels)) == len(read.tokens), ascii(text)
        assert not any("\n" in label for label in labels)


def test_any_text_travels_in_a_link_and_comes_back_as_it_was():
    """streamlit/streamlit#2370, #7961"""
    chance = random.Random("travels")
    for _ in range(TEXTS):
        chosen = Selection(text=text_of(chance), layer=3)
        address = urlencode(selection.write_selection(chosen))
        assert address.isascii() and not set("<>\"' \n") & set(address)
        back, ignored = read_page(parse_qs(address, keep_blank_values=True))
        assert back == chosen and not ignored, ascii(chosen.text)


# Links


def read_page(params):
    return selection.read_selection(
        params, max_characters=60_000, folders=False, allows=Host(models=("lab/*",)).allows
    )


def reader_of(kind, fields):
    def read(params):
        found, ignored = read_fields(params, fields)
        return kind(**found), ignored

    return read


SIDE = other_side.fields_of_side(max_characters=60_000, folders=False)
read_other = reader_of(Other, SIDE)
PAGES = {
    "all pages": (selection.NAMES, read_page, selection.write_selection),
    "what if": (
        tuple(experiment.FIELDS),
        reader_of(Experiment, experiment.FIELDS),
        experiment.write_experiment,
    ),
    "how it works": (tuple(toy.FIELDS), reader_of(Toy, toy.FIELDS), toy.write_toy),
    "compare": (tuple(SIDE), read_other, lambda other: write_fields(other, Other(), SIDE)),
}
MARK = "zqz"
VALUES = (
    *("", "0", "-0", "1", "-1", "99999", "100000", "1e9", "1e999", "nan", "inf", "-inf", "NaN"),
    *("0x10", "1_000", "٣", "１", "1.", ".5", "0.001", "-7.25", "9" * 400, "2" * 5_000),
    *("on", "off", "None", "true", "decoder", "encoder", "cross", "3-9", "9-3", "3-", "-", "1-2-3"),
    *("1,2,3", "2,1,0,-1", "2,1.5,0", ",,,,", "0,0,0,0", "1,1", "sentence", "numbers"),
    *("smollm2-135m", "minilm-l6", "planted-circuit", "lab/model", "evil/model"),
    *("http://169.254.169.254/x", "../../etc/passwd", "/etc", "file:///x", "a/b/c", "~/x"),
    *("lab/..", "lab/x--y", "lab/\0", "lab/*", "*"),
    *("hide", "temper", "softmax", "induction", "weights", "row", "size", "zero", "mean"),
)


def link_of(chance: random.Random, own: Sequence[str]) -> dict[str, list[str]]:
    names = [*own, *own, "claim", "embed", MARK, "__class__", "", "model ", "MODEL", "text[]"]
    return {
        name: [value_of(chance) for _ in range(chance.choice((1, 1, 1, 1, 1, 2, 0)))]
        for name in chance.sample(names, chance.randint(0, 8))
    }


def value_of(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.7:
        return chance.choice(VALUES)
    if kind < 0.8:
        return f"{chance.choice(VALUES)}{MARK}<script>"
    return text_of(chance)


@pytest.mark.parametrize("page", PAGES)
def test_any_link_gives_choices_that_can_be_had_and_notices_in_our_own_words(page):
    """streamlit/streamlit#3685, #302: values outside the allowed range, and names that broke the
    page. ogx-ai/ogx#6309, mudler/LocalAI#9395: a model that nobody allowed."""
    names, read, write = PAGES[page]
    chance = random.Random("links")
    refused = taken = 0
    for _ in range(LINKS):
        link = link_of(chance, names)
        given = {name: link[name] for name in names if name in link}
        choices, ignored = read(given)
        for notice in ignored:
            assert isinstance(notice, Ignored) and notice.name in names
            assert MARK not in notice.why and "<" not in notice.why and "etc" not in notice.why
        # What was taken is what a link of it gives again: nothing in it is out of range.
        written = write(choices)
        again, none = read({name: [value] for name, value in written.items()})
        # A what-if's link leaves out what its change does not go by.
        assert none == [] and (again == choices or page == "what if"), given
        refused, taken = refused + bool(ignored), taken + bool(written)
    assert refused > LINKS / 10 and taken > 20, "the links are no trial"


def test_no_link_brings_in_a_model_that_is_not_allowed():
    chance = random.Random("models")
    seen = set()
    for _ in range(LINKS):
        choices, _ = read_page({"model": [value_of(chance)]})
        seen.add(choices.model)
    assert seen == {"smollm2-135m", "minilm-l6", "planted-circuit", "lab/model"}
