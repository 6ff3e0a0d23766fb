"""How it works: every number is the library's own, settings travel, the model waits for a click."""

import json
import subprocess
import sys

import numpy as np
import pytest

import attnviz
from attnviz.charts.scales import short
from attnviz.heads.softmax import weigh
from dashboard.how_it_works import quick_check, real_steps
from dashboard.how_it_works.toy import FIELDS, PUBLISHED, START, Toy, write_toy
from dashboard.how_it_works.worked_example import SCORES, SENTENCE
from dashboard.session import backend
from dashboard.session.link_fields import read_fields
from tests.pages.conftest import APP

PAGE = "../pages/how_it_works.py"
PLANTED = {"model": "planted-circuit", "text": "red fox ran home red fox"}


@pytest.fixture
def page(open_app):
    """page(**link) opens the page as a visitor with that link, before any model is loaded."""

    def start(models=None, **link):
        app = open_app(models, model="nobody/nothing")  # the first page asks before it loads that
        app.query_params.clear()
        for name, value in (PLANTED | link).items():
            app.query_params[name] = value
        return app.switch_page(PAGE).run()

    return start


def said(app):
    return "\n".join(element.value for element in app.text)


def markdown(app):
    return "\n".join(element.value for element in app.markdown)


def headings(app):
    return [element.value for element in app.header]


def diagrams(app):
    """The charts of the page itself; the sidebar's chart of all heads is not one."""
    found = [element.proto for element in app.main.get("vega_lite_chart")]
    return [chart for chart in found if '"focus_word"' in chart.spec]


def lanes(chart):
    for layer in json.loads(chart.spec)["layer"]:
        if layer.get("name", "").startswith("cards"):
            return layer["data"]["values"]
    raise AssertionError("no lanes")


def cells(table):
    return table.value.astype(str).to_numpy().tolist()


def link(app):
    return {n: v if isinstance(v, str) else v[-1] for n, v in app.query_params.items()}


def softmax(scores):
    return weigh(np.float32(scores))[0]


def test_the_page_opens_at_the_scores_of_the_story(page):
    app = page()
    assert not app.exception and not app.error and not app.warning
    assert app.title[0].value == "How it works"
    (chart,) = diagrams(app)
    assert [lane["score"] for lane in lanes(chart)] == ["2.1", "0.4", "\u22120.7"]
    weights = softmax([2.1, 0.4, -0.7])
    assert [lane["weight"] for lane in lanes(chart)] == [f"{w:.3g}" for w in weights]
    assert "0.804 + simmers 0.147 + the 0.049 = 1.000" in said(app)
    assert "0.804" in chart.alt


def test_every_part_of_the_story_is_there(page):
    assert headings(page()) == [
        "Step by step",
        "Only differences count",
        "Three shares that are not softmax",
        "One row in words",
        "The same in a real model",
        "An analogy: mixing a paint",
        "Easily confused",
        "A short check",
        "Further reading",
    ]


def test_a_score_a_temperature_and_a_mask_change_every_number(page):
    app = page()
    app.slider(key="toy_score_1").set_value(1.4).run()
    app.slider(key="toy_temperature").set_value(2.0).run()
    app.checkbox(key="toy_mask_2").check().run()
    weights = softmax([2.1 / 2, 1.4 / 2])
    drawn = lanes(diagrams(app)[0])
    assert [lane["weight"] for lane in drawn] == [*(f"{w:.3g}" for w in weights), "0"]
    assert drawn[1]["score"] == "1.4" and drawn[1]["score / temperature"] == "0.7"
    assert drawn[2]["score"] == "masked (removed by you)"
    assert (
        link(app) | PLANTED
        == link(app)
        | {
            "toy": "2.1,1.4,-0.7",
            "temperature": "2",
            "masked": "2",
        }
        | PLANTED
    )
    app.button(key="toy_reset").click().run()
    assert [lane["score"] for lane in lanes(diagrams(app)[0])] == ["2.1", "0.4", "\u22120.7"]
    assert not {"toy", "temperature", "masked"} & set(link(app))


def test_a_link_brings_scores_temperature_masks_and_depth(page):
    app = page(toy="1,0,-5", temperature="0.5", masked="0", depth="technical", added="-2")
    assert not app.warning
    assert [app.slider(key=f"toy_score_{n}").value for n in range(3)] == [1, 0, -5]
    assert app.slider(key="toy_temperature").value == 0.5
    assert app.checkbox(key="toy_mask_0").value
    drawn = lanes(diagrams(app)[0])
    assert drawn[1]["score"] == "\u22122" and drawn[1]["score / temperature"] == "\u22124"
    assert "The same, technically" in headings(app)


