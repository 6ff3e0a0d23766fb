"""The misconceptions in a browser: links, keyboard, the way to the planted circuit, contrast."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dashboard.misconceptions import ENTRIES
from tests.browser.axe import complaints
from tests.browser.conftest import Visit

LINK = "/misconceptions?model=planted-circuit&text=red+fox+ran+home+red+fox+ran"


@pytest.fixture
def visit(visit: Visit) -> Visit:
    """visit(claim, width=1280, dark=False, link=...) opens the page by a link to one entry."""

    def go(claim: str, *, link: str = LINK, **look: Any) -> Page:
        return visit(f"{link}&claim={claim}", drawn="[data-testid='stExpander']", **look)

    return go


@pytest.mark.parametrize("claim", ENTRIES)
def test_each_entry_opens_by_its_link_fits_and_passes_axe(visit: Visit, claim: str) -> None:
    dark = list(ENTRIES).index(claim) % 2 == 1
    page = visit(claim, dark=dark)
    first = page.get_by_test_id("stExpander").first
    expect(first).to_contain_text(ENTRIES[claim].claim)
    expect(first.get_by_role("heading", name=ENTRIES[claim].title)).to_be_visible()
    expect(page.get_by_text("Something went wrong")).to_have_count(0)
    for picture in first.locator(".vega-embed svg").all():
        box = picture.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 1280
    assert complaints(page) == []


@pytest.mark.parametrize("claim", ["bright-map", "proves-use", "temperature"])
def test_an_entry_fits_a_narrow_window(visit: Visit, claim: str) -> None:
    page = visit(claim, width=700)
    pictures = page.locator("[data-testid='stExpander'] .vega-embed svg")
    expect(pictures.first).to_be_visible()
    for picture in pictures.all():
        box = picture.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 700


def test_an_entry_is_opened_from_the_keyboard_and_named_in_the_address(
    visit: Visit, wait_idle
) -> None:
    page = visit("mask")
    summary = page.get_by_test_id("stExpander").nth(2).locator("summary")
    summary.focus()
    page.keyboard.press("Enter")
    wait_idle(page)
    expect(page).to_have_url(re.compile("claim=learned-parameter"))
    title = ENTRIES["learned-parameter"].title
    expect(page.get_by_role("heading", name=title)).to_be_visible()


def test_the_planted_circuit_is_one_click_away(visit: Visit) -> None:
    page = visit("proves-use", link="/misconceptions?model=planted-circuit&layer=0&head=0")
    page.get_by_role("button", name="Go to layer 1, head 1").click()
    expect(page.get_by_text("Measured on Planted circuit, layer 1, head 1")).to_be_visible()
    expect(page.get_by_text(re.compile("^Look for this:"))).to_be_visible()
    expect(page).to_have_url(re.compile("layer=1&head=1"))


def test_an_unknown_entry_gets_one_notice(visit: Visit) -> None:
    page = visit("no-such-claim")
    expect(page.get_by_text(re.compile("there is no entry of that name"))).to_have_count(1)
