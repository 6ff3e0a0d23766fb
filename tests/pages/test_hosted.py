"""The app as strangers find it on a host."""

import gc
import threading
from dataclasses import replace
from pathlib import Path

import pytest

import attnviz
from attnviz.errors import TooLarge
from dashboard.server import host, memory
from dashboard.session import backend, waiting
from tests import tiny
from tests.fixtures_tokenizers import byte_level_bpe

LISTED = "openai-community/gpt2"
HOST = host.read_host({"ATTNVIZ_HOSTED": "1"})


def model(name="m"):
    tokenizer = byte_level_bpe()
    return attnviz.wrap(
        tiny.hf("GPT2LMHeadModel", vocab_size=len(tokenizer), n_positions=256), tokenizer, name
    )


@pytest.fixture
def hosted(open_app, monkeypatch):
    """hosted(models={...}, **link) opens the app of a host as a fresh visitor."""

    def start(models=None, limits=HOST, **link):
        monkeypatch.setattr(backend, "HOST", limits)
        return open_app(models, **link)

    yield start
    backend.store.clear()


def words(app):
    return " ".join(str(part.value) for kind in ("text", "caption", "warning", "error")
                    for part in app.get(kind))  # fmt: skip


def test_the_page_says_what_the_server_takes(hosted, monkeypatch, open_app):
    found = hosted({"smollm2-135m": model()})
    assert "4,096 tokens" in found.caption[0].value and "200 million" in found.caption[0].value
    monkeypatch.setattr(backend, "HOST", host.Host())
    assert not open_app({"smollm2-135m": model()}).caption


def test_models_are_chosen_from_the_list_and_none_is_typed(hosted):
    app = hosted({"smollm2-135m": model()})
    options = app.selectbox(key="pick_model").options
    assert LISTED in options and not any("Hub id" in option for option in options)
    mine = replace(HOST, models=(*HOST.models, "me/mine", "lab/*"))
    options = hosted({"smollm2-135m": model()}, mine).selectbox(key="pick_model").options
    assert "me/mine" in options and any("Hub id" in option for option in options)


def test_a_listed_model_opens_on_its_choice(hosted):
    app = hosted({"smollm2-135m": model(), LISTED: model(LISTED)})
    app.selectbox(key="pick_model").set_value(LISTED).run()
    assert not app.exception and not app.error
    assert app.title[0].value.startswith("gpt2, layer")
    assert backend.store().models.holds(LISTED) and not backend.store().models.holds("smollm2-135m")


@pytest.mark.parametrize("name", ["evil/model", "openai-community/gpt2-xl", "/etc", "../x"])
def test_a_link_to_another_model_opens_at_the_default(hosted, name):
    """streamlit/streamlit#3685: a link loads nothing that is not on the list, not on a click
    either."""
    app = hosted({"smollm2-135m": model()}, model=name, layer="1")
    assert not app.exception
    assert "model (it is not" in words(app)
    assert not any(button.key == "agree" for button in app.button)


def test_a_name_that_is_sent_past_the_page_is_refused_too(monkeypatch):
    """mudler/LocalAI#9395: limits that are the browser's alone are none."""
    monkeypatch.setattr(backend, "HOST", HOST)
    monkeypatch.setattr(attnviz, "load", pytest.fail)
    with pytest.raises(attnviz.ModelRefused, match="models on its list only"):
        backend.load_model("evil/model", lambda words, fraction: None)
    for path in ("/etc", "./", str(Path.home())):
        with pytest.raises(attnviz.BadInput):
            backend.load_model(path, lambda words, fraction: None)


def test_typing_a_name_of_another_owner_says_so_and_stays(hosted):
    open_list = replace(HOST, models=("lab/*",))
    app = hosted({"smollm2-135m": model()}, open_list)
    app.selectbox(key="pick_model").set_value("another").run()
    app.text_input(key="other_name").set_value("evil/model")
    app.button(key="load_other").click().run()
    assert "does not load this model" in words(app) and not app.exception


def test_a_run_that_would_not_fit_is_refused_with_its_numbers(hosted, monkeypatch):
    """Lin-jun-xiang/docGPT-langchain#2, streamlit/docs#893"""
    little = memory.Memory(used=680_000_000, limit=700_000_000, free=20_000_000)
    monkeypatch.setattr(memory, "read_memory", lambda said=None: little)
    ran = []
    run = backend.run_model
    monkeypatch.setattr(backend, "run_model", lambda m, ask: ran.append(ask) or run(m, ask))
    app = hosted({"smollm2-135m": model()})
    assert "of 700 MB, 20 MB are free" in words(app) and not ran and not app.exception
    monkeypatch.setattr(memory, "read_memory", lambda said=None: None)
    app.run()
    assert len(ran) == 1 and not app.error


