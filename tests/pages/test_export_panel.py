"""The export panel on the pages: nothing until it is opened, then exactly what is shown."""

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import streamlit as st

import attnviz
from attnviz import export
from attnviz.detectors import effect, profile, repeated
from attnviz.experiments.invented_head import follow_keys
from dashboard.explore import views
from dashboard.session import backend
from tests.export.numbers_in_files import read_numbers

TEXT = "red fox ran home red fox ran home"
PLANTED = {"model": "planted-circuit"}


@pytest.fixture
def files(monkeypatch):
    """{widget key: (contents, file name)} of the download buttons drawn last; contents are made
    as a click makes them: later, in a thread, without Streamlit."""
    found = {}

    def button(label, *, data, file_name, mime, on_click, key, help):
        assert callable(data) and on_click == "ignore"
        found[key] = (data, file_name)

    monkeypatch.setattr(st, "download_button", button)
    return found


def opened(app, key):
    app.session_state[f"{key}_export"] = True
    app.run()
    assert not app.exception and not app.error
    return app


def addresses(app):
    return [c.value for c in app.code if c.value.startswith("/?")]


def read(files, key, kind):
    """What attnviz reads of the file, with its numbers, whatever the kind."""
    make, name = files[f"{key}_export_{kind}"]
    assert name.endswith(f".{kind}")
    data = make()
    return Read(export.from_bytes(data, kind), read_numbers(data, kind))


class Read:
    def __init__(self, saved, arrays):
        self.provenance, self.again, self.arrays = saved.provenance, saved.again, arrays


def test_nothing_is_made_before_the_panel_is_open(open_app, files, monkeypatch):
    def never(*args, **options):
        raise AssertionError("made without being asked for")

    monkeypatch.setattr(views, "view_head", never)
    app = open_app(**PLANTED)
    assert not app.exception and not app.error and files == {}


def test_explore_exports_the_head_that_is_shown(open_app, files):
    link = {**PLANTED, "text": TEXT, "layer": "0", "head": "2", "query": "3", "stage": "dot"}
    opened(open_app(**link), "explore")
    assert {key.rsplit("_", 1)[1] for key in files} == set(export.KINDS)
    saved = read(files, "explore", "npz")
    head = attnviz.capture(attnviz.load("planted-circuit"), TEXT).head(0, 2)
    assert np.array_equal(saved.arrays["weights"], head.weights)
    assert np.array_equal(saved.arrays["stage"], head.stages["dot"])
    place = saved.provenance["place"]
    assert (place["layer"], place["head"], place["query"]) == (0, 2, 3)
    assert saved.again().identical
    assert files["explore_export_csv"][1] == "attnviz-planted-circuit-L0H2.csv"


def test_the_panel_follows_the_reader(open_app, files):
    app = opened(open_app(**PLANTED, text=TEXT, layer="1", head="0", query="8"), "explore")
    app.selectbox(key="pick_query").select(4).run()
    app = opened(app, "explore")
    assert read(files, "explore", "json").provenance["place"]["query"] == 4


def test_the_link_has_the_whole_state_and_opens_it(open_app, files):
    first = {**PLANTED, "text": "a&b=c #d +e%20 日本 😀", "query": "2", "order": "size"}
    app = opened(open_app(**first), "explore")
    address = addresses(app)[-1]
    found = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert found == {**first, "layer": "1", "head": "0"}
    assert read(files, "explore", "csv").provenance["link"] == address
    again = opened(open_app(**found), "explore")
    assert addresses(again)[-1] == address


def test_a_bare_address_is_spelt_out(open_app, files, smollm2):
    app = opened(open_app({"smollm2-135m": smollm2}), "explore")
    address = addresses(app)[-1]
    query = parse_qs(urlsplit(address).query)
    assert query["model"] == ["smollm2-135m"] and query["text"][0].startswith("Our lighthouse")
    assert (query["layer"], query["head"], query["query"]) == (["17"], ["5"], ["18"])


def test_the_text_and_the_script_are_shown_as_they_are(open_app, files):
    text = "**a** <b>x</b> `c` $d$ :sunglasses:"
    app = opened(open_app(**PLANTED, text=text), "explore")
    script = next(c.value for c in app.code if c.value.startswith("# Made with attnviz"))
    names: dict[str, object] = {}
    exec(script, names)
    head = attnviz.capture(attnviz.load("planted-circuit"), text).head(1, 0)
    assert np.array_equal(names["weights"], head.weights)
    for element in [*app.markdown, *app.caption]:
        assert "<b>x" not in element.value


def test_what_if_exports_the_changed_head_with_its_what_if(open_app, files):
    app = open_app(**PLANTED, text=TEXT)
    app.switch_page("../pages/what_if.py").run()
    app = opened(app, "what_if")
    saved = read(files, "what_if", "parquet")
    (change,) = saved.provenance["interventions"]
    assert change["kind"] == "HideKeys" and change["layer"] == 1
    assert not np.array_equal(saved.arrays["weights"], saved.arrays["baseline_weights"])
    assert saved.again().identical
    row = read(opened_files(app, files, "if_row"), "if_row", "csv")
    assert row.provenance["interventions"] == [change]
    assert {"Before", "After", "Difference"} <= set(row.arrays)


def opened_files(app, files, key):
    files.clear()
    opened(app, key)
    return files


