import json

import altair as alt
import numpy as np
import pytest
from altair.utils.schemapi import SchemaValidationError

from attnviz import charts
from attnviz.charts import packing
from attnviz.errors import BadInput
from attnviz.heads.contributions import MEASURES
from tests.charts.heads import Read, causal, head_of, random_scores, tokens

VISUALS = {
    "explore": charts.explore,
    "pair": charts.pair,
    "chips": charts.chips,
    "bars": charts.bars,
}


def number(read, name, row, key):
    return packing.decode(packing.unpack(read.params[name][row], key))


def token_axes(read, channel, kind):
    axes = [unit["encoding"].get(channel, {}).get("axis") or {} for unit in read.units]
    return [axis for axis in axes if f"{kind}_labels" in (axis.get("labelExpr") or "")]


def test_repeated_tokens_keep_their_places():
    """dbt-labs/dbt-charts#13, xability/maidr#977, streamlit/streamlit#10932"""
    labels = ["The", "␣cat", "␣sat", "␣the", "␣cat"]
    scores = np.arange(25.0).reshape(5, 5)
    read = Read(charts.explore(head_of(scores, labels), query=0))
    assert read.params["key_labels"] == labels
    assert read.params["key_positions"] == [0, 1, 2, 3, 4]
    drawn = read.map_of((5, 5))
    assert len(np.unique(drawn.reshape(25, 4), axis=0)) == 25
    shown = [[number(read, "row_scores", row, key) for key in range(5)] for row in range(5)]
    assert shown == pytest.approx(scores) or shown[0][0] == "0"
    assert [row[1:] for row in shown] == scores[:, 1:].tolist()


def test_positions_are_numbers_in_every_layer():
    """dbt-labs/dbt-charts#13, vega/vega-lite#3566"""
    read = Read(charts.explore(causal(random_scores(12)), query=5))
    assert read.params["query_positions"] == list(range(12))
    scales = [
        unit["encoding"][channel]["scale"]
        for unit in read.units
        for channel, kind in (("x", "key"), ("y", "query"))
        if f"{kind}_labels"
        in (unit["encoding"].get(channel, {}).get("axis") or {}).get("labelExpr", "")
    ]
    assert len(scales) >= 8
    for scale in scales:
        assert scale["domain"] == [-0.5, 11.5] and scale["nice"] is False


def test_axes_say_which_token_asks_and_which_answers():
    """poloclub/transformer-explainer#19, jessevig/bertviz#5, TransformerLensOrg/CircuitsVis#56"""
    head = causal(random_scores(4))
    read = Read(charts.pair(head, query=0))
    across = {axis.get("title") for axis in token_axes(read, "x", "key")}
    down = {axis.get("title") for axis in token_axes(read, "y", "query")}
    assert across == {"to (key)", None} and down == {"from (query)", None}
    assert number(read, "row_weights", 2, 0) == pytest.approx(float(f"{head.weights[2, 0]:.4g}"))
    opaque = read.map_of((4, 4), 1)[..., 3] > 0
    assert (opaque == np.tril(np.ones((4, 4), bool))).all()  # nothing above the diagonal


def test_user_text_is_in_values_and_nowhere_else():
    """vega/altair#3599, #1772, #888"""
    labels = ["a.b", "c[0]", "it's", "L0.H1", 'say"', "$x$", "<b>", "\\", "datum.i"]
    read = Read(charts.explore(causal(random_scores(9), labels), query=3))
    for name in ("query_labels", "key_labels", "row_text"):
        read.spec["params"] = [p for p in read.spec["params"] if p["name"] != name]
    rest = json.dumps(read.spec, ensure_ascii=False)
    assert read.params["key_labels"] == labels
    for odd in ("a.b", "c[0]", "it's", "L0.H1", "say", "$x$", "<b>"):
        assert odd not in rest


