"""The page that checks a matrix: examples, pasted text, files, two matrices, the model's heads."""

import io
import json

import numpy as np
import pytest

import attnviz
from attnviz.matrix_check import EXAMPLES, KINDS
from dashboard.session import backend

PAGE = "../pages/check_a_matrix.py"


@pytest.fixture
def page(open_app):
    """page(**link) opens the page as a visitor with that link."""

    def start(**link):
        app = open_app(model="planted-circuit", text="red fox ran home red fox", **link)
        return app.switch_page(PAGE).run()

    return start


def said(app):
    return "\n".join(element.value for element in app.text)


def markup(app):
    kinds = (app.markdown, app.caption, app.title, app.header, app.error, app.warning, app.info)
    return "\n".join(element.value for kind in kinds for element in kind)


def headings(app):
    return [element.value for element in app.header]


def quoted(app):
    return app.code[0].value


def charts(app):
    return [element.proto for element in app.get("vega_lite_chart")]


def paste(app, text, other=None):
    app.segmented_control(key="matrix_way").set_value("paste").run()
    app.text_area(key="matrix_text").set_value(text)
    if other is not None:
        app.toggle(key="matrix_compare").set_value(True).run()
        app.text_area(key="other_text").set_value(other)
    return app.run()


def upload(app, name, data):
    app.segmented_control(key="matrix_way").set_value("file").run()
    app.file_uploader(key="matrix_file").set_value((name, data, "application/octet-stream"))
    return app.run()


def test_the_page_opens_at_the_published_triple_with_its_two_temperatures(page):
    app = page()
    assert not app.exception and not app.error
    assert app.title[0].value == "Check a matrix"
    assert headings(app)[0] == KINDS["rounded_weights"]
    assert "about 1.01" in quoted(app) and "about 4.6" in quoted(app)
    assert "published diagram" in said(app)
    assert len(charts(app)) == 2


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_drawn_judged_and_labelled(page, name):
    app = page()
    app.selectbox(key="matrix_example").set_value(name).run()
    assert not app.exception and not app.error
    example = EXAMPLES[name]
    verdict = attnviz.check_matrix(example.matrix, example.other)
    assert headings(app)[0] == KINDS[verdict.kind]
    assert quoted(app) == verdict.verdict
    assert example.really_is in said(app)
    for chart in charts(app):
        assert chart.alt
    assert verdict.verdict in charts(app)[0].alt
    assert all(line in said(app) for line in verdict.cannot_tell)


def test_row_sums_are_drawn_for_weights_and_not_for_scores(page):
    app = page()
    app.selectbox(key="matrix_example").set_value("weights").run()
    assert "row sum" in charts(app)[0].spec
    app.selectbox(key="matrix_example").set_value("scores").run()
    assert "row sum" not in charts(app)[0].spec


def test_pasted_text_is_judged(page):
    app = paste(page(), "the cat\n0.8 0.2\n0.3 0.7")
    assert headings(app)[0] == KINDS["rounded_weights"]
    assert "The first row was read as labels." in said(app)


def test_two_pasted_matrices_are_compared(page):
    app = paste(page(), "2.1 0.4 -0.7", "0.804 0.147 0.049")
    assert "temperature 1," in quoted(app)


def test_before_anything_is_given_the_page_says_what_to_do(page):
    app = page()
    app.segmented_control(key="matrix_way").set_value("paste").run()
    assert "Give a matrix to check" in said(app)
    assert not app.error and not charts(app)
    app.segmented_control(key="matrix_way").set_value("file").run()
    assert "Give a matrix to check" in said(app)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello", "not numbers"),
        ("1 2\n3", "different lengths"),
        ("[[[1, 2], [3, 4]]]x", "more than one matrix"),
        ("0.5", "nothing to compare"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(page, text, words):
    app = paste(page(), text)
    assert not app.exception
    assert app.error[0].value == "This input cannot be used"
    assert words in said(app)


def test_nothing_of_the_readers_is_read_as_markup(page):
    evil = "**bold** [x](http://evil.example) <b>hi</b> $x$ :red[r]"
    app = paste(page(), f"1 2\n3 {evil.replace(' ', '')}")
    assert "evil" in said(app) and "evil" not in markup(app)
    buffer = io.BytesIO()
    np.savez(buffer, **{"**evil**": np.eye(3)})
    app = upload(page(), "a.npz", buffer.getvalue())
    assert "**evil**" in said(app) and "evil" not in markup(app)
    assert not any("evil" in chart.spec or "evil" in chart.alt for chart in charts(app))


def test_a_file_of_many_heads_asks_which_and_does_not_average(page):
    buffer = io.BytesIO()
    stack = np.stack([np.full((2, 3, 3), 1 / 3), np.full((2, 3, 3), -2.5)])
    np.savez(buffer, heads=stack, more=np.eye(4))
    app = upload(page(), "heads.npz", buffer.getvalue())
    assert app.selectbox(key="matrix_choice").options == ["heads", "more"]
    assert app.selectbox(key="matrix_place").options[0] == "heads: 0, 0"
    assert headings(app)[0] == KINDS["uniform_weights"]
    app.selectbox(key="matrix_place").set_value("heads: 1, 1").run()
    assert headings(app)[0] == KINDS["scores"]


def test_a_pickle_is_refused(page):
    import pickle

    app = upload(page(), "w.npy", pickle.dumps({"a": 1}))
    assert not app.exception
    assert app.error[0].value == "This input cannot be used"


def test_a_large_matrix_is_drawn_as_one_image(page):
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(200), 200).astype(np.float32)
    buffer = io.BytesIO()
    np.save(buffer, weights)
    app = upload(page(), "w.npy", buffer.getvalue())
    spec = json.loads(charts(app)[0].spec)
    assert "image" in json.dumps(spec)
    assert headings(app)[0] == KINDS["weights"]


def test_the_head_of_the_models_own_is_named(page):
    cap = attnviz.capture(attnviz.load("planted-circuit"), "red fox ran home red fox")
    text = "\n".join(" ".join(f"{w:.3f}" for w in row) for row in cap.head(1, 0).weights)
    app = paste(page(), text)
    app.toggle(key="matrix_match").set_value(True).run()
    assert not app.exception
    assert "It matches the weights of decoder layer 1, head 0" in said(app)


def test_a_matrix_that_is_not_the_models_matches_none(page):
    app = page()
    app.toggle(key="matrix_match").set_value(True).run()
    assert "It matches none of the 6 heads" in said(app)


def test_no_model_is_loaded_before_it_is_asked_for(page, monkeypatch):
    def refuse(name, tell):
        raise AssertionError("a model was loaded")

    app = page()
    monkeypatch.setattr(backend, "load_model", refuse)
    backend.store.clear()
    app.run()
    assert not app.exception and not app.error