def test_a_model_that_would_not_fit_is_refused_before_it_is_fetched(monkeypatch):
    little = memory.Memory(used=500_000_000, limit=1_000_000_000, free=450_000_000)
    monkeypatch.setattr(backend, "HOST", HOST)
    monkeypatch.setattr(memory, "read_memory", lambda said=None: little)
    from attnviz.models import fetch

    monkeypatch.setattr(fetch, "ensure_model", pytest.fail)
    backend.store.clear()
    with pytest.raises(TooLarge, match="538 MB; of 1,000 MB, 450 MB are free"):
        backend.store().model("smollm2-135m", lambda words, fraction: None)


def test_a_run_fits_where_the_model_s_file_can_make_way(monkeypatch):
    """Mapped weights fill a small host, and the system takes them out as it needs the room."""
    monkeypatch.setattr(backend, "HOST", HOST)
    monkeypatch.setattr(backend, "_sizes", lambda model, ask: (0, 100_000_000))
    full = memory.Memory(used=1_000_000_000, limit=1_000_000_000, free=-50_000_000)
    ask = backend.Ask("m", "text")
    for files, fits in ((400_000_000, True), (340_000_000, False)):
        now = replace(full, files=files)
        monkeypatch.setattr(memory, "read_memory", lambda said=None, now=now: now)
        if fits:
            backend._admit_run(model(), ask, 0)
        else:
            with pytest.raises(TooLarge, match="of 1,000 MB, 290 MB are free"):
                backend._admit_run(model(), ask, 0)


def test_a_model_that_makes_way_counts_as_free(monkeypatch):
    monkeypatch.setattr(backend, "HOST", HOST)
    backend.store.clear()
    monkeypatch.setattr(backend, "load_model", lambda name, tell: model(name))
    store = backend.store()
    held = sum(p.nbytes for p in store.model("m", lambda words, fraction: None).hf.parameters())
    little = memory.Memory(used=900, limit=1_000, free=100)
    monkeypatch.setattr(memory, "read_memory", lambda said=None: little)
    backend._admit_model(100 + held)
    with pytest.raises(TooLarge):
        backend._admit_model(101 + held)
    backend.store.clear()


def test_a_reader_who_leaves_frees_what_was_his(hosted):
    """statgarten/playdoh#7: memory that only ever grows."""
    from streamlit.runtime.caching import clear_session_resource_cache

    app = hosted({"smollm2-135m": model()})
    assert not app.exception and backend.store().nbytes > 0
    session = next(iter(backend.store().results.entries.values())).readers
    (who,) = session
    clear_session_resource_cache(who)  # what Streamlit does when a reader disconnects
    gc.collect()
    assert backend.store().nbytes == 0


def test_on_a_machine_of_ones_own_a_capture_outlives_a_reload(open_app):
    open_app({"smollm2-135m": model()})
    held = list(backend.store().results.entries.values())
    assert held and not any(one.readers for one in held)


def test_a_reader_in_line_sees_how_many_are_ahead(hosted, monkeypatch):
    """castorini/daam#52: runs of one model at once spoil each other, so they wait, and say so."""
    from dashboard.session import page_capture

    said = []
    plain = page_capture._plain
    monkeypatch.setattr(page_capture, "_plain", lambda words: said.append(words) or plain(words))
    app = hosted({"smollm2-135m": model()})
    turns, ready = backend.store().turns, threading.Event()

    def run_of_another():
        with turns.turn(lambda words, fraction: None):
            ready.set()
            threading.Event().wait(1.5)

    other = threading.Thread(target=run_of_another)
    other.start()
    ready.wait(5)
    app.text_area(key="text_box").set_value("the dog")
    app.button(key="run").click().run()
    other.join()
    assert set(said) == {"Waiting for 1 run of other readers to end"}
    assert not app.exception and app.get("vega_lite_chart")


def test_what_a_reader_waits_for_is_said_after_a_moment_and_taken_away(monkeypatch):
    drawn = []

    class Slot:
        def text(self, words):
            drawn.append(words)

        def empty(self):
            drawn.append(None)

    monkeypatch.setattr(waiting.st, "empty", Slot)
    with waiting.line() as tell:
        tell("Waiting for 2 runs of other readers to end", None)
        assert drawn == [], "a short wait is not worth a word"
        monkeypatch.setattr(waiting, "_MOMENT", 0)
        tell("Waiting for 1 run of other readers to end", None)
    assert drawn == ["Waiting for 1 run of other readers to end", None]
