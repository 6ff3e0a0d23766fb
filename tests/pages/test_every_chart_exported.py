"""Every chart of every page can be taken along: a chart without an export fails here by its key.

And what is measured on a page comes with Python that measures it again.
"""

import numpy as np
import pytest
import streamlit as st

from attnviz import export
from dashboard.misconceptions import ENTRIES
from dashboard.session import backend
from dashboard.widgets import export_panel
from tests.export.numbers_in_files import read_numbers

TEXT = "red fox ran home red fox ran home"
LONG = ("red fox ran home " * 100).strip()
DATA = ("csv", "parquet", "npz", "json")

# {chart, by the start of its key: the export that holds it}
CHARTS = {
    "explore_": "explore",
    "grid_": "grid",
    "overview_": "overview",
    "row_profile": "row",
    "heads_": "heads",
    "toy_chart_": "toy",
    "real_chart_": "real",
    "compare_": "compare",
    "cmp_adds_chart": "cmp_adds",
    "cmp_adds_A_chart": "cmp_adds_A",
    "cmp_adds_B_chart": "cmp_adds_B",
    "matrix_picture": "matrix",
    "other_picture": "other_matrix",
    "if_row_chart": "if_row",
    "if_output_chart": "if_output",
    "if_contributions_chart": "if_contributions",
    "if_maps_chart": "if_maps",
    "sweep_grid_": "sweep",
    "claim_scores_chart": "claim_scores",
    "claim_weights_chart": "claim_weights",
    "claim_two_chart": "claim_two",
    "claim_use_chart": "claim_use",
    "claim_length_chart": "claim_length",
    "claim_share_chart": "claim_share",
    "claim_chosen_chart": "claim_chosen",
    "claim_deals_chart": "claim_deals",
    "claim_found_chart": "claim_found",
    "claim_rollout_chart": "claim_rollout",
    "claim_average_chart": "claim_average",
    "claim_named_chart": "claim_named",
    "claim_all_chart": "claim_all",
    "claim_bright_chart": "claim_bright",
    "claim_shifted_chart": "claim_shifted",
    "claim_mask_chart": "claim_mask",
    "claim_temperature_chart": "claim_temperature",
}

