"""The page that checks a matrix in a browser: room, pasting by keyboard, contrast."""

from functools import partial

import pytest
from playwright.sync_api import expect

from tests.browser.axe import complaints
from tests.browser.conftest import Visit

LINK = "model=planted-circuit&text=red+fox+ran"
PICTURE = "[data-testid='stMain'] .vega-embed"


@pytest.fixture
def visit(visit: Visit) -> Visit:
    """visit(width=1280, dark=False) opens the page, drawn."""
    return partial(visit, f"/check-a-matrix?{LINK}", drawn=PICTURE)


@pytest.mark.parametrize("width", [1280, 700])
def test_picture_and_evidence_stay_apart_and_in_the_window(visit: Visit, width: int) -> None:
    page = visit(width=width)
    picture = page.locator(f"{PICTURE} svg, {PICTURE} canvas").first.bounding_box()
    table = page.get_by_test_id("stTable").bounding_box()
    assert picture and table
    for box in (picture, table):
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
    beside = picture["x"] + picture["width"] <= table["x"]
    below = picture["y"] + picture["height"] <= table["y"]
    assert beside if width == 1280 else below


def test_a_row_of_scores_alone_has_cells_that_can_be_seen(visit: Visit) -> None:
    """A page fits a single view and its axes into the view's height, which left nothing of it."""
    page = visit()
    marks = page.locator(f"{PICTURE} svg").nth(1).locator("path[aria-roledescription='rect mark']")
    boxes = [mark.bounding_box() for mark in marks.all()]
    assert len(boxes) == 3
    assert all(box and box["height"] > 30 and box["width"] > 30 for box in boxes)


def test_a_matrix_is_pasted_and_checked_from_the_keyboard(visit: Visit, wait_idle) -> None:
    page = visit()
    page.get_by_role("radio", name="Paste").click()
    box = page.get_by_label("Matrix", exact=True)
    box.fill("0.5 -1.5\n2.25 0.75")
    box.press("Control+Enter")
    expect(page.get_by_role("heading", name="Attention scores")).to_be_visible()


@pytest.mark.parametrize("dark", [False, True])
def test_contrast_names_and_order_pass_axe(visit: Visit, dark: bool) -> None:
    page = visit(dark=dark)
    assert complaints(page, headings=False) == []
