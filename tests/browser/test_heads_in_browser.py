"""The page of heads in a browser: room, pointer, keyboard, links, contrast."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import complaints
from tests.browser.conftest import Visit

LINK = "/heads?model=planted-circuit&text=red+fox+ran+home+red+fox+ran+home"
PICTURE = "[data-testid='stMain'] .vega-embed svg"
MAPS = "[data-testid='stMain'] .heads_marks path"


@pytest.fixture
def visit(visit: Visit) -> Visit:
    """visit(width=1280, dark=False, more="") opens a link to the page."""

    def go(*, more: str = "", **look: Any) -> Page:
        return visit(f"{LINK}{more}", drawn=PICTURE, **look)

    return go


@pytest.mark.parametrize("width", [1280, 700])
def test_the_picture_stays_in_the_window_and_has_a_mark_a_head(visit: Visit, width: int) -> None:
    page = visit(width=width)
    box = page.locator(PICTURE).first.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= width
    expect(page.locator(MAPS)).to_have_count(6)
    expect(page.locator(MAPS).nth(3)).to_have_attribute(
        "aria-label", "layer 1, head 0: Induction 1"
    )


def test_a_click_on_a_map_opens_the_head_in_explore(visit: Visit) -> None:
    page = visit()
    page.locator(MAPS).nth(1).click()
    expect(page.get_by_role("heading", name="Planted circuit, layer 0, head 1")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/\?.*layer=0&head=1"))


def test_a_measure_and_a_head_are_chosen_from_the_keyboard(visit: Visit, wait_idle) -> None:
    page = visit(more="&view=measure")
    page.get_by_role("combobox", name="Measure").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.type("previous")
    page.keyboard.press("Enter")
    expect(
        page.get_by_text(re.compile("^Previous token: layer 0, head 0 has the most"))
    ).to_be_visible()
    wait_idle(page)
    expect(page).to_have_url(re.compile("measure=previous_token"))
    page.get_by_role("button", name=re.compile("^Open layer")).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Planted circuit, layer 1, head 0")).to_be_visible()


def test_a_row_of_the_table_is_chosen_from_the_keyboard(visit: Visit) -> None:
    page = visit(more="&measure=previous_token")
    grid = page.get_by_test_id("stDataFrame").locator("canvas").first
    grid.scroll_into_view_if_needed()
    grid.click(position={"x": 120, "y": 55}, force=True)  # a cell, which chooses nothing yet
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Space")
    expect(page.get_by_role("heading", name=re.compile("Planted circuit, layer"))).to_be_visible()


@pytest.mark.parametrize("dark", [False, True])
def test_contrast_names_and_order_pass_axe(visit: Visit, dark: bool) -> None:
    page = visit(dark=dark)
    assert complaints(page) == []
