"""A Streamlit server and a Chromium for the tests that need to see a page drawn."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from tests.browser import serving
from tests.browser.serving import FLAGS, IDLE

NOT_OURS = "Failed to load resource"  # Streamlit looks for its own files under a page's path

Serve = Callable[..., str]
Visit = Callable[..., Page]
expect.set_options(timeout=20_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Once more where one fails, and said so: a browser on a busy machine misses a key now and
    then."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="module")  # Playwright has a loop of its own, which other tests must not meet
def browser() -> Iterator[Browser]:
    """The machine's own Chromium where there is one, else the one Playwright installed."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=serving.chromium(), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """serve(script, *args) starts a Streamlit script and returns its address; stopped afterwards.

    Arguments after the script reach it in sys.argv.
    """
    servers: list[serving.Server] = []

    def start(script: str | Path, *args: str) -> str:
        server, url = serving.start(script, *args, OMP_NUM_THREADS="1")
        servers.append(server)
        return url

    yield start
    for server in servers:
        serving.stop(server)


@pytest.fixture(scope="module")
def app(serve: Serve) -> str:
    """The address of the whole app."""
    return serve("dashboard/app.py")


@pytest.fixture
def visit(app: str, browser: Browser, wait_idle: Callable[[Page], None]) -> Iterator[Visit]:
    """visit(link, drawn=..., by=..., width=1280, height=900, dark=False) opens a page of the app.

    Returns when what `drawn` selects is there and the script has ended. With `by`, goes on from
    there to the page of that name by the navigation, as a reader does. The test fails if the
    console erred.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(message.text)

    def note_ours(message: ConsoleMessage) -> None:
        if not message.text.startswith(NOT_OURS):
            note(message)

    def go(
        link: str,
        *,
        drawn: str,
        by: str | None = None,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", note if link.startswith("/?") else note_ours)
        page.goto(app + link)
        if by is not None:
            wait_idle(page)
            _navigate(page, by, folded=width < 768)
        page.wait_for_selector(drawn, timeout=120_000)  # the first page imports torch
        wait_idle(page)
        return page

    yield go
    for context in contexts:
        context.close()
    assert complaints == []


def _navigate(page: Page, name: str, *, folded: bool) -> None:
    """Go to a page by the navigation, which a narrow window folds away."""
    if folded:
        page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    if folded:
        page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()


@pytest.fixture(scope="session")
def wait_idle() -> Callable[[Page], None]:
    """wait_idle(page) returns when the page's script has run to its end."""

    def wait(page: Page) -> None:
        page.wait_for_selector(IDLE, timeout=120_000)

    return wait
