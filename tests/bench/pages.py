"""Pages in a real browser: the first one, all heads of a text, and a text of the longest kind."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, WebSocket

from tests.bench import browser, passage
from tests.bench.report import LINES, Reach, Report, Table, duration
from tests.browser import serving

HEADS_AT = (128, 1024)
LONGEST = 8192
WAIT = 900_000  # milliseconds
_WATCH_FIRST = """
window.first = {};  // milliseconds from the answer; Playwright looks only twice a second
const WATCHED = {
  shell: "[data-testid='stSidebar'] .st-key-pick_model",
  heatmap: "[data-testid='stMain'] .vega-embed svg .weight_bands_marks path",
};
new MutationObserver(() => {
  for (const [name, what] of Object.entries(WATCHED))
    if (!(name in first) && document.querySelector(what))
      first[name] = performance.now() - performance.getEntriesByType('navigation')[0].responseStart;
}).observe(document, {childList: true, subtree: true});
"""
_EXPLORE = "[data-testid='stMain'] .vega-embed"
_OVERVIEW = "[class*='st-key-overview_'] canvas"
_TABLE = "[data-testid='stDataFrame'] canvas"
_UNTIL_DRAWN = """heads => new Promise(done => {
    const main = document.querySelector("[data-testid='stMain']");
    const drawn = () => main.querySelectorAll(".heads_marks path").length === heads
        && main.querySelector(".vega-embed image") !== null;
    const links = [...document.querySelectorAll("a")];
    const start = performance.now();
    new MutationObserver((changes, observer) => {
        if (!drawn()) return;
        observer.disconnect();
        done(performance.now() - start);
    }).observe(document.body, {subtree: true, childList: true, attributes: true});
    links.find(link => link.textContent.trim() === "Heads").click();
})"""
_LINK = 4000  # characters of a text that go into an address; a longer one is typed


def pages(report: Report, model: Any) -> None:
    """The table of what a reader waits for, and of what the server sends meanwhile."""
    table = report.table(
        "Pages in a browser",
        LINES,
        "Maps: after the capture, from the click on the page of heads until all are drawn, and "
        "until the table of measures stands beside them; the bytes are all that the server sends "
        "meanwhile.",
    )
    with browser.app() as (chromium, url, _):
        _first_page(table, chromium, url)
        for length in HEADS_AT:
            _heads(table, chromium, url, model, length)


def longest(report: Report, model: Any) -> None:
    """The table of a text of the longest kind, which takes minutes."""
    table = report.table("The longest text in a browser")
    with browser.app() as (chromium, url, server):
        _long_text(table, chromium, url, model, server)


def felt(report: Report, model: Any, lengths: tuple[int, ...]) -> None:
    """The table of freezes and of moves of the pointer."""
    table = report.table("What the browser feels on Explore")
    with browser.opened() as page:
        for length in lengths:
            found = browser.felt(page, passage.text(model.tokenizer, length))
            for what, name, most in (
                ("longest freeze while another head is drawn, median", "freeze", 200),
                ("a move of the pointer to the row redrawn, median", "move", 60),
            ):
                times = found[name]
                low, middle, high = statistics.quantiles(times, n=4)
                table.value(
                    what,
                    length,
                    middle,
                    "ms",
                    Reach(most),
                    spread=(low, high),
                    detail=f"worst {duration(max(times) / 1000)}",
                    rounds=len(times),
                )


def _first_page(table: Table, chromium: Browser, url: str) -> None:
    """From the first answer of a fresh server, with the model on disk."""
    context, page = _page(chromium)
    page.add_init_script(_WATCH_FIRST)
    page.goto(url)
    page.wait_for_function("'heatmap' in first")
    for what, name, most in (
        ("first page: from the server's answer to its shell", "shell", 1),
        (
            "first page: from the server's answer to a heatmap, model on disk",
            "heatmap",
            10,
        ),
    ):
        seconds = float(page.evaluate("name => first[name]", name)) / 1000
        table.value(what, 0, seconds, "s", Reach(most))
    context.close()


def _heads(table: Table, chromium: Browser, url: str, model: Any, length: int) -> None:
    context, page = _page(chromium)
    received: list[int] = []

    def count(socket: WebSocket) -> None:
        socket.on("framereceived", lambda payload: received.append(len(payload)))

    page.on("websocket", count)
    _explore(page, url, passage.text(model.tokenizer, length))
    received.clear()
    heads = model.info.layers * model.info.heads
    stop = _clock()
    drawn = page.evaluate(_UNTIL_DRAWN, heads) / 1000  # by the page's own clock: nobody polls
    page.wait_for_selector(_TABLE)
    page.wait_for_selector(serving.IDLE)
    at_rest = stop()
    context.close()
    what = f"{heads} small maps"
    table.value(f"{what}: from click to drawn", length, drawn, "s", Reach(3, 128))
    table.value(f"{what}: from click to the page at rest", length, at_rest, "s")
    kilobytes = sum(received) / 1000
    table.value(f"{what}: bytes to the browser", length, kilobytes, "kB", Reach(1000, 128))


def _long_text(table: Table, chromium: Browser, url: str, model: Any, server: int) -> None:
    """Opened, read at another head and on other pages, and what the server's process took at
    most."""
    context, page = _page(chromium)
    text = passage.text(model.tokenizer, LONGEST)
    stop = _clock()
    _explore(page, url, text)
    table.value("opened, with the model loaded and the text typed", LONGEST, stop(), "s")
    stop = _clock()
    page.get_by_role("button", name="Next head").first.click()
    page.wait_for_timeout(500)  # until the page knows of it
    page.wait_for_selector(serving.IDLE)
    page.wait_for_selector(_OVERVIEW)
    table.value("another head, seen whole", LONGEST, stop(), "s")
    for name in ("Heads", "What if", "Compare", "Misconceptions", "How it works"):
        stop = _clock()
        page.get_by_role("link", name=name, exact=True).click()
        page.get_by_role("heading", name=name, exact=True).wait_for()
        page.wait_for_timeout(500)
        page.wait_for_selector(serving.IDLE)
        table.value(f"{name}, opened on the same text", LONGEST, stop(), "s")
    context.close()
    status = Path(f"/proc/{server}/status")
    if status.exists():
        (peak,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        what = "memory of the server at most"
        table.value(what, LONGEST, int(peak.split()[1]) * 1024 / 1e9, "GB", Reach(2.7))


def _explore(page: Page, url: str, text: str) -> None:
    """Explore, with the text drawn and the page at rest."""
    given = {"model": browser.MODEL} | ({"text": text} if len(text) < _LINK else {})
    page.goto(f"{url}/?{urlencode(given)}")
    page.wait_for_selector(_EXPLORE)
    page.wait_for_selector(serving.IDLE)
    if "text" not in given:
        page.get_by_role("textbox", name="Text").fill(text)
        page.get_by_role("button", name="Run").click()
        page.wait_for_selector(_OVERVIEW)
        page.wait_for_selector(serving.IDLE)


def _page(chromium: Browser) -> tuple[Any, Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(WAIT)
    return context, page


def _clock() -> Callable[[], float]:
    start = time.perf_counter()
    return lambda: time.perf_counter() - start
