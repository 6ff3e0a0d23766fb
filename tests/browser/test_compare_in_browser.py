"""The page of comparisons in a browser: room, linked rows, keyboard, links, contrast."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import complaints
from tests.browser.conftest import Visit

LINK = "/compare?model=planted-circuit&text=red+fox+ran+home+red+fox+ran"
MAIN = "[data-testid='stMain']"
PICTURE = f"{MAIN} .vega-embed svg"


@pytest.fixture
def visit(visit: Visit) -> Visit:
    """visit(width=1280, dark=False, more="") opens a link to the page."""

    def go(*, more: str = "", **look: Any) -> Page:
        return visit(f"{LINK}{more}", drawn=PICTURE, **look)

    return go


def band(page: Page, letter: str, row: int) -> Any:
    return page.locator(f"{MAIN} .{letter}_bands_marks path").nth(row)


def sentence(page: Page, letter: str) -> Any:
    """The line about one side of the row that is read."""
    lines = page.locator(f"{PICTURE} text")
    return lines.filter(has_text=re.compile(f'^{letter}: "')).first


def point_at(page: Page, letter: str, row: int, share: float = 0.9) -> None:
    """Bring the pointer into a row of a map, some way along it."""
    band(page, letter, row).scroll_into_view_if_needed()
    box = band(page, letter, row).bounding_box()
    assert box
    x, y = box["x"] + share * box["width"], box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.move(x + 1, y)


@pytest.mark.parametrize("width", [1280, 700])
def test_every_picture_stays_in_the_window(visit: Visit, width: int) -> None:
    page = visit(width=width)
    pictures = page.locator(PICTURE)
    expect(pictures).to_have_count(2)
    for number in range(2):
        box = pictures.nth(number).bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width
    boxes = [band(page, letter, 0).bounding_box() for letter in "abd"]
    tops = {round(box["y"]) for box in boxes if box}
    assert len(tops) == (1 if width == 1280 else 3), "side by side where there is room"


@pytest.mark.parametrize("letter", ["a", "b", "d"])
def test_pointing_at_a_row_of_any_map_reads_it_on_both_sides(visit: Visit, letter: str) -> None:
    page = visit(more="&b_layer=0&b_head=0")
    expect(sentence(page, "A")).to_contain_text('"␣ran" (7)')
    point_at(page, letter, 4, 0.3)
    expect(sentence(page, "A")).to_contain_text('"␣home" (4)')
    expect(sentence(page, "B")).to_contain_text('B: "␣home" (4) attends most to "␣ran" (3)')


def test_the_tooltip_has_both_numbers_and_the_difference(visit: Visit) -> None:
    page = visit(more="&b_layer=0&b_head=0")
    point_at(page, "d", 7, 0.1)  # the first key
    tip = page.locator("#vg-tooltip-element")
    expect(tip).to_contain_text("weight in A")
    expect(tip).to_contain_text("weight in B")
    expect(tip).to_contain_text("B − A")
    expect(tip).to_contain_text('"◆<s>" (0)')


def test_rows_of_two_texts_are_read_apart(visit: Visit) -> None:
    page = visit(more="&b_text=red+fox+ran+home")
    expect(sentence(page, "B")).to_contain_text('"␣home" (4)')
    point_at(page, "b", 2)
    expect(sentence(page, "B")).to_contain_text('"␣fox" (2)')
    expect(sentence(page, "A")).to_contain_text('"␣ran" (7)')


def test_clicking_a_row_keeps_it(visit: Visit, wait_idle: Any) -> None:
    page = visit(more="&b_text=red+fox+ran+home")
    point_at(page, "b", 2)
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile("b_query=2"))
    wait_idle(page)
    point_at(page, "a", 3)
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile("&query=3"))
    expect(page).to_have_url(re.compile("b_query=2"))


def test_b_is_chosen_from_the_keyboard_and_its_link_opens_the_same(
    visit: Visit, wait_idle: Any
) -> None:
    page = visit()
    expect(page.get_by_text(re.compile("Found by measuring"))).to_be_visible()
    page.get_by_role("combobox", name=re.compile("Head of B")).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    words = page.get_by_text(re.compile(r"^B: Planted circuit, layer \d, head 2, 8 tokens"))
    expect(words).to_be_visible()
    wait_idle(page)
    expect(page).to_have_url(re.compile("b_layer=.&b_head=2"))
    page.get_by_role("button", name="Link").click()
    address = page.get_by_test_id("stCode").inner_text()
    assert re.search(r"/compare/\?.*b_head=2", address.replace("\n", ""))
    page.goto(address.replace("\n", ""))
    page.wait_for_selector(PICTURE)
    wait_idle(page)
    expect(words).to_be_visible()


def test_the_sides_change_places_and_b_opens_in_explore(visit: Visit, wait_idle: Any) -> None:
    page = visit(more="&b_layer=0&b_head=1")
    page.get_by_role("button", name="Swap A and B").click()
    expect(page.get_by_text(re.compile("^A: Planted circuit, layer 0, head 1"))).to_be_visible()
    wait_idle(page)
    page.get_by_role("button", name="Explore B").click()
    expect(page.get_by_role("heading", name="Planted circuit, layer 1, head 0")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/\?.*layer=1&head=0"))


@pytest.mark.parametrize("dark", [False, True])
def test_contrast_names_and_order_pass_axe(visit: Visit, dark: bool) -> None:
    page = visit(dark=dark)
    assert complaints(page) == []
