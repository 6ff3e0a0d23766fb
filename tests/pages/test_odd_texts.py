"""Texts that nobody would type, on the page: shown as they are, or refused in words."""

import random

import attnviz
from tests import tiny
from tests.fixtures_tokenizers import byte_level_bpe
from tests.test_fuzz import PIECES, text_of

MODEL = "smollm2-135m"


def test_no_text_breaks_the_page_or_is_read_as_markup(open_app):
    """streamlit/streamlit#8726, #8099, #2231; datalab-to/chandra#92"""
    tokenizer = byte_level_bpe()
    model = attnviz.wrap(
        tiny.hf("GPT2LMHeadModel", vocab_size=len(tokenizer), n_positions=512), tokenizer
    )
    chance = random.Random("pages")
    app = open_app({MODEL: model})
    drawn = 0
    for text in (*PIECES, *(text_of(chance) for _ in range(30))):
        app.text_area(key="text_box").set_value(text)
        app.button(key="run").click().run()
        assert not app.exception, ascii(text)
        assert app.text_area(key="text_box").value == text
        read = " ".join(part.value for kind in ("markdown", "caption", "warning", "error", "info")
                        for part in app.get(kind))  # fmt: skip
        for piece in ("alert(1)", ":red[", "onerror", "datum.x", "=1+1", "~~z~~"):
            assert piece not in read, ascii(text)
        drawn += bool(app.get("vega_lite_chart"))
    assert drawn > 30
