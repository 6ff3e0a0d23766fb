"""What a session keeps of a page that was drawn: words and numbers, never a head or a capture."""

import gc

import pytest

from attnviz.capture import Capture
from attnviz.detectors import HeadProfile
from attnviz.heads.head import Head
from attnviz.heads.overview import Overview
from dashboard.session import backend

TEXT = "red fox ran home red fox ran home"
LONG = ("red fox ran home " * 100).strip()
PAGES = {
    "explore": {},
    "explore, a long text": {"text": LONG},
    "heads": {},
    "misconceptions": {"claim": "mask"},
    "what_if": {},
    "compare": {"b_head": "1"},
    "compare, two texts": {"b_head": "1", "b_text": "the cat sat"},
    "how_it_works": {"depth": "technical"},
    "check_a_matrix": {},
}


def alive():
    gc.collect()
    kinds = (Capture, Head, HeadProfile, Overview)
    return [one for one in gc.get_objects() if type(one) in kinds]


@pytest.mark.parametrize("name", PAGES)
def test_no_head_and_no_capture_outlives_the_store(name, open_app):
    """A session that holds a head holds megabytes that nobody counts, as long as it lasts."""
    before = alive()  # what other tests left; held, so that no other object has their ids
    page = name.split(",")[0]
    link = {"model": "planted-circuit", "text": TEXT, "layer": "1", "head": "0"} | PAGES[name]
    app = open_app(**link)
    if page != "explore":
        app.switch_page(f"../pages/{page}.py").run()
    app.run()
    assert not app.exception and not app.error
    backend.store().models.release("planted-circuit")
    gc.collect()
    others = {id(one) for one in before}
    assert not [one for one in alive() if id(one) not in others]