def test_what_a_link_asks_for_in_vain_is_said_once_and_left_at_its_default(page):
    bad = {"toy": "1,2", "temperature": "0", "masked": "7", "depth": "**deep**", "added": "nan"}
    app = page(**bad, layer="x")
    assert len(app.warning) == 1
    notice = app.warning[0].value
    for name in (*bad, "layer"):
        assert f"{name} (" in notice
    assert "deep" not in notice
    assert [lane["score"] for lane in lanes(diagrams(app)[0])] == ["2.1", "0.4", "\u22120.7"]
    app.slider(key="toy_score_0").set_value(1.0).run()
    assert "toy (" not in "".join(element.value for element in app.warning)


@pytest.mark.parametrize(
    "raw", ["", "1,2,", "1;2;3", "1e1,0,0", "99,0,0", "inf,0,0", " 1,0,0", "1,0,0,0", "١,0,0"]
)
def test_scores_in_a_link_are_three_plain_numbers(raw):
    settings, ignored = read_fields({"toy": [raw]}, FIELDS)
    assert not settings and (raw == "" or [item.name for item in ignored] == ["toy"])


@pytest.mark.parametrize(
    "settings",
    [
        Toy(),
        Toy(scores=(5.0, -5.0, 0.0), added=-3.2, temperature=0.1, masked=(0, 1, 2)),
        Toy(depth="seconds", masked=(1,)),
    ],
)
def test_an_address_gives_the_settings_back(settings):
    given = {name: [value] for name, value in write_toy(settings).items()}
    found, ignored = read_fields(given, FIELDS)
    assert Toy(**found) == settings and not ignored


def test_scores_come_out_of_the_vectors():
    head = Toy(scores=(1.5, -2.0, 0.3)).head()
    assert head.stages["scaled"][0].tolist() == pytest.approx([1.5, -2.0, 0.3], abs=1e-6)
    assert (head.q @ head.k.T / 2)[0].tolist() == pytest.approx([1.5, -2.0, 0.3], abs=1e-6)


def test_settings_come_along_to_another_page_and_back(page):
    app = page(toy="1,0,-5", depth="technical")
    app.query_params.clear()  # as a click in the menu does
    app.switch_page("../pages/check_a_matrix.py").run()
    app.query_params.clear()
    app.switch_page(PAGE).run()
    assert app.slider(key="toy_score_2").value == -5
    assert link(app)["toy"] == "1,0,-5" and link(app)["depth"] == "technical"


def test_going_back_in_the_browser_counts(page):
    app = page()
    before = dict(app.query_params)
    app.slider(key="toy_temperature").set_value(3.0).run()
    app.query_params.clear()
    for name, value in before.items():
        app.query_params[name] = value
    app.run()
    assert app.slider(key="toy_temperature").value == 1.0


def test_following_a_candidate_lights_it_and_says_its_numbers(page):
    app = page()
    app.segmented_control(key="toy_follow").set_value("simmers").run()
    (chart,) = diagrams(app)
    params = {p["name"]: p.get("expr") for p in json.loads(chart.spec)["params"]}
    assert params["lit"].endswith(":1")
    assert "simmers: score 0.40, weight 0.147. So 14.7% of its value" in said(app)


def test_with_every_candidate_masked_the_page_says_that_nothing_is_attended_to(page):
    app = page(masked="0,1,2")
    assert not app.exception and not app.error
    assert "attends to nothing and its new vector is 0" in said(app)
    assert "Here nothing is shared out" in markdown(app)


def test_adding_a_number_to_every_score_moves_no_weight(page):
    app = page(added="4.5")
    table = cells(app.table[0])
    assert [row[2] for row in table] == [row[4] for row in table]
    assert [row[3] for row in table] == ["6.60", "4.90", "3.80"]
    assert "Largest change of a weight with +4.5" in said(app)


def test_the_published_shares_stand_beside_the_softmax_of_their_scores(page):
    app = page()
    table = cells(app.table[1])
    assert [row[1] for row in table] == [f"{w:.3f}" for w in softmax(PUBLISHED.other[0])]
    assert [row[2] for row in table] == ["0.75", "0.14", "0.11"]
    assert "about 1.01" in said(app) and "about 4.6" in said(app)
    links = [element.proto for element in app.get("page_link")]
    assert [proto.page for proto in links] == ["check-a-matrix"]


def test_the_example_in_words_has_computed_shares_and_three_cautions(page):
    app = page()
    weights = softmax(SCORES)
    assert [row[2] for row in cells(app.table[2])] == [f"{w:.3f}" for w in weights]
    assert [f"{w:.2f}" for w in weights] == ["0.59", "0.12", "0.29"]
    assert "Softmax turns these into 0.59, 0.12 and 0.29" in markdown(app)
    assert "0.59 is a share, not a choice" in markdown(app)
    assert "1.8 is not a probability" in markdown(app)
    assert "understood" in markdown(app)


