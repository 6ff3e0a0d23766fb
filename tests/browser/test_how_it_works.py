"""How it works in a browser: pointer, keyboard and address, room, contrast."""

import re
from functools import partial

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visit
from tests.browser.keyboard import tab_to

LINK = "/?model=planted-circuit&text=red+fox+ran+home+red+fox"
DIAGRAM = "[data-testid='stMain'] .vega-embed svg"
ACCENT = "#e8590c"


@pytest.fixture
def visit(visit: Visit) -> Visit:
    """visit(width=1280, dark=False) goes to the page from the first one, as a reader does."""
    return partial(visit, LINK, by="How it works", drawn=f"{DIAGRAM} .cards_marks path")


def accented(page: Page) -> Locator:
    """What is outlined or drawn in the accent colour in the first diagram."""
    return page.locator(DIAGRAM).first.locator(f"path[stroke='{ACCENT}']")


def tooltip(page: Page) -> Locator:
    return page.locator("#vg-tooltip-element")


def test_pointing_lights_a_path_and_shows_its_numbers_without_a_rerun(visit, wait_idle):
    page = visit()
    assert accented(page).count() == 0
    sent = []
    page.on("websocket", lambda socket: socket.on("framesent", sent.append))
    for name in ("cards", "segments", "values"):
        mark = page.locator(DIAGRAM).first.locator(f".{name}_marks path").nth(1)
        mark.hover()
        expect(tooltip(page)).to_contain_text("0.147")
        expect(tooltip(page)).to_contain_text("simmers")
        # its line, its two boxes, its score, its part of the bar
        expect(accented(page)).to_have_count(5)
    page.get_by_role("heading", name="How it works").hover()
    assert sent == []


def test_a_click_on_a_token_is_kept_and_another_follows(visit, wait_idle):
    page = visit()
    for place, words in ((0, "Soup: score 2.10"), (2, "the: score"), (0, "Soup: score 2.10")):
        page.locator(DIAGRAM).first.locator(".cards_marks path").nth(place).click()
        expect(page.get_by_text(words)).to_be_visible()
        wait_idle(page)
    assert (
        page.get_by_role("radio", name="Soup", exact=True).get_attribute("aria-checked") == "true"
    )


def test_a_path_is_lit_and_a_score_is_moved_by_keyboard(visit, wait_idle):
    page = visit()
    page.locator(".st-key-real_key_0").wait_for()  # the part below comes after the first
    wait_idle(page)
    tab_to(page, ".st-key-toy_follow [role=radio]")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Soup: score 2.10, weight 0.804")).to_be_visible()
    wait_idle(page)
    expect(accented(page)).to_have_count(5)
    slider = page.locator(".st-key-toy_score_0 input")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile(r"[?&]toy=2%2C0.4%2C-0.7"))
    expect(page.get_by_text("Soup: score 2.00")).to_be_visible()


def test_going_back_undoes_a_change(visit, wait_idle):
    page = visit()
    page.locator(".st-key-toy_score_0 input").focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("toy="))
    assert "model=planted-circuit" in page.url
    page.go_back()
    expect(page.get_by_text("Weights: Soup 0.804")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 700])
def test_nothing_is_cut_off(visit, wait_idle, width):
    page = visit(width=width)
    page.locator(".st-key-real_run button, .st-key-real_key_0").first.wait_for()
    if page.locator(".st-key-real_run button").count():
        page.locator(".st-key-real_run button").click()
        page.locator(".st-key-real_key_0").wait_for()
        wait_idle(page)
    wide = page.evaluate(
        """() => [...document.querySelectorAll('[data-testid=stMain] *')]
              .filter(e => !e.closest('svg') || e.tagName === 'svg')
              .filter(e => !e.closest('.katex-mathml'))
              .filter(e => e.getBoundingClientRect().width > 0)
              .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
              .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert wide == []
    for diagram in page.locator(DIAGRAM).all():
        frame = diagram.locator("xpath=ancestor::*[@data-testid='stVegaLiteChart']")
        inner, outer = diagram.bounding_box(), frame.bounding_box()
        assert inner["width"] <= outer["width"] + 1 and inner["height"] <= outer["height"] + 1


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(visit, wait_idle, dark):
    page = visit(dark=dark)
    page.get_by_role("radio", name="Technical").click()
    expect(page.get_by_role("heading", name="The same, technically")).to_be_visible()
    page.locator(".st-key-toy_words summary").click()
    page.get_by_text("Query and key of Soup match").click()
    if page.locator(".st-key-real_run button").count():
        page.locator(".st-key-real_run button").click()
    page.locator(".st-key-real_key_0").wait_for()
    wait_idle(page)
    page.wait_for_timeout(500)
    serious = [
        (rule["id"], node["html"][:200], node["failureSummary"][:200])
        for rule in Axe().run(page).response["violations"]
        if rule["impact"] in ("serious", "critical") or rule["id"] == "heading-order"
        for node in rule["nodes"]
    ]
    assert serious == []
