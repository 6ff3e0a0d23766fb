"""The charts as a browser draws them: what the pointer changes, what tooltips say, what fits."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.charts.heads import causal, random_scores

SCRIPT = Path(__file__).parent / "scripts" / "charts_page.py"
CHART = "[data-testid=stVegaLiteChart]"
PICKED = "[data-testid=stText]"


@pytest.fixture(scope="module")
def address(serve: Callable[..., str]) -> str:
    return serve(SCRIPT)


@pytest.fixture
def open_case(browser: Browser, address: str, wait_idle):
    """open_case(name, width=..., scheme=..., **query) -> a page with the chart drawn."""
    contexts = []

    def open_page(case: str, *, width: int = 1280, scheme: str = "light", **query: object) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.complaints = []
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on(
            "console",
            lambda said: page.complaints.append(said.text) if said.type == "error" else None,
        )
        options = "".join(f"&{name}={value}" for name, value in query.items())
        page.goto(f"{address}/?case={case}{options}")
        page.wait_for_selector(f"{CHART} svg.marks", timeout=60_000)
        wait_idle(page)
        page.wait_for_function(f"document.querySelectorAll('{CHART} svg.marks image').length > 0")
        return page

    yield open_page
    for context in contexts:
        context.close()


def boxes(page: Page, name: str) -> list[dict[str, float]]:
    """Where the marks of a view are, in data order."""
    return page.eval_on_selector_all(
        f"{CHART} g.role-mark[class*=' {name}_'] > *",
        """all => all.map(one => {const b = one.getBoundingClientRect();
        return {x: b.x, y: b.y, w: b.width, h: b.height}})""",
    )


def labels(page: Page, name: str) -> list[str]:
    """What a screen reader is told about the marks of a view."""
    return page.eval_on_selector_all(
        f"{CHART} g.role-mark[class*=' {name}_'] > *",
        "all => all.map(one => one.getAttribute('aria-label'))",
    )


def texts(page: Page) -> list[str]:
    return page.eval_on_selector_all(
        f"{CHART} svg.marks text", "all => all.map(one => one.textContent).filter(Boolean)"
    )


def centre(box: dict[str, float]) -> tuple[float, float]:
    return box["x"] + box["w"] / 2, box["y"] + box["h"] / 2


def point_at(page: Page, row: int, key: int, side: str = "score") -> None:
    """Move the pointer over a cell: to its row, then to the cell that comes under it."""
    band = boxes(page, f"{side}_bands")[row]
    page.mouse.move(band["x"] + band["w"] / 2, band["y"] + band["h"] / 2)
    page.wait_for_function(
        """([left, right, y]) => {const b = document.querySelector("g[class*=' cells_'] > *")
        .getBoundingClientRect(); return b.x >= left && b.x < right && Math.abs(b.y - y) < 1}""",
        arg=[band["x"], band["x"] + band["w"], band["y"]],
    )
    page.mouse.move(*centre(boxes(page, "cells")[key]))


def tooltip(page: Page) -> dict[str, str]:
    page.wait_for_selector("#vg-tooltip-element.visible", timeout=10_000)
    return dict(
        page.eval_on_selector_all(
            "#vg-tooltip-element tr",
            "all => all.map(row => [...row.children].map(cell => cell.innerText))",
        )
    )


def outlined(page: Page, box: dict[str, float]) -> bool:
    """Whether the frame of the row that is read is drawn around a row."""
    frames = page.eval_on_selector_all(
        f"{CHART} g.mark-rect > path[stroke='#e8590c'][stroke-width='2']",
        "all => all.map(one => {const b = one.getBoundingClientRect(); return [b.y, b.right]})",
    )
    return any(
        abs(y + 2 - box["y"]) < 1.5 and box["x"] < right <= box["x"] + box["w"] + 3
        for y, right in frames
    )


def picked(page: Page) -> object:
    return json.loads(page.inner_text(PICKED))["pick"]


def printed(value: float) -> str:
    return f"{value:.4g}".replace("-", "\u2212")


def test_pointing_at_a_row_of_either_map_reads_it_in_both(open_case):
    page = open_case("repeated")
    for side, row in (("score", 1), ("weight", 3)):
        point_at(page, row, 0, side)
        for band in ("score_bands", "weight_bands"):
            assert outlined(page, boxes(page, band)[row])
    assert picked(page) == {}  # pointing asks nothing of Python


def test_pointing_redraws_bars_and_chips_without_python(open_case):
    page = open_case("repeated")
    head = causal(random_scores(5))
    heights = boxes(page, "bars")
    point_at(page, 1, 0)
    assert boxes(page, "bars") != heights
    assert labels(page, "bars") == [
        f'"The" (0): {printed(head.weights[1, 0])}',
        f'"␣cat" (1): {printed(head.weights[1, 1])}',
        '"␣sat" (2): masked: future',
        '"␣the" (3): masked: future',
        '"␣cat" (4): masked: future',
    ]
    drawn = boxes(page, "bars")
    assert drawn[0]["h"] / drawn[1]["h"] == pytest.approx(
        head.weights[1, 0] / head.weights[1, 1], rel=0.1
    )
    fills = page.eval_on_selector_all(
        "g[class*=' key_chips_'] > *", "all => all.map(one => one.getAttribute('fill-opacity'))"
    )
    assert fills == ["1", "1", "0", "0", "0"]
    assert any(text.startswith('"␣cat" (1) attends most to') for text in texts(page))


def test_tooltips_are_exact_in_both_maps(open_case):
    page = open_case("repeated")
    head = causal(random_scores(5))
    for side in ("score", "weight"):
        for row, key in ((4, 1), (3, 0), (2, 2)):
            point_at(page, row, key, side)
            told = tooltip(page)
            assert told["score"] == printed(head.scores[row, key])
            assert told["weight"] == printed(head.weights[row, key])
            assert told["from (query)"].endswith(f"({row})")
            assert told["to (key)"].endswith(f"({key})")


def test_repeated_tokens_answer_with_their_own_positions(open_case):
    """dbt-labs/dbt-charts#13, xability/maidr#977, streamlit/streamlit#10932"""
    page = open_case("repeated")
    names = set()
    for key in (1, 4):
        point_at(page, 4, key)
        names.add(tooltip(page)["to (key)"])
    assert names == {'"␣cat" (1)', '"␣cat" (4)'}
    assert texts(page).count("␣cat") >= 8  # twice on four axes