def test_masked_undefined_zero_and_tiny_are_four_things():
    """vega/vega-lite#3481, vega/vega#997, #4798"""
    scores = np.array([[0.0, 1.0, 1.0], [1.0, np.nan, 1.0], [1e-12, 1.0, 1.0]])
    allowed = np.array([[1, 1, 0], [1, 1, 1], [1, 1, 1]], bool)
    read = Read(charts.pair(head_of(scores, allowed=allowed), query=0))
    said = [number(read, "row_scores", *cell) for cell in ((0, 2), (1, 1), (0, 0), (2, 0))]
    assert said == ["masked: blocked by the model", "undefined", "0", pytest.approx(1e-12)]
    drawn = read.map_of((3, 3))
    assert drawn[0, 2, 3] == 0
    assert drawn[1, 1].tolist() == [214, 51, 132, 255]
    assert "undefined" in read.titles()


@pytest.mark.parametrize("count", [71, 128, 512])
def test_no_row_limit_is_met_and_none_is_lifted(count):
    """vega/altair#611, streamlit/streamlit#3179, opengeos/streamlit-map-template#11"""
    before = alt.data_transformers.active, dict(alt.data_transformers.options)
    size = len(charts.explore(causal(random_scores(count)), query=count // 2).to_json(indent=None))
    assert size < 800_000
    assert (alt.data_transformers.active, dict(alt.data_transformers.options)) == before


@pytest.mark.parametrize(("count", "most"), [(64, 80_000), (128, 250_000), (256, 800_000)])
@pytest.mark.parametrize("measure", ["weight", "contribution_norm", "signed_share"])
def test_a_picture_fits_its_budget_even_where_nothing_is_masked(count, most, measure):
    head = head_of(random_scores(count), v=random_scores(count, 4, 1), w_o=random_scores(4, 8, 2))
    chart = charts.explore(head, query=count // 2, measure=measure)
    assert len(chart.to_json(indent=None)) <= most


def padded(real=12, count=40):
    padding = np.arange(count) >= real
    allowed = np.tril(np.ones((count, count), bool)) & ~padding
    return head_of(random_scores(count), allowed=allowed, padding=padding)


def test_padding_is_left_out_and_counted():
    """jessevig/bertviz#121, #101"""
    head = padded()
    hidden = Read(charts.explore(head, query=5))
    assert hidden.params["query_positions"] == list(range(12))
    assert "28 padding positions hidden" in hidden.titles()
    shown = Read(charts.explore(head, query=5, padding="show"))
    assert shown.params["query_positions"] == list(range(40))
    assert not [title for title in shown.titles() if "hidden" in title]
    for row in range(12):
        for key in range(12):
            assert number(hidden, "row_weights", row, key) == number(shown, "row_weights", row, key)


def test_a_padding_row_that_is_asked_for_is_shown():
    read = Read(charts.explore(padded(), query=20))
    assert read.params["query_positions"] == [*range(12), 20]
    assert read.params["focus"] == "hovered<0?12:hovered"


def test_a_long_text_shows_a_window_around_the_row_and_says_so():
    head = causal(random_scores(400))
    read = Read(charts.explore(head, query=300))
    assert read.params["query_positions"] == list(range(144, 400))
    assert read.params["key_positions"] == list(range(144, 400))
    assert "rows 144 to 399 of 400, keys 144 to 399 of 400" in read.titles()
    lost = head.weights[300, :144].sum()
    assert f"{lost:.3g} lies on keys not shown" in read.params["row_text"][156]
    assert read.map_of((256, 256)).shape == (256, 256, 4)


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 7), (5, 60), (60, 5)])
def test_any_shape_is_drawn(queries, keys):
    read = Read(charts.explore(head_of(random_scores(queries, keys), stack="cross"), query=0))
    assert read.map_of((queries, keys)).shape == (queries, keys, 4)
    assert {len(read.params["query_labels"]), len(read.params["key_labels"])} == {queries, keys}


def test_two_texts_have_a_line_of_chips_each():
    two = Read(charts.chips(head_of(random_scores(3, 5), stack="cross"), query=0))
    one = Read(charts.chips(head_of(random_scores(3)), query=0))
    assert {"from", "to"} <= set(two.titles())
    assert not {"from", "to"} & set(one.titles())


@pytest.mark.parametrize("name", VISUALS)
def test_every_visual_stands_alone(name):
    read = Read(VISUALS[name](causal(random_scores(3)), query=1))
    assert "hover" in {param["name"] for param in read.spec["params"]}
    assert ("pick" in {param["name"] for param in read.spec["params"]}) == (name != "bars")
    assert read.spec["usermeta"]["embedOptions"]["renderer"] == "svg"


