"""Fifty readers of one hosted server at once, each with a model, a text and a place of its own."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

import attnviz
from tests.browser import serving
from tests.models.fake_hub import FakeHub
from tests.models.fake_hub import serving as offering
from tests.readers import AGENTS, KINDS, Place, Reader, memory_of, reads_proc, right, save_models

READERS = 50
PLANTED = "planted-circuit"
WORDS = ("the", "cat", "sat", "on", "dog's", "mat.", "Hello", "world")
CIRCUIT = ("red", "fox", "ran", "home")

pytestmark = reads_proc


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Id -> folder, and id -> the model loaded here, to compare with."""
    folders = save_models(tmp_path_factory.mktemp("models"))
    loaded = {name: attnviz.load(folder) for name, folder in folders.items()}
    return folders, loaded | {PLANTED: attnviz.load(PLANTED)}


@pytest.fixture(scope="module")
def server(models, tmp_path_factory):
    hub = FakeHub()
    for name, folder in models[0].items():
        hub.add(name, folder)
    with offering(hub):
        process, address = serving.start(
            "dashboard/app.py",
            **AGENTS,
            ATTNVIZ_HOSTED="1",
            ATTNVIZ_MODELS="lab/*",
            HF_ENDPOINT=hub.address,
            HF_HUB_CACHE=str(tmp_path_factory.mktemp("hub")),
        )
        yield process, address
        serving.stop(process)


def place(reader: Reader, chance: random.Random, loaded) -> Place:
    """Somewhere that nobody else is: the reader's mark is in the text, where the model has words
    for it."""
    model = [*KINDS, PLANTED][reader.number % 4]
    words = CIRCUIT if model == PLANTED else (reader.mark, *WORDS)
    text = " ".join(chance.choices(words, k=chance.randint(4, 9)))
    if model != PLANTED:
        text = f"{reader.mark} {text}"
    count = len(attnviz.capture(loaded[model], text).key_tokens())
    info = loaded[model].info
    at = (chance.randrange(n) for n in (info.layers, info.heads, count))
    return Place(model, text, *at)


def read(reader: Reader, loaded) -> None:
    """What one reader does: follows a link; every fifth goes on to another head, and opens the
    table of the row."""
    chance = random.Random(reader.number)
    here = place(reader, chance, loaded)
    reader.open(here)
    assert reader.sentence() == right(here, loaded[here.model]).sentence, here
    if reader.number % 5 == 0:
        here.head = (here.head + 1) % loaded[here.model].info.heads
        reader.go(head=here.head)
        shown = right(here, loaded[here.model])
        assert reader.sentence() == shown.sentence, here
        assert reader.row() == pytest.approx(shown.row, abs=1e-5), here


def test_nobody_sees_anothers_data_and_memory_is_bounded(server, models):
    """streamlit/streamlit#8009, castorini/daam#52, decoderesearch/SAELens#278: one model for all
    visitors, and one visitor's work in another's picture."""
    process, address = server
    loaded = models[1]
    first = Reader(READERS, address)  # imports torch, for all
    read(first, loaded)
    before = memory_of(process.pid)["VmRSS"]
    readers = [Reader(number, address) for number in range(READERS)]
    with ThreadPoolExecutor(READERS) as pool:
        list(pool.map(lambda reader: read(reader, loaded), readers))
    assert len({reader.session for reader in readers}) == READERS
    grown = memory_of(process.pid)["VmRSS"] - before
    assert grown < 250 * 2**20, f"{grown / 2**20:.0f} MB for {READERS} readers"
