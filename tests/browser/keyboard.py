"""Going through a page by keyboard, as a reader without a pointer does."""

from playwright.sync_api import Page

_STOPS = 250  # more than twice around any page
_NAME = """() => {
  const focus = document.activeElement;
  const control = focus.closest('[class*="st-key-"]');
  return focus.tagName + ' ' + (control ? control.className.match(/st-key-[\\w-]+/)[0] : '');
}"""


def tab_to(page: Page, what: str) -> None:
    """Press Tab until the focus is on what the CSS selector means."""
    stops = []
    for _ in range(_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate("what => document.activeElement.matches(what)", what):
            return
        stops.append(page.evaluate(_NAME))
    raise AssertionError(f"{what} cannot be reached by Tab. It stopped at: {stops}")
