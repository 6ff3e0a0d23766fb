"""A text too long to be drawn cell by cell: the window moves by drag, by keyboard and by link."""

import io
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Page, expect

LONG = {
    "model": "planted-circuit",
    "text": ("red fox ran home " * 100).strip(),
    "layer": 1,
    "head": 0,
}
MAP = "[class*='st-key-overview_'] canvas"
FRAME = (232, 89, 12)  # the colour of the frame


def opened(visit, **link) -> Page:
    return visit(f"/?{urlencode(LONG | link)}", drawn=MAP)


def place(page: Page) -> tuple[int, int]:
    """(query, near) of the address."""
    link = parse_qs(urlsplit(page.url).query)
    return int(link["query"][-1]), int(link["near"][-1])


def middle_of_frame(page: Page) -> tuple[float, float]:
    """Where the frame is drawn, found by its colour."""
    page.wait_for_timeout(500)
    box = page.locator(MAP).bounding_box()
    assert box is not None
    picture = Image.open(io.BytesIO(page.screenshot(clip=box))).convert("RGB")
    y, x = np.nonzero((np.abs(np.asarray(picture, int) - FRAME) < 12).all(axis=2))
    return box["x"] + (x.min() + x.max()) / 2, box["y"] + (y.min() + y.max()) / 2


def test_the_frame_is_dragged_to_other_cells(visit, wait_idle):
    page = opened(visit, query=250, near=200)
    x, y = middle_of_frame(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 15, y - 10, steps=3)
    page.mouse.move(x - 30, y - 20, steps=3)
    page.mouse.up()
    expect(page).not_to_have_url(re.compile("query=250(&|$)"))
    wait_idle(page)
    query, near = place(page)
    assert 200 < query < 230 and 128 <= near < 160  # 30 and 20 pixels of 230 for 401 tokens
    expect(page.locator(".st-key-pick_query input")).to_have_value(re.compile(f"^{query} "))
    expect(page.get_by_text(re.compile("^rows ")).first).to_be_attached()


def test_the_window_moves_by_keyboard(visit, wait_idle):
    page = opened(visit, query=300, near=200)
    field = page.locator(".st-key-pick_near input")
    field.fill("40")
    field.press("Enter")
    expect(page).to_have_url(re.compile("near=40(&|$)"))
    wait_idle(page)
    page.get_by_role("combobox", name="Jump to a large weight").press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(re.compile("query=300(&|$)"))
    wait_idle(page)
    query, near = place(page)
    assert near < query


def test_the_long_page_is_accessible_and_fits_a_narrow_window(visit):
    page = opened(visit, width=700, dark=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page).response["violations"]
    serious = [
        (rule["id"], node["html"][:200])
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]
    assert serious == []
