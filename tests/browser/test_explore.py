"""The Explore page in a browser: pointer, keyboard, address, width, contrast."""

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visit
from tests.browser.keyboard import tab_to

PLANTED = {"model": "planted-circuit", "text": "red fox ran home red fox ran home"}
MAP = "[data-testid='stMain'] .vega-embed svg"


@pytest.fixture
def visit(visit: Visit) -> Visit:
    """visit(width=1280, height=1000, dark=False, **link) opens the page, drawn."""

    def go(*, width: int = 1280, height: int = 1000, dark: bool = False, **link: str) -> Page:
        address = f"/?{urlencode(PLANTED | link)}"
        return visit(address, drawn=MAP, width=width, height=height, dark=dark)

    return go


def address(page: Page) -> dict[str, str]:
    return {k: v[-1] for k, v in parse_qs(urlsplit(page.url).query).items()}


def bands(page: Page, side: str = "score") -> Locator:
    """The rows of a map, one mark each."""
    return page.locator(f"{MAP} .{side}_bands_marks path")


def point_at(page: Page, mark: Locator, *, click: bool = False) -> None:
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    assert box is not None
    place = box["x"] + min(30, box["width"] / 2), box["y"] + box["height"] / 2
    page.mouse.move(*place)
    if click:
        page.mouse.click(*place)


def shown_row(page: Page) -> str:
    """The row in the picker."""
    return page.locator(".st-key-pick_query input").input_value()


def has_query(value: int) -> re.Pattern[str]:
    return re.compile(rf"[?&]query={value}(&|$)")


def test_hovering_reads_another_row_in_the_browser_alone(visit):
    page = visit(query="8")
    sent = []
    sockets = []
    page.on("websocket", lambda socket: sockets.append(socket))
    page.reload()
    page.wait_for_selector(f"{MAP} .weight_bands_marks path")
    page.wait_for_timeout(1000)
    for socket in sockets:
        socket.on("framesent", lambda frame: sent.append(frame))
    for side in ("score", "weight"):
        for row, key in ((6, "ran"), (5, "fox")):
            point_at(page, bands(page, side).nth(row))
            expect(page.locator(MAP)).to_contain_text(re.compile(rf"\({row}\) attends.*{key}"))
    assert sent == [] and address(page)["query"] == "8"


def test_the_pointer_may_pass_where_nothing_is_drawn(visit):
    """Events have no mark there, and the console stays silent, as at every visit."""
    page = visit()
    box = page.locator(MAP).bounding_box()
    assert box is not None
    for share in (0.01, 0.4, 0.5, 0.99):
        page.mouse.move(box["x"] - 5, box["y"] + share * box["height"])
        page.mouse.move(box["x"] + box["width"] + 5, box["y"] + share * box["height"], steps=40)
    page.locator(MAP).dispatch_event("pointerover")


def test_a_click_keeps_the_row_and_writes_it_into_the_address(visit, wait_idle):
    page = visit(query="8", height=700)
    mark = "document.querySelector('[data-testid=stMain] [data-testid=stVegaLiteChart]').dataset"
    page.evaluate(f"{mark}.seen = 'before'")
    point_at(page, bands(page).nth(3), click=True)
    place = page.get_by_test_id("stMain").evaluate("main => main.scrollTop")
    expect(page).to_have_url(has_query(3))
    wait_idle(page)
    assert shown_row(page).startswith("3")
    assert page.evaluate(f"{mark}.seen") == "before", "the picture is changed, not built anew"
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollTop") == place
    point_at(page, bands(page, "weight").nth(6), click=True)
    expect(page).to_have_url(has_query(6))
    wait_idle(page)
    page.locator(".st-key-next_query button:visible").click()
    expect(page).to_have_url(has_query(7))
    wait_idle(page)
    point_at(page, bands(page).nth(6), click=True)  # clicked before, left by a step
    expect(page).to_have_url(has_query(6))


def test_back_and_forward_go_through_what_was_looked_at(visit, wait_idle):
    page = visit(query="8", layer="1", head="0")
    page.locator(".st-key-next_head button:visible").click()
    expect(page.locator("h1")).to_have_text(re.compile("layer 1, head 1$"))
    expect(page).to_have_url(re.compile("head=1"))
    wait_idle(page)
    page.go_back()
    expect(page.locator("h1")).to_have_text(re.compile("layer 1, head 0$"))
    wait_idle(page)
    page.go_forward()
    expect(page.locator("h1")).to_have_text(re.compile("layer 1, head 1$"))


def test_heads_by_two_quick_steps_and_by_the_grid(visit, wait_idle):
    page = visit(layer="1", head="0")
    button = page.locator(".st-key-next_head button:visible")
    button.click()
    page.wait_for_selector("[data-testid='stApp'][data-test-script-state='running']")
    button.click()  # before the page has followed the first
    expect(page.locator("h1")).to_have_text(re.compile("layer 1, head 2$"))
    expect(page).to_have_url(re.compile("head=2"))
    wait_idle(page)
    point_at(page, page.locator(".stSidebar .heads_marks path").nth(1), click=True)
    expect(page.locator("h1")).to_have_text(re.compile("layer 0, head 1$"))
    expect(page).to_have_url(re.compile("layer=0&head=1"))