def test_heads_exports_every_measure(open_app, files):
    app = open_app(**PLANTED, text=TEXT, measure="induction")
    app.switch_page("../pages/heads.py").run()
    opened(app, "heads")
    saved = read(files, "heads", "csv")
    assert saved.arrays["induction"].shape == (2, 3) and saved.again().identical
    assert saved.provenance["place"]["measure"] == "induction"
    assert b"<svg" in files["heads_export_svg"][0]()


@pytest.mark.parametrize("view", ["measure", "maps"])
def test_heads_on_random_tokens_export_what_is_drawn(view, open_app, files):
    app = open_app(**PLANTED, text=TEXT, measure="induction_repeated", view=view)
    app.switch_page("../pages/heads.py").run()
    opened(app, "heads")
    saved = read(files, "heads", "npz")
    model = attnviz.load("planted-circuit")
    found = profile(repeated(model), measures=["induction"])
    assert np.array_equal(
        saved.arrays["Induction, random tokens"],
        found.values["induction"].ravel(),
        equal_nan=True,
    )
    assert np.array_equal(saved.arrays["Null"], found.null("induction").ravel(), equal_nan=True)
    assert saved.arrays["Layer"].tolist() == [0, 0, 0, 1, 1, 1]
    assert saved.provenance["place"]["figure"] == "induction_repeated"
    assert saved.provenance["finding"].startswith("Induction, random tokens: layer 1, head 0")
    assert "input" not in saved.provenance  # the reader's text is not what was measured


def test_the_effect_is_exported_once_it_is_measured(open_app, files):
    app = open_app(**PLANTED, text=TEXT, measure="effect")
    app.switch_page("../pages/heads.py").run()
    app.session_state["heads_export"] = True
    app.run()
    assert files == {} and not app.error and not app.exception
    app.button(key="heads_effect_start").click().run()
    opened(app, "heads")
    saved = read(files, "heads", "csv")
    model = attnviz.load("planted-circuit")
    expected = effect(model, attnviz.capture(model, TEXT), "decoder", query=8)
    shown = saved.arrays["Effect on the output"]
    assert np.allclose(shown, expected.ravel(), equal_nan=True) and shown.max() > 0
    assert saved.provenance["input"]["asked"]["text"] == TEXT
    assert saved.provenance["finding"].startswith("Effect on the output: ")


def test_a_checked_matrix_is_exported_without_a_link(open_app, files):
    app = open_app(**PLANTED)
    app.switch_page("../pages/check_a_matrix.py").run()
    opened(app, "matrix")
    saved = read(files, "matrix", "json")
    assert saved.arrays["matrix"].ndim == 2 and "weights" in saved.provenance["finding"]
    assert "link" not in saved.provenance and addresses(app) == []
    assert files["matrix_export_png"][0]().startswith(b"\x89PNG")


def test_a_misconception_exports_its_picture_and_its_numbers(open_app, files):
    app = open_app(**PLANTED, text=TEXT, claim="mask")
    app.switch_page("../pages/misconceptions.py").run()
    name = "claim_mask"
    opened(app, name)
    saved = read(files, name, "npz")
    assert saved.arrays and saved.provenance["place"]["figure"] == name
    assert saved.provenance["model"]["name"] == "planted-circuit"
    assert b"<svg" in files[f"{name}_export_svg"][0]()


def test_a_file_is_made_again_where_the_capture_is_gone(open_app, files):
    app = opened(open_app(**PLANTED, text=TEXT), "explore")
    make, _ = files["explore_export_npz"]
    before = make()
    backend.store().models.release("planted-circuit")
    assert make() == before
    assert not app.exception


def test_how_it_works_exports_the_invented_and_the_real_steps(open_app, files):
    app = open_app(**PLANTED, text=TEXT, depth="minutes")
    app.switch_page("../pages/how_it_works.py").run()
    opened(app, "toy")
    saved = read(files, "toy", "csv")
    assert saved.arrays["Weight"].sum() == pytest.approx(1, abs=1e-6)
    assert "model" not in saved.provenance and "scores" in saved.provenance["place"]
    assert b"<svg" in files["toy_export_html"][0]()
    opened(app, "real")
    saved = read(files, "real", "parquet")
    place, keys = saved.provenance["place"], saved.arrays["Key"]
    head = backend.get_head(backend.Ask("planted-circuit", TEXT), "decoder", place["layer"], 0)
    assert place["head"] == 0 and len(keys) == 3
    assert np.array_equal(saved.arrays["Weight"], head.weights[place["query"], keys])


def test_the_sweep_over_heads_is_exported(open_app, files):
    app = open_app(**PLANTED, text=TEXT)
    app.switch_page("../pages/what_if.py").run()
    app.button(key="sweep_start").click().run()
    opened(app, "sweep")
    saved = read(files, "sweep", "json")
    assert saved.arrays["Change"].shape == (6,) and (np.diff(saved.arrays["Change"]) <= 0).all()


def test_the_steps_of_one_row_work_out_no_other():
    head = attnviz.capture(attnviz.load("planted-circuit"), TEXT).head(1, 0)
    table = follow_keys(head, 3, [0, 3, 5])
    assert "stages" not in vars(head)  # of 8,192 tokens, all rows are 256 MB a stage
    np.testing.assert_allclose(table["Weight"], head.weights[3, [0, 3, 5]], atol=1e-6)
    assert table["Score"].isna().tolist() == [False, False, True]
