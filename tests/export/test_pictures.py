"""Pictures and pages of a view: what is drawn, and that nothing in a text can become more."""

import base64
import io
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from html import unescape

import numpy as np
import pytest
from PIL import Image

import attnviz
from attnviz import export
from attnviz.export import still_pictures
from attnviz.export.one_head_view import bare_view
from attnviz.export.vector_cells import with_paths
from tests import tiny
from tests.fixtures_tokenizers import byte_level_bpe

MARKUP = "<img src=x onerror=alert(1)> a<b<c </script><s>"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def marked():
    """A view of a text that is markup."""
    bpe = byte_level_bpe()
    model = attnviz.wrap(tiny.hf("GPT2LMHeadModel", vocab_size=len(bpe)), bpe, name="<b>tiny</b>")
    return export.head_view(attnviz.capture(model, MARKUP), layer=1, head=2)


def test_the_svg_holds_the_text_as_text_and_nothing_of_it_as_an_element(marked):
    """huggingface/tokenizers#1937, streamlit/streamlit#152, datalab-to/chandra#92"""
    root = ElementTree.fromstring(marked.data("svg"))
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {
        "svg", "g", "path", "rect", "text", "tspan", "image", "line", "defs", "clipPath", "title",
        "desc", "metadata", "linearGradient", "stop", "style",
    }  # fmt: skip
    for element in root.iter():
        assert not any(name.lower().startswith("on") for name in element.attrib)
        for name, value in element.attrib.items():
            if name.endswith("href"):
                assert value.startswith(("data:image/png;base64,", "#"))
    words = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert any(word.startswith("<") for word in words)
    assert root.find(f"{SVG}desc").text == marked.finding
    assert root.attrib["role"] == "img"


def test_the_svg_has_every_token_in_text_order(marked):
    """dbt-labs/dbt-charts#13, vega/vega-lite#3566: labels neither merged nor sorted."""
    model = attnviz.load("planted-circuit")
    view = export.head_view(attnviz.capture(model, "red fox red fox"), layer=1, head=0)
    root = ElementTree.fromstring(view.data("svg"))
    words = [element.text for element in root.iter(f"{SVG}text")]
    labels = view.axes[1].columns["key_label"]
    found = [words[i : i + len(labels)] for i in range(len(words))]
    assert found.count(labels) == 4  # on two sides of two maps


def test_the_cells_of_the_svg_are_shapes_of_the_same_colours(marked):
    """Scaled-up pictures are blurred outside browsers, and forbidden by strict policies."""
    import vl_convert

    before = still_pictures.draw_specification(still_pictures.make_specification(marked), ["svg"])[
        "svg"
    ]
    after = with_paths(before)
    assert after.count("<image") < before.count("<image") and "<image" in after  # the hatch stays
    rasters = [
        np.asarray(Image.open(io.BytesIO(vl_convert.svg_to_png(svg, scale=2))).convert("RGB"))
        for svg in (before, after)
    ]
    apart = np.abs(rasters[0].astype(int) - rasters[1]).max(axis=-1) > 8
    assert apart.mean() < 1e-3
    assert (rasters[0] != 255).mean() > 0.05  # there is something to compare


def test_the_png_is_a_picture_of_this_head():
    model = attnviz.load("planted-circuit")
    capture = attnviz.capture(model, "red fox ran home red fox ran home")
    drawn = []
    for head in (0, 1):
        picture = Image.open(io.BytesIO(export.head_view(capture, 0, head).data("png")))
        picture.load()
        assert picture.width > 2 * 1000 and picture.height > 2 * 300
        drawn.append(np.asarray(picture.convert("RGB").resize((200, 120)), float))
    assert (drawn[0][0, 0] == 255).all()  # on white
    assert np.abs(drawn[0] - drawn[1]).mean() > 1
    colours = len({tuple(pixel) for pixel in drawn[0].reshape(-1, 3)})
    assert colours > 50


def test_the_texts_of_the_png_leave_its_pixels_as_they_were_drawn(marked):
    drawn = still_pictures.draw_specification(still_pictures.make_specification(marked), ["png"])
    before = Image.open(io.BytesIO(base64.b64decode(drawn["png"])))
    after = Image.open(io.BytesIO(marked.data("png")))
    assert (before.mode, before.size, before.info["dpi"]) == (
        after.mode,
        after.size,
        after.info["dpi"],
    )
    assert np.array_equal(np.asarray(before), np.asarray(after))
    assert (after.text["Title"], after.text["Description"]) == (marked.title, marked.finding)