def test_five_seconds_are_one_sentence_and_the_diagram(page):
    app = page(depth="seconds")
    assert headings(app) == ["The same in a real model"]
    assert len(diagrams(app)) == 1


def test_the_technical_depth_has_masks_heads_projection_and_groups(page):
    app = page(depth="technical")
    for term in ("Mask", "Many heads", "Output projection", "Grouped key/value heads"):
        assert f"**{term}.**" in markdown(app)
    assert "/ √4 = 2.10" in said(app)


def test_the_diagram_is_told_in_words(page):
    told = said(page())
    for part in ("1. Query.", "2. Scores.", "3. Weights.", "4. New vector.", "score 0.4", "0.0489"):
        assert part in told


def test_one_answer_is_right_and_every_wrong_one_is_given_its_reason(page):
    asked, answers = quick_check.question()
    assert sum(answer.right for answer in answers) == 1 and len(answers) == 4
    app = page()
    assert app.radio(key="toy_answer").value is None and not app.success
    for place, answer in enumerate(answers):
        app.radio(key="toy_answer").set_value(place).run()
        box = app.success if answer.right else app.info
        assert answer.why in box[0].value


def test_no_model_is_loaded_before_a_click(page, monkeypatch):
    app = page()

    def refuse(name, tell):
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(backend, "load_model", refuse)
    app.slider(key="toy_score_0").set_value(1.0).run()
    assert not app.error
    assert app.button(key="real_run").label == "Run Planted circuit"


def test_real_tokens_and_numbers_stand_beside_the_invented_ones(page):
    app = page(layer="1", head="0", query="5")
    app.button(key="real_run").click().run()
    assert not app.exception and not app.error
    head = attnviz.capture(attnviz.load("planted-circuit"), PLANTED["text"]).head(1, 0)
    keys = real_steps.heaviest(head, 5)
    real = lanes(diagrams(app)[1])
    assert [lane["token"] for lane in real[:3]] == [head.key_tokens[key].label for key in keys]
    assert [lane["weight"] for lane in real[:3]] == [short(head.weights[5, k]) for k in keys]
    table = app.dataframe[-1].value
    assert table["Real score"].tolist() == pytest.approx(head.scores[5, keys].tolist())
    assert table["Invented weight"].tolist() == pytest.approx(softmax(START).tolist())
    assert "Softmax ran over all 6 tokens" in said(app)


def test_the_keys_followed_can_be_chosen(page):
    app = page(layer="0", head="2", query="5")  # a head that looks at all alike
    app.button(key="real_run").click().run()
    picks = [app.selectbox(key=f"real_key_{number}") for number in range(3)]
    assert [pick.value for pick in picks] == [0, 1, 2]
    assert not {picks[0].options[place][0] for place in range(4)} & {"1", "2"}
    picks[0].set_value(5).run()
    drawn = lanes(diagrams(app)[1])
    assert [lane["token"] for lane in drawn] == ["␣red", "␣fox", "␣red", "3 others"]
    assert [lane["weight"] for lane in drawn] == ["0.167"] * 3 + ["0.5"]


def test_the_sentence_of_the_example_is_read_by_the_model(page, smollm2):
    app = page({"smollm2-135m": smollm2, "planted-circuit": attnviz.load("planted-circuit")})
    app.selectbox(key="pick_model").set_value("smollm2-135m").run()
    app.button(key="real_run").click().run()
    app.segmented_control(key="real_text").set_value("example").run()
    assert not app.error and not app.exception
    head = attnviz.capture(smollm2, SENTENCE).head(17, 5)
    row, keys = real_steps.example_places(head)
    assert [head.key_tokens[key].text for key in keys] == [" bird", " left", " branch"]
    real = lanes(diagrams(app)[1])
    assert [lane["weight"] for lane in real[:3]] == [
        short(weight) for weight in head.weights[row, keys]
    ]


def test_markup_in_a_token_is_shown_as_it_is(page):
    app = page(text="**a** $x$ <b>z</b>", layer="1", head="0")
    app.button(key="real_run").click().run()
    assert not app.exception
    kinds = (app.markdown, app.caption, app.info, app.warning)
    assert not any("<b>" in element.value for kind in kinds for element in kind)


def test_torch_is_not_imported_to_draw_the_page():
    script = f"""
import sys
from streamlit.testing.v1 import AppTest
from dashboard.session import page_capture
page_capture.show_capture = lambda selection: None
app = AppTest.from_file({APP!r}, default_timeout=60).run()
app.switch_page({PAGE!r}).run()
assert app.title[0].value == "How it works" and not app.exception and not app.error
assert "torch" not in sys.modules and "transformers" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
