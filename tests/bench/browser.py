"""What a reader's browser feels on Explore: the freeze of drawing a head, and a pointer's move.

A freeze is the longest task of the browser's main thread from a click on the next head until its
picture stands. A move is timed from the pointer's event to the second frame after it, by when
what it changed is on the screen.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import serving

MODEL = "smollm2-135m"
HEADS, MOVES = 8, 30
_WIDTH, _HEIGHT = 1280, 800
_BAND = "[data-testid='stMain'] .vega-embed svg .weight_bands_marks path"
_WATCH_TASKS = """
window.tasks = [];
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) window.tasks.push(entry.duration);
}).observe({type: 'longtask'});
"""
_WATCH_MOVE = """
window.moved = 0;
window.addEventListener('pointermove', () => {
  const start = performance.now();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    window.moved = performance.now() - start;
  }));
}, {once: true, capture: true});
"""


@contextmanager
def app() -> Iterator[tuple[Browser, str, int]]:
    """A browser, the address of a server of the app, and the id of the server's process."""
    server, url = serving.start("dashboard/app.py")
    try:
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(
                executable_path=serving.chromium(), args=serving.FLAGS
            )
            yield chromium, url, server.pid
            chromium.close()
    finally:
        serving.stop(server)


@contextmanager
def opened() -> Iterator[Page]:
    """A browser's page on the app, with the model in the server's memory."""
    with app() as (chromium, url, _):
        size = {"width": _WIDTH, "height": _HEIGHT}
        page = chromium.new_page(viewport=size, base_url=url)
        page.add_init_script(_WATCH_TASKS)
        _open(page, "A first text, so that the model is there.")
        yield page


def felt(page: Page, text: str) -> dict[str, list[float]]:
    """Milliseconds: the freeze of each next head, and of each move to another row."""
    _open(page, text)
    page.wait_for_timeout(3000)
    freezes = [_next_head(page) for _ in range(HEADS)]
    return {"freeze": freezes, "move": [_move(page, place) for place in _places(page)]}


def _open(page: Page, text: str) -> None:
    page.goto(f"/?{urlencode({'model': MODEL, 'text': text, 'layer': 5, 'head': 0})}")
    page.wait_for_selector(_BAND, timeout=180_000)
    page.wait_for_selector(serving.IDLE)


def _next_head(page: Page) -> float:
    page.evaluate("window.tasks.length = 0")
    page.get_by_role("button", name="Next head").first.click()
    page.wait_for_timeout(1500)
    page.wait_for_selector(serving.IDLE)
    page.wait_for_timeout(1000)
    return float(page.evaluate("Math.max(0, ...window.tasks)"))


def _places(page: Page) -> list[tuple[float, float]]:
    """Points on rows of the weight map that are on the screen, each far from the one before."""
    bands = page.locator(_BAND)
    bands.nth(bands.count() // 2).scroll_into_view_if_needed()
    boxes = bands.evaluate_all(
        "bands => bands.map(band => band.getBoundingClientRect())"
        ".map(box => [box.x + box.width / 3, box.y + box.height / 2])"
    )
    seen = [(x, y) for x, y in boxes if 120 < y < _HEIGHT - 10]
    return [seen[7 * step % len(seen)] for step in range(1, MOVES + 1)]


def _move(page: Page, place: tuple[float, float]) -> float:
    page.evaluate(_WATCH_MOVE)
    page.mouse.move(*place)
    page.wait_for_function("window.moved > 0")
    return float(page.evaluate("window.moved"))