def test_a_stage_before_the_mask_shows_what_the_mask_will_hide():
    head = causal(random_scores(3))
    early = Read(charts.pair(head, query=0, stage="scaled"))
    assert (early.map_of((3, 3))[..., 3] == 255).all()
    assert number(early, "row_scores", 0, 2) == pytest.approx(
        float(f"{head.stages['scaled'][0, 2]:.4g}")
    )
    assert number(early, "row_weights", 0, 2) == "masked: future"
    assert "Scores, scaled product" in early.titles()


def test_bars_say_what_they_measure_and_in_what_unit():
    head = causal(random_scores(3))
    titles = Read(charts.bars(head, query=1, measure="signed_share")).titles()
    assert "Signed share: share of the head's output, adds up to 1" in titles


def test_bars_by_size_go_from_the_largest_on():
    head = head_of(np.log([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [1, 1, 1]]))
    read = Read(charts.bars(head, query=0, measure="weight", order="size"))
    orders = [[packing.unpack(row, slot) for slot in range(3)] for row in read.params["row_orders"]]
    assert orders == [[1, 2, 0], [0, 2, 1], [0, 1, 2]]


def test_bars_by_size_stop_at_the_forty_largest_and_say_so():
    head = head_of(random_scores(50))
    read = Read(charts.bars(head, query=0, measure="weight", order="size"))
    assert any(title.endswith("; the 40 largest of 50") for title in read.titles())


def test_a_special_token_is_told_apart_from_the_same_text():
    mixed = tokens("<s>", "<s>", special=(0,))
    head = head_of(np.zeros((2, 2)), query_tokens=mixed, key_tokens=mixed)
    assert Read(charts.explore(head, query=0)).params["key_special"] == [1, 0]


def test_a_long_label_ends_in_an_ellipsis():
    head = head_of(np.zeros((2, 2)), ["Donaudampfschifffahrtsgesellschaft", "a"])
    label = Read(charts.explore(head, query=0)).params["key_labels"][0]
    assert label == "Donaudampfschifffahrtsg…"


def test_a_head_without_tokens_is_labelled_by_position():
    head = head_of(np.zeros((2, 2)), query_tokens=(), key_tokens=())
    assert Read(charts.explore(head, query=1)).params["key_labels"] == ["0", "1"]


def test_contributions_out_of_reach_are_undefined_and_not_zero():
    read = Read(charts.explore(head_of(np.zeros((2, 2)), w_o=None), query=0))
    assert number(read, "row_parts", 0, 0) == "undefined"


@pytest.mark.parametrize(
    "wrong",
    [{"query": 3}, {"query": -1}, {"query": 0, "stage": "soft"}, {"query": 0, "measure": "x"}],
)
def test_what_is_not_there_is_refused_in_words(wrong):
    with pytest.raises(BadInput) as refusal:
        charts.explore(causal(random_scores(3)), **wrong)
    assert refusal.value.what and refusal.value.todo


@pytest.mark.parametrize("stack", ["decoder", "cross"])
@pytest.mark.parametrize("order", ["text", "size"])
@pytest.mark.parametrize("measure", ["weight", "signed_share"])
def test_every_picture_is_valid_vega_lite(stack, order, measure):
    """The pages draw without this check."""
    head = head_of(random_scores(3, 5 if stack == "cross" else 3), stack=stack, sink_logit=1.0)
    options = {"query": 1, "order": order, "measure": measure, "weight_colour": "log"}
    chart = charts.explore(head, **options)
    assert chart.to_dict(validate=True) == chart.to_dict(validate=False)
    chart.layer[0].mark["corner"] = 4
    with pytest.raises(SchemaValidationError):
        chart.to_dict(validate=True)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_chart_is_json_whatever_the_numbers_are(measure):
    scores = np.array([[np.nan, 1, np.inf], [1e-30, -1e30, 0], [0, 0, 0]])
    allowed = np.array([[1, 1, 1], [1, 1, 1], [0, 0, 0]], bool)
    chart = charts.explore(head_of(scores, allowed=allowed), query=0, measure=measure)
    json.dumps(chart.to_dict(), allow_nan=False)
