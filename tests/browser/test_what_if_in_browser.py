"""The page of what-ifs in a browser: room, keyboard, the grid of heads, contrast."""

import re
from functools import partial

import pytest
from playwright.sync_api import expect

from tests.browser.axe import complaints
from tests.browser.conftest import Visit

LINK = "/?model=planted-circuit&text=red+fox+ran+home+red+fox+ran"
PICTURE = "[data-testid='stMain'] .vega-embed svg"


@pytest.fixture
def visit(visit: Visit) -> Visit:
    """visit(width=1280, dark=False) goes to the page from the first one, as a reader does."""
    return partial(visit, LINK, by="What if", drawn=PICTURE)


@pytest.mark.parametrize("width", [1280, 700])
def test_every_picture_stays_in_the_window(visit: Visit, width: int) -> None:
    page = visit(width=width)
    pictures = page.locator(PICTURE)
    expect(pictures).to_have_count(4)
    for number in range(4):
        box = pictures.nth(number).bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width


def test_a_change_is_chosen_from_the_keyboard(visit: Visit, wait_idle) -> None:
    page = visit()
    words = page.get_by_text(re.compile("^In layer 1, head 0:"))
    expect(words).to_contain_text("hidden from")
    page.get_by_role("combobox", name="Change").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.type("make weights even")
    page.keyboard.press("Enter")
    wait_idle(page)
    expect(words).to_contain_text("even over the keys")


def test_the_sweep_runs_on_a_click_and_its_grid_opens_a_head(visit: Visit, wait_idle) -> None:
    page = visit()
    page.get_by_role("button", name="Measure every head").click()
    expect(page.get_by_text(re.compile("moves the output most"))).to_be_visible()
    wait_idle(page)
    cell = page.locator("[data-testid='stMain'] .heads_marks path").first
    cell.scroll_into_view_if_needed()
    cell.click()
    expect(page.get_by_text("Planted circuit, layer 0, head 0", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("layer=0&head=0"))


@pytest.mark.parametrize("dark", [False, True])
def test_contrast_names_and_order_pass_axe(visit: Visit, dark: bool) -> None:
    page = visit(dark=dark)
    assert complaints(page) == []
