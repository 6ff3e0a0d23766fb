"""A host with an access token of its owner's: whatever goes wrong, the token, the paths and the
wire stay off the page, and the next try works."""

import logging
from pathlib import Path

import pytest
from huggingface_hub import constants

from dashboard.server import host
from dashboard.session import backend
from tests.models.conftest import tiny_llama, word_tokenizer
from tests.models.fake_hub import FakeHub, serving

TOKEN = "hf_secretsecretsecret"
REPO = "lab/tiny"
INTERNALS = (TOKEN, "secret", "127.0.0.1", "http:", "/tmp", "/home", "/root", "Traceback", 'File "')


@pytest.fixture
def hub(monkeypatch, tmp_path):
    folder = tmp_path / "tiny"
    tiny_llama().save_pretrained(folder)
    word_tokenizer().save_pretrained(folder)
    with serving(FakeHub()) as fake:
        fake.add(REPO, folder)
        monkeypatch.setattr(constants, "ENDPOINT", fake.address)
        template = fake.address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setattr(
            backend, "HOST", host.read_host({"ATTNVIZ_HOSTED": "1", "ATTNVIZ_MODELS": "lab/*"})
        )
        yield fake
    backend.store.clear()


def whole_page(app) -> str:
    """Everything that is on the page, as what is sent to the browser."""
    return "\n".join(str(part.proto) for part in app._tree[0]) + "".join(
        str(part.proto) for part in app._tree[1]
    )


def said(app) -> str:
    return " ".join(text.value for text in app.text)


FAULTS = {
    "gated": ((401, {"X-Error-Code": "GatedRepo"}, b""), "is gated"),
    "bad token": (
        (401, {"X-Error-Message": "Invalid credentials in Authorization header"}, TOKEN.encode()),
        "refused access",
    ),
    "forbidden": ((403, {}, TOKEN.encode()), "refused access"),
    "missing": ((404, {"X-Error-Code": "RepoNotFound"}, b""), "has no model"),
    "too many requests": ((429, {}, b""), "asks to wait"),
    "out of order": ((500, {}, f"{TOKEN} at /home/owner".encode()), "has a fault"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_hub_has_its_own_words_and_gives_nothing_away(
    open_app, hub, caplog, fault, monkeypatch
):
    """ggml-org/llama.cpp#21677, tmalsburg/llm_surprisal#12, streamlit/streamlit#8546,
    centre-for-humanities-computing/stormtrooper#5"""
    caplog.set_level(logging.INFO)
    hub.fault, words = FAULTS[fault]
    app = open_app(model=REPO, text="the cat sat")
    app.button(key="agree").click().run()
    assert words in said(app) and not app.exception
    assert not app.get("vega_lite_chart")
    page = whole_page(app) + str(dict(app.query_params))
    assert words in page and REPO in page
    assert not [internal for internal in INTERNALS if internal in page]
    assert TOKEN not in caplog.text
    hub.fault = None
    app.run()
    assert app.get("vega_lite_chart") and not app.error


def test_the_errors_of_texts_and_names_give_nothing_away_either(open_app, hub):
    """T061, T062 and T079 in the public record: huggingface/transformers#2446, #3678;
    mudler/LocalAI#9395"""
    app = open_app(model=REPO, text="the cat sat")
    app.button(key="agree").click().run()
    for text in ("", "   ", "the cat " * 60, "a" * 40_000):
        app.text_area(key="text_box").set_value(text)
        app.button(key="run").click().run()
        assert not app.exception
        page = whole_page(app)
        assert not [internal for internal in INTERNALS if internal in page], text[:20]
    for name in (
        "http://169.254.169.254/x",
        "/etc/passwd",
        "../../etc",
        "file:///x",
        str(Path.home()),
    ):
        app = open_app(model=name)
        assert "it is not a model name" in app.warning[0].value
        assert not [
            internal for internal in (TOKEN, "passwd", "169.254") if internal in whole_page(app)
        ]


def test_a_failure_nobody_expected_gives_a_code_that_the_log_has_too(
    open_app, hub, caplog, monkeypatch
):
    """ggml-org/llama.cpp#21677"""

    def fail(name, tell):
        raise RuntimeError(f"{TOKEN} in /home/owner/.cache")

    monkeypatch.setattr(backend, "load_model", fail)
    app = open_app(model=REPO, text="the cat sat")
    app.button(key="agree").click().run()
    page = whole_page(app)
    assert not [internal for internal in INTERNALS if internal in page]
    code = said(app).rsplit(": ", 1)[-1]
    assert len(code) == 6 and code in caplog.text