# {state: (page, what its link adds, what is clicked, how many charts it must have at least)}
STATES = {
    "explore": ("explore", {}, None, 2),
    "explore, a long text": ("explore", {"text": LONG, "query": "390"}, None, 4),
    "heads by a measure": ("heads", {"view": "measure"}, None, 1),
    "heads on random tokens": (
        "heads", {"view": "measure", "measure": "induction_repeated"}, None, 1,
    ),
    "heads by effect": ("heads", {"view": "measure", "measure": "effect"}, "heads_effect_start", 1),
    "heads as maps": ("heads", {"view": "maps"}, None, 1),
    "heads by a survey": ("heads", {"view": "measure", "survey": "FOLDER"}, None, 1),
    "how it works": ("how_it_works", {"depth": "minutes"}, None, 2),
    "compare, one text": ("compare", {"b_head": "1"}, None, 3),
    "compare, two texts": ("compare", {"b_text": "the cat sat", "b_head": "1"}, None, 4),
    "check a matrix": ("check_a_matrix", {}, None, 1),
    "what if": ("what_if", {}, "sweep_start", 6),
    "architectures": ("architectures", {}, None, 0),
} | {
    f"claim {key}": ("misconceptions", {"claim": key}, None, 2) for key in ENTRIES
} | {
    "claim, weights sought": (
        "misconceptions", {"claim": "different-behaviour"}, "adversary_start", 3,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from attnviz.survey import survey

    out = tmp_path_factory.mktemp("surveys") / "mine"
    survey("planted-circuit", [TEXT, "the cat sat on the mat and the cat ran"], out)
    return str(out)


@pytest.fixture
def drawn(monkeypatch):
    """(keys of the charts, {key of an export: its view}) of the last run of the page."""
    charts, views = [], {}

    def watch(name):
        plain = getattr(st, name)

        def call(*args, key=None, **options):
            charts.append(key)
            return plain(*args, key=key, **options)

        monkeypatch.setattr(st, name, call)

    watch("altair_chart")
    watch("vega_lite_chart")
    plain = export_panel.draw_export

    def draw(key, make, chosen, *, link=True):
        shown = chosen() if callable(chosen) else chosen
        views[key] = make(*shown, link="/?here" if link else "")
        plain(key, make, chosen, link=link)

    monkeypatch.setattr(export_panel, "draw_export", draw)
    return charts, views


def export_of(chart):
    starts = [start for start in CHARTS if str(chart).startswith(start)]
    assert starts, f"the chart {chart!r} is in no export: give it one, and name it in CHARTS"
    return CHARTS[max(starts, key=len)]


@pytest.mark.parametrize("state", STATES)
def test_every_chart_of_the_page_has_an_export(state, open_app, drawn, folder, monkeypatch):
    monkeypatch.setattr(backend, "FOLDERS_ALLOWED", True)
    charts, views = drawn
    page, link, button, least = STATES[state]
    link = {name: folder if value == "FOLDER" else value for name, value in link.items()}
    app = open_app(**{"model": "planted-circuit", "text": TEXT, "layer": "1", "head": "0", **link})
    charts.clear()
    views.clear()
    app.switch_page(f"../pages/{page}.py").run()
    if button:
        charts.clear()
        app.button(key=button).click().run()
    assert not app.exception and not app.error
    assert len(charts) == len(app.get("vega_lite_chart")) >= least
    for chart in charts:
        view = views[export_of(chart)]
        assert view.draw_chart and "svg" in view.kinds, chart
        assert view.chart.to_dict(validate=False)
    assert views
    for key, view in views.items():
        check(key, view)
        if view.provenance["place"]["kind"] == "table" and key != "architectures":
            run(key, view)


def check(key, view):
    """Numbers in every kind of file, the same when they are read back; where they come from; and
    Python."""
    assert view.title and view.finding and "py" in view.kinds, key
    kinds = [kind for kind in DATA if kind in view.kinds]
    assert kinds == list(DATA) or key == "architectures", key
    for kind in kinds:
        data = view.data(kind)
        saved, arrays = export.from_bytes(data, kind), read_numbers(data, kind)
        assert set(arrays) == set(view.arrays), (key, kind)
        for name, values in view.arrays.items():
            found = arrays[name]
            equal = np.array_equal(found, values, equal_nan=values.dtype.kind == "f")
            assert equal and found.dtype == values.dtype, (key, kind, name)
        made = saved.provenance
        assert made["versions"]["attnviz"] and (made.get("link") or "matrix" in key), key
        measured = key not in ("toy", "matrix", "other_matrix", "architectures")
        assert not measured or made["model"]["name"] == "planted-circuit", key


def run(key, view):
    """The script leaves the table of the view: its words, and every column of its numbers."""
    names = {}
    exec(compile(view.script, key, "exec"), names)
    columns = {name: values for name, values in view.arrays.items() if name != "row_places"}
    assert columns, key
    for name, values in columns.items():
        found = names["table"][name].to_numpy(float)
        np.testing.assert_allclose(found, values.astype(float), 1e-5, 1e-7, err_msg=f"{key} {name}")
    shown = view.table()
    assert list(names["table"]) == list(shown), key
    for name in set(shown) - set(columns):
        assert names["table"][name].astype(str).tolist() == shown[name].astype(str).tolist(), key


def test_a_second_matrix_is_exported_too(open_app, drawn):
    charts, views = drawn
    app = open_app(model="planted-circuit", text=TEXT)
    app.switch_page("../pages/check_a_matrix.py").run()
    assert {"matrix_picture", "other_picture"} <= set(charts)
    assert views["other_matrix"].arrays["matrix"].shape == (1, 3)