def test_a_masked_cell_says_why(open_case):
    page = open_case("repeated")
    point_at(page, 1, 3)
    told = tooltip(page)
    assert told["score"] == told["weight"] == "masked: future"


def test_masked_undefined_zero_and_tiny_read_differently(open_case):
    """vega/vega-lite#3481, vega/vega#997, #4798"""
    page = open_case("looks", query=0)
    said = []
    for row, key in ((0, 2), (1, 1), (0, 0), (2, 0), (3, 0)):
        point_at(page, row, key)
        said.append(tooltip(page)["score"])
    assert said == [
        "masked: blocked by the model",
        "undefined",
        "0",
        "1e-12",
        "none: the row attends to nothing",
    ]


def test_a_click_on_a_row_gives_the_row_and_keeps_it(open_case):
    page = open_case("repeated")
    point_at(page, 2, 0)
    page.mouse.down()
    page.mouse.up()
    page.wait_for_function(f"document.querySelector('{PICKED}').innerText.includes('2')")
    assert picked(page) == [{"query": 2}]


def test_a_click_on_a_chip_reads_from_it(open_case):
    page = open_case("repeated")
    page.mouse.click(*centre(boxes(page, "key_chips")[3]))
    page.wait_for_function(f"document.querySelector('{PICKED}').innerText.includes('3')")
    assert picked(page) == [{"query": 3}]


def test_leaving_the_maps_goes_back_to_the_row_that_was_picked(open_case):
    page = open_case("repeated", query=3)
    point_at(page, 1, 0)
    page.mouse.move(*centre(boxes(page, "bars")[0]))
    page.mouse.move(boxes(page, "ground")[0]["x"] + 2, boxes(page, "ground")[0]["y"] + 2)
    assert outlined(page, boxes(page, "score_bands")[3])


def test_a_key_that_is_pointed_at_is_lit_everywhere(open_case):
    page = open_case("repeated")
    point_at(page, 4, 2)
    where = "all => all.map(one => one.getBoundingClientRect().x)"
    (frame,) = page.eval_on_selector_all("path[stroke-width='1.2'][stroke-opacity='1']", where)
    assert abs(frame - boxes(page, "key_chips")[2]["x"]) < 1.5
    bold = (
        "all => all.filter(t => t.getAttribute('font-weight') === 'bold').map(t => t.textContent)"
    )
    assert page.eval_on_selector_all("svg.marks text", bold).count("␣sat") == 3


