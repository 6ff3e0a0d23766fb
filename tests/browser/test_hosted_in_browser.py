"""A host's page as it is drawn: the line of limits, and the list of models."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser import serving
from tests.browser.axe import complaints

DRAWN = "[data-testid='stMain'] .vega-embed svg"


@pytest.fixture(scope="module")
def app() -> Iterator[str]:
    server, url = serving.start("dashboard/app.py", OMP_NUM_THREADS="1", ATTNVIZ_HOSTED="1")
    yield url
    serving.stop(server)


@pytest.mark.parametrize("dark", [False, True])
def test_the_limits_are_there_to_be_read(visit, dark):
    page = visit("/?model=planted-circuit", drawn=DRAWN, dark=dark)
    line = page.get_by_text("A shared server")
    expect(line).to_be_visible()
    assert complaints(page) == []


def test_a_link_to_a_model_that_is_not_listed_says_so_and_loads_the_default_place(visit):
    """streamlit/streamlit#3685"""
    page = visit("/?model=evil/model&text=red+fox", drawn="[data-testid='stAlert']")
    expect(page.get_by_text("it is not on the list of this server")).to_be_visible()
    assert "evil" not in page.url