def test_everything_can_be_done_by_keyboard(visit, wait_idle):
    page = visit(layer="1", head="0", query="8")
    tab_to(page, ".st-key-next_head button")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(re.compile("layer 1, head 1$"))
    wait_idle(page)
    tab_to(page, ".st-key-pick_query input")
    page.keyboard.type("2 ")
    page.keyboard.press("Enter")
    expect(page).to_have_url(has_query(2))
    wait_idle(page)
    tab_to(page, ".st-key-previous_query button")
    page.keyboard.press("Enter")
    expect(page).to_have_url(has_query(1))
    wait_idle(page)
    for name in ("Previous head", "Next head", "Previous token", "Next token"):
        assert page.get_by_role("button", name=name, exact=True).first.is_enabled()
    tab_to(page, ".st-key-row_open summary")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()


def test_a_copied_address_opens_the_same_picture(visit):
    """streamlit/streamlit#7961: a copied link opens something else."""
    text = "日本 😀 a&b=c #d +e%20"
    first = visit(text=text, layer="0", head="1", query="4", weights="fit", by="signed_share")
    second = visit(**address(first))
    assert address(second) == address(first)
    assert first.locator("h1").inner_text() == second.locator("h1").inner_text()
    assert shown_row(first) == shown_row(second)
    assert first.locator(MAP).text_content() == second.locator(MAP).text_content()
    assert second.get_by_label("Text", exact=True).input_value() == text


def test_typing_runs_nothing_and_ctrl_enter_runs_the_text(visit):
    page = visit()
    box = page.get_by_label("Text", exact=True)
    box.fill("blue owl sang blue owl")
    page.wait_for_timeout(700)
    assert address(page)["text"] == PLANTED["text"]
    box.press("Control+Enter")
    expect(page).to_have_url(re.compile("blue"))
    expect(page.locator(MAP)).to_contain_text("owl")


def test_a_bad_link_says_so_once_in_plain_words(visit):
    """streamlit/streamlit#3685, #302: values in the address bar outside the allowed range."""
    page = visit(layer="99", head="-1", temp="abc", by="<script>alert(1)</script>")
    alert = page.get_by_test_id("stAlert")
    assert alert.count() == 1
    for part in ("layer (this model has layers 0 to 1)", "head", "by"):
        expect(alert).to_contain_text(part)
    assert "alert(1)" not in alert.inner_text()
    assert address(page)["layer"] == "1" and address(page)["temp"] == "abc"
    assert "by" not in address(page)


def test_markup_in_a_text_is_shown_as_it_is(visit):
    """streamlit/streamlit#8726, #8099, #8546: words lost, dollars turned to formulas."""
    page = visit(text="**a** $x$ :red[y] <b>z</b>")
    page.get_by_test_id("stMain").locator(".st-key-row_open summary").click()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    drawn = page.locator(MAP).text_content() or ""
    for piece in ("**", "$", "[", "<", ">"):
        assert piece in drawn
    main = page.get_by_test_id("stMain")
    assert main.locator("b, .katex, .katex-error").count() == 0
    assert main.locator("[data-testid=stMarkdownContainer] strong").count() == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_cut_off_at_700_pixels(visit, dark):
    page = visit(width=700, height=900, dark=dark)
    wide = page.evaluate(
        """() => [...document.querySelectorAll('[data-testid=stMain] *')]
              .filter(e => !e.closest('svg') || e.tagName === 'svg')
              .filter(e => e.getBoundingClientRect().width > 0)
              .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
              .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert wide == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    sidebar = page.get_by_test_id("stSidebar").bounding_box()
    assert sidebar is None or sidebar["x"] + sidebar["width"] <= 0, "the sidebar is folded"
    score, weight = (bands(page, side).first.bounding_box() for side in ("score", "weight"))
    assert weight["y"] > score["y"] + 100, "the maps stand one above the other"
    chart = page.locator(MAP).bounding_box()
    frame = page.locator("[data-testid=stMain] [data-testid=stVegaLiteChart]").bounding_box()
    assert chart["width"] <= frame["width"] + 1 and chart["height"] <= frame["height"] + 1


def test_maps_side_by_side_and_bars_fit_1280_by_800_pixels(visit):
    page = visit(height=800)
    score, weight = (bands(page, side).first.bounding_box() for side in ("score", "weight"))
    assert score["y"] == weight["y"] and weight["x"] > score["x"] + 300
    last = [bands(page, side).last.bounding_box() for side in ("score", "weight")]
    bars = [bar.bounding_box() for bar in page.locator(f"{MAP} g[class*=' bars_'] > path").all()]
    assert len(bars) == 9
    assert all(box["y"] + box["height"] < 800 for box in last + bars)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(visit, wait_idle, dark):
    page = visit(dark=dark, layer="99")
    for key in ("row_open", "help_open"):
        page.locator(f".st-key-{key} summary").click()
        wait_idle(page)
    page.get_by_text("Colours and order").first.click()
    page.wait_for_timeout(500)
    found = Axe().run(page).response["violations"]
    serious = [
        (rule["id"], node["html"][:200], node["failureSummary"][:200])
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]
    assert serious == []


def test_a_row_number_that_stands_for_another_token_is_shown_and_goes_on(visit, wait_idle):
    """The browser holds the label of an option that was chosen: it outlived its token, and the
    next click brought it back as a row that there is not."""
    page = visit(query="6", text="red fox ran home red fox")
    assert shown_row(page).endswith("fox")
    box = page.locator("[data-testid=stSidebar] textarea").first
    box.fill("red fox ran home red cat")
    box.press("Control+Enter")
    expect(page.locator(".st-key-pick_query input")).to_have_value(re.compile("cat$"))
    wait_idle(page)
    before = address(page)["head"]
    page.get_by_role("button", name="Next head").click()
    expect(page).not_to_have_url(re.compile(rf"[?&]head={before}(&|$)"))
    wait_idle(page)
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    assert shown_row(page) == f"{address(page)['query']}  \u2423cat"
