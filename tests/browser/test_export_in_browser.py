"""Export in a browser: files come down, and a page that was saved needs nothing and nobody."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, Route, expect

import attnviz
from attnviz import export
from tests.browser.axe import complaints
from tests.export.numbers_in_files import read_numbers

TEXT = "red fox ran home red fox ran home"
PICTURE = "[data-testid='stMain'] .vega-embed svg"
LINK = f"/?model=planted-circuit&text={TEXT.replace(' ', '+')}&layer=1&head=0&query=7"
DRAWN = "document.documentElement.dataset.drawn"
SAFE = "http://safe.test/"


@pytest.fixture(scope="module")
def view():
    capture = attnviz.capture(attnviz.load("planted-circuit"), TEXT)
    return export.head_view(capture, layer=1, head=0, query=7)


@pytest.fixture(scope="module")
def saved(view, tmp_path_factory) -> Path:
    return view.save(tmp_path_factory.mktemp("saved") / "head.html")


def test_the_panel_is_reached_by_keyboard_and_gives_the_files(visit, tmp_path, view):
    page = visit(LINK, drawn=PICTURE)
    page.get_by_test_id("stMain").get_by_role("button", name="Export").focus()
    page.keyboard.press("Enter")
    panel = page.get_by_test_id("stPopoverBody")
    expect(panel.get_by_text("Link to this page as it stands")).to_be_visible()
    assert complaints(page) == []
    for name, kind in (("CSV", "csv"), ("HTML", "html")):
        with page.expect_download(timeout=120_000) as download:
            panel.get_by_role("button", name=name, exact=True).click()
        assert download.value.suggested_filename == f"attnviz-planted-circuit-L1H0.{kind}"
        path = tmp_path / f"head.{kind}"
        download.value.save_as(path)
        arrays = read_numbers(path.read_bytes(), kind)
        assert np.array_equal(arrays["weights"], view.arrays["weights"])
    expect(panel.get_by_text("query=7").first).to_be_visible()


def offline(browser: Browser, **options) -> tuple[Page, list[str], list[str]]:
    """A page without a network, what it asked for, and what its console said."""
    page = browser.new_context(offline=True, **options).new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda r: asked.append(r.url) if not r.url.startswith("data:") else None)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    return page, asked, said


def words(page) -> list[str]:
    """Every text in the picture that is drawn, in order."""
    return page.evaluate(
        "[...document.querySelectorAll('#picture svg text')].map(t => t.textContent).filter(t => t)"
    )


def test_a_saved_page_draws_itself_with_the_network_off(browser, saved, view):
    """jessevig/bertviz#53, #90; MaartenGr/BERTopic#764: blank outside the notebook."""
    page, asked, said = offline(browser)
    page.goto(saved.as_uri())
    page.wait_for_function(f"{DRAWN} !== undefined")
    assert page.evaluate(DRAWN) == "compiled"
    assert (asked, said) == ([saved.as_uri()], [])
    assert page.locator("#still").count() == 0
    picture = page.get_by_role("img", name=view.finding)
    expect(picture).to_be_visible()
    # each token is a label on two sides of two maps, a chip and a bar
    assert words(page).count("␣fox") == 2 * 6
    rows = page.locator("tbody tr").all_inner_texts()
    table = view.table()
    assert any(f"{table['Weight'][5]:.6g}" in row for row in rows)
    assert complaints(page) == []
    page.context.close()


def test_a_saved_page_answers_to_the_pointer(browser, saved):
    page, _, said = offline(browser, viewport={"width": 1200, "height": 900})
    page.goto(saved.as_uri())
    page.wait_for_function(f"{DRAWN} !== undefined")
    before = words(page)
    box = page.locator("#picture svg").first.bounding_box()
    page.mouse.move(box["x"] + 120, box["y"] + 100)
    page.mouse.move(box["x"] + 122, box["y"] + 102)
    page.wait_for_function("old => JSON.stringify([...document.querySelectorAll("
                           "'#picture svg text')].map(t => t.textContent).filter(t => t))"
                           " !== JSON.stringify(old)", arg=before)  # fmt: skip
    assert said == []
    page.context.close()


POLICIES = {
    "interpreted": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; frame-src 'self'",
    "nothing": "default-src 'none'; frame-src 'self'",
}


@pytest.mark.parametrize("allowed", list(POLICIES))
def test_a_saved_page_shows_the_same_under_a_strict_policy(browser, saved, view, allowed):
    """In a frame of a page whose policy forbids to compile code, or any script and picture."""
    plain, _, _ = offline(browser)
    plain.goto(saved.as_uri())
    plain.wait_for_function(f"{DRAWN} !== undefined")
    expected = sorted(set(words(plain)))
    plain.context.close()

    page = browser.new_context().new_page()

    def answer(route: Route) -> None:
        if route.request.url == SAFE:
            body = f'<iframe src="{SAFE}head.html" width="1200" height="900"></iframe>'
        else:
            body = saved.read_text(encoding="utf-8")
        route.fulfill(
            body=body,
            content_type="text/html; charset=utf-8",
            headers={"Content-Security-Policy": POLICIES[allowed]},
        )

    page.route("**/*", answer)
    page.goto(SAFE)
    frame = page.frame(url=f"{SAFE}head.html")
    assert frame is not None
    if allowed == "interpreted":
        frame.wait_for_function(f"{DRAWN} !== undefined")
        assert frame.evaluate(DRAWN) == "interpreted"
    else:
        frame.wait_for_selector("#still svg")
        assert frame.evaluate(f"{DRAWN} === undefined")
        # the cells are shapes, so a policy against pictures does not blank the maps
        assert frame.locator("#still svg path[fill]").count() > 20
    expect(frame.locator("#picture svg").first).to_be_visible()
    assert set(view.axes[1].columns["key_label"]) <= set(words(frame))
    if allowed == "interpreted":
        assert sorted(set(words(frame))) == expected
    rows = frame.locator("tbody tr").all_inner_texts()
    assert any(f"{view.table()['Weight'][5]:.6g}" in row for row in rows)
    page.context.close()


def test_markup_in_a_text_stays_text_in_a_saved_page(browser, tmp_path):
    """huggingface/tokenizers#1937"""
    text = "<img src=x onerror=document.title=1> </script><script>document.title=2</script>"
    capture = attnviz.capture(attnviz.load("planted-circuit"), text)
    path = export.head_view(capture, layer=1, head=0).save(tmp_path / "x.html")
    page, asked, said = offline(browser)
    page.goto(path.as_uri())
    page.wait_for_function(f"{DRAWN} !== undefined")
    assert page.evaluate(DRAWN) == "compiled"
    assert page.title().startswith("planted-circuit, layer 1")
    assert page.locator("main img").count() == 0 and asked == [path.as_uri()] and said == []
    page.context.close()


def test_a_notebook_shows_the_frame_without_a_network(browser, tmp_path, view):
    path = tmp_path / "notebook.html"
    path.write_text(
        f"<!doctype html><meta charset=utf-8><body>{view._repr_mimebundle_()['text/html']}",
        encoding="utf-8",
    )
    page, asked, said = offline(browser)
    page.goto(path.as_uri())
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("img", name=view.finding)).to_be_visible()
    expect(frame.locator("html")).to_have_attribute("data-drawn", "compiled")
    assert [url for url in asked if not url.startswith("about:")] == [path.as_uri()]
    assert said == []
    page.context.close()
