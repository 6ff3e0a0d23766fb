"""What axe has to say against a page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_RULES = ["wcag2a", "wcag2aa", "best-practice"]


def complaints(page: Page, *, headings: bool = True) -> list[tuple[str, list[str]]]:
    """(rule, elements) of what is serious, and of headings out of order."""
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": _RULES}})
    return [
        (violation["id"], [node["html"][:120] for node in violation["nodes"]])
        for violation in found.response["violations"]
        if violation["impact"] in ("serious", "critical")
        or (headings and violation["id"] == "heading-order")
    ]