def test_text_is_drawn_as_it_is(open_case):
    """huggingface/tokenizers#1937, streamlit/streamlit#152, datalab-to/chandra#92"""
    page = open_case("odd")
    odd = ["$x^2$", "<b>bold</b>", 'say "hi"', "c[0]", "it's", "שלום", "`code`", ":smile:", "\\n"]
    drawn = texts(page)
    for text in odd:
        assert drawn.count(text) >= 5, text  # a chip, and the axes of two maps and the bars
    assert page.locator(f"{CHART} b").count() == 0
    point_at(page, 9, 1)
    assert tooltip(page)["to (key)"] == '"<b>bold</b>" (1)'
    assert page.locator("#vg-tooltip-element b").count() == 0
    assert page.complaints == []


def test_two_texts_and_a_sink(open_case):
    page = open_case("cross", query=1)
    assert {"from", "to", "sink"} <= set(texts(page))
    page.mouse.click(*centre(boxes(page, "query_chips")[2]))
    page.wait_for_function(f"document.querySelector('{PICKED}').innerText.includes('2')")
    assert picked(page) == [{"query": 2}]
    page.mouse.move(*centre(boxes(page, "cells_sink")[0]))
    told = tooltip(page)
    parts = [float(told[name]) for name in ("sink, no token", "all weights of the row")]
    assert sum(parts) == pytest.approx(1, abs=1e-4) and parts[0] > 0


def test_bars_by_size_are_redrawn_with_their_names(open_case):
    page = open_case("repeated", order="size")
    point_at(page, 4, 0)
    weights = causal(random_scores(5)).weights[4]
    assert labels(page, "bars")[0].endswith(f": {printed(weights.max())}")
    heights = [bar["h"] for bar in boxes(page, "bars")]
    assert heights == sorted(heights, reverse=True)


@pytest.mark.parametrize(("width", "together"), [(1280, True), (700, False), (420, False)])
@pytest.mark.parametrize("case", ["repeated", "one", "large"])
def test_the_picture_follows_the_width_and_nothing_is_cut(open_case, case, width, together):
    page = open_case(case, width=width)
    scores, weights = boxes(page, "score_bands")[0], boxes(page, "weight_bands")[0]
    assert (abs(scores["y"] - weights["y"]) < 1) == together
    room = page.locator(CHART).bounding_box()
    for text in page.eval_on_selector_all(
        f"{CHART} svg.marks text", "all => all.map(one => one.getBoundingClientRect().right)"
    ):
        assert text <= room["x"] + room["width"] + 4
    assert max(box["x"] + box["w"] for box in boxes(page, "bars")) <= room["x"] + room["width"]
    cells = boxes(page, "cells")
    assert min(box["w"] for box in cells) >= 1 and min(box["h"] for box in cells) >= 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_resized_window_lays_the_picture_out_anew(open_case):
    page = open_case("repeated", width=1280)
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function(
        """() => document.querySelector("g[class*=' weight_bands_'] > *").getBoundingClientRect().y
        > document.querySelector("g[class*=' score_bands_'] > *").getBoundingClientRect().y + 50"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("case", ["repeated", "looks", "cross", "grid"])
def test_no_serious_accessibility_finding(open_case, case, scheme):
    page = open_case(case, scheme=scheme)
    found = Axe().run(page, context=CHART).response["violations"]
    assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []


def test_a_screen_reader_hears_every_row_once(open_case):
    page = open_case("repeated")
    said = labels(page, "score_bands")
    assert len(said) == 5 and said[0] == '"The" (0) attends most to "The" (0), weight 1'
    assert all(" attends most to " in sentence for sentence in said)
    assert labels(page, "weight_bands") == [None] * 5


def test_the_grid_gives_layer_and_head_and_names_both(open_case):
    page = open_case("grid")
    cells = boxes(page, "heads")
    assert len(cells) == 270 and max(cell["y"] + cell["h"] for cell in cells) < 500
    assert labels(page, "heads")[0] == "layer 0, head 0: 0"
    assert labels(page, "heads")[36] == "layer 4, head 0: no attention here"
    page.mouse.click(*centre(cells[9 * 12 + 5]))
    page.wait_for_function(f"document.querySelector('{PICKED}').innerText.includes('12')")
    assert json.loads(page.inner_text(PICKED)) == {"pick_head": [{"layer": 12, "head": 5}]}