def test_the_picture_does_not_depend_on_a_window():
    model = attnviz.load("planted-circuit")
    view = export.head_view(attnviz.capture(model, "red fox"), layer=0, head=0)
    assert "windowSize" in str(still_pictures.make_specification(view, still=False))
    assert "windowSize" not in str(still_pictures.make_specification(view))


def test_the_page_is_whole_and_asks_for_nothing(marked):
    """jessevig/bertviz#53, #90; MaartenGr/BERTopic#764"""
    page = marked.data("html").decode()
    assert not re.search(r"<(link|iframe|object|embed)\b|<script[^>]*\bsrc=", page)
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy.split("style-src")[0]
    before_scripts = page[: page.index('<script type="application/json"')]
    assert "<img" not in before_scripts and "<b>tiny" not in before_scripts
    assert "&lt;img src=x onerror=alert(1)&gt;" in before_scripts
    for name in ("attnviz-chart", "attnviz-provenance"):
        data = page.split(f'id="{name}">')[1].split("</script>")[0]
        assert "\\u003c" in data and "<" not in data


def test_the_chart_of_a_page_is_as_in_the_notebook(marked):
    bundle = marked._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert marked.finding in bundle["text/plain"]
    page = unescape(re.search(r'srcdoc="([^"]*)"', bundle["text/html"]).group(1))
    assert page.encode() == marked.data("html")
    assert 'sandbox="allow-scripts"' in bundle["text/html"]


def test_a_head_draws_itself():
    model = attnviz.load("planted-circuit")
    head = attnviz.capture(model, "red fox red fox").head(1, 0)
    found = head._repr_mimebundle_()
    assert "<iframe" in found["text/html"]
    assert "layer 1, head 0" in found["text/plain"]


def test_some_rows_of_a_head_draw_themselves_too():
    head = attnviz.capture(attnviz.load("planted-circuit"), "red fox red fox").head(1, 0)
    found = head.rows(2, 4)._repr_mimebundle_()
    assert "<iframe" in found["text/html"]
    assert (
        "rows 2 to 3 and keys 0 to 4 of 5 and 5; the picture shows rows 0 to 4"
        in (found["text/plain"])
    )
    view = bare_view(head.rows(2, 4))
    assert view.arrays["query_places"].tolist() == [2, 3]
    assert np.array_equal(view.arrays["weights"], head.weights[2:4])
    assert view.finding == bare_view(head, query=3).finding != bare_view(head).finding
    assert len(view.table()) == 5


def test_without_the_drawing_package_the_numbers_are_named(monkeypatch, marked):
    monkeypatch.setattr(still_pictures, "find_spec", lambda name: None)
    for kind in ("svg", "png", "html"):
        with pytest.raises(attnviz.AttnvizError, match="vl-convert-python.*CSV, Parquet, NPZ"):
            marked.data(kind)
    assert marked.data("npz")


def test_a_drawing_that_fails_says_so(monkeypatch, marked):
    with pytest.raises(attnviz.AttnvizError, match="could not be drawn"):
        still_pictures.draw_specification({"mark": "no such mark"}, ["svg"])

    def forever(*args, **options):
        raise subprocess.TimeoutExpired("draw", options["timeout"])

    monkeypatch.setattr(still_pictures.subprocess, "run", forever)
    with pytest.raises(attnviz.TooLarge, match="not finished"):
        marked.data("svg")


def test_a_picture_that_holds_too_much_is_refused(monkeypatch, marked):
    monkeypatch.setattr(still_pictures, "MOST_BYTES", 1000)
    with pytest.raises(attnviz.TooLarge, match="at most|At most"):
        marked.data("svg")


def test_nothing_is_fetched_while_drawing():
    away = {
        "data": {"url": "http://192.0.2.1/x.json"},
        "mark": "point",
        "encoding": {"x": {"field": "a", "type": "quantitative"}},
    }
    with pytest.raises(attnviz.AttnvizError, match="could not be drawn"):
        still_pictures.draw_specification(away, ["svg"])


def test_names_of_files_are_safe(marked):
    assert marked.stem == "attnviz-b-L1H2"
    for kind in export.KINDS:
        assert re.fullmatch(r"[A-Za-z0-9.-]+", f"{marked.stem}.{kind}")
