"""The four-step picture: its numbers are the head's, its lanes are whole, its words complete."""

import json

import numpy as np
import pytest

from attnviz.charts import flow
from attnviz.charts.describe_steps import describe_four_steps
from attnviz.charts.four_steps import four_steps
from attnviz.charts.lanes import Lanes
from attnviz.errors import BadInput
from attnviz.heads.head import Head
from tests.charts.heads import head_of, tokens

SCORES = [[2.0, 0.0, -1.0]]
VALUES = np.array([[1, 0], [0, 1], [2, 2]], np.float32)


def head(**options):
    options.setdefault("key_tokens", tokens("ash", "birch", "cedar"))
    return head_of(SCORES, ["elm"], v=VALUES, query_tokens=tokens("elm"), **options)


def spec(chart):
    return chart.to_dict()


def rows(chart):
    """The data rows of the lanes, as the pointer and a screen reader meet them."""
    for layer in spec(chart)["layer"]:
        if layer.get("name", "").startswith("cards"):
            return layer["data"]["values"]
    raise AssertionError("no lanes")


def layers(chart, kind):
    return [layer for layer in spec(chart)["layer"] if layer["mark"]["type"] == kind]


def written(chart):
    """Every number and word drawn as text."""
    found = []
    for layer in layers(chart, "text"):
        value = layer["encoding"]["text"]["value"]
        found.append(value if isinstance(value, str) else value["expr"])
    return found


def test_scores_and_weights_drawn_are_the_heads_own():
    chart = four_steps(head(), query=0, keys=[0, 1, 2])
    weights = np.exp(SCORES[0]) / np.exp(SCORES[0]).sum()
    assert [row["score"] for row in rows(chart)] == ["2", "0", "\u22121"]
    assert [row["weight"] for row in rows(chart)] == [f"{w:.3g}" for w in weights]
    for number in ("2", "0", "\u22121", "0.84", "0.11"):
        assert number in written(chart)
    for share in ("0.84 ×", "0.11 ×", "0.04 ×"):
        assert json.dumps(share) in written(chart)


def test_the_bar_of_weights_is_filled_from_top_to_bottom():
    drawn = rows(four_steps(head(), query=0, keys=[2, 0, 1]))
    ends = [row["from"] + row["share"] for row in drawn]
    assert [row["from"] for row in drawn[1:]] == pytest.approx(ends[:-1])
    total = ends[-1] - drawn[0]["from"]
    assert [row["share"] / total for row in drawn] == pytest.approx([0.042, 0.844, 0.114], abs=1e-3)


def test_keys_not_followed_share_one_lane_and_leave_nothing_out():
    lanes = Lanes(head(), 0, [1])
    assert [lane.word for lane in lanes.lanes] == ["birch", "2 others"]
    assert sum(lane.weight for lane in lanes.lanes) == pytest.approx(1)
    parts = sum(lane.part for lane in lanes.lanes)
    assert parts == pytest.approx(lanes.output, abs=1e-6)
    assert rows(four_steps(head(), query=0, keys=[1]))[1]["weight"] == f"{lanes.rest:.3g}"


def test_a_masked_key_has_no_score_no_weight_and_no_band():
    masked = head(allowed=[[False, True, True]])
    chart = four_steps(masked, query=0, keys=[0, 1, 2])
    first = rows(chart)[0]
    assert first["score"] == "masked (blocked by the model)" and first["share"] == 0
    lanes = Lanes(masked, 0, [0, 1, 2])
    lines, *bands = flow.paths(lanes, top=0, tall=1, lane_top=lambda n, of: n, lane_height=1)
    assert {point["lane"] for point in lines} == {0, 1, 2}
    assert all({point["lane"] for point in band} == {1, 2} for band in bands)


def test_bands_to_the_output_are_as_thick_as_their_weights():
    lanes = Lanes(head(), 0, [0, 1, 2])
    *_, bands = flow.paths(lanes, top=0, tall=9, lane_top=lambda n, of: 3 * n, lane_height=3)
    for place, lane in enumerate(lanes.lanes):
        thick = [point["y2"] - point["y"] for point in bands if point["lane"] == place]
        assert thick == pytest.approx([3 * lane.weight] * len(thick), abs=0.02)


def test_a_row_that_attends_to_nothing_is_drawn_without_bands():
    nothing = head(allowed=np.zeros((1, 3), bool))
    chart = four_steps(nothing, query=0, keys=[0, 1, 2])
    assert all(not layer["data"]["values"] for layer in layers(chart, "area"))
    assert "attends to nothing" in describe_four_steps(nothing, query=0, keys=[0, 1, 2])[0]


def test_a_sink_takes_its_share_of_the_bar_and_gives_no_value():
    with_sink = head(sink_logit=2.0)
    told = describe_four_steps(with_sink, query=0, keys=[0, 1, 2])
    share = float(with_sink.sink[0])
    assert f"The sink, no token at all: {share:.3g}." in told[3]
    drawn = rows(four_steps(with_sink, query=0, keys=[0, 1, 2]))
    assert sum(row["share"] for row in drawn) / (1 - share) == pytest.approx(282)


def test_a_temperature_shows_the_score_before_and_after():
    first = rows(four_steps(head().temper(2.0), query=0, keys=[0]))[0]
    assert first["score"] == "2" and first["score / temperature"] == "1"
    assert "divided by temperature 2: 1" in describe_four_steps(head().temper(2.0), query=0,
                                                               keys=[0])[2]  # fmt: skip


def test_the_words_hold_every_number_of_the_picture():
    three = Head(
        [[1, 1]], [[1, 0], [0, 2]], VALUES[:2], scaling=1.0,
        query_tokens=tokens("elm"), key_tokens=tokens("ash", "birch"),
    )  # fmt: skip
    told = " ".join(describe_four_steps(three, query=0, keys=[0, 1]))
    for number in ("(1, 1)", "(1, 0)", "(0, 2)", "score 1", "score 2", "0.269", "0.731", "(0, 1)"):
        assert number in told
    assert "new vector of elm is (0.269, 0.731)" in told


def test_all_text_is_looked_up_and_none_becomes_an_expression():
    evil = "'+alert(1)+'"
    chart = four_steps(head(key_tokens=tokens(evil, "birch", "cedar")), query=0, keys=[0, 1, 2])
    params = {p["name"]: p.get("value") for p in spec(chart)["params"]}
    assert params["words"][0] == evil
    expressions = json.dumps([p.get("expr") for p in spec(chart)["params"]]) + json.dumps(
        [[layer["mark"], layer["encoding"]] for layer in spec(chart)["layer"] if "mark" in layer]
    )
    assert "alert" not in expressions


def test_the_lane_that_is_lit_at_first_is_the_one_asked_for():
    def lit(**options):
        chart = four_steps(head(), query=0, keys=[0, 1, 2], **options)
        return next(p["expr"] for p in spec(chart)["params"] if p["name"] == "lit")

    assert lit().endswith(":-1") and lit(lit=2).endswith(":2")


def test_few_numbers_stand_in_their_cells_and_many_are_a_strip():
    few = written(four_steps(head(), query=0, keys=[0]))
    assert few.count("1.0") == 1
    wide = head_of(SCORES, ["elm"], v=np.ones((3, 64)), query_tokens=tokens("elm"))
    assert "1.0" not in written(four_steps(wide, query=0, keys=[0]))


@pytest.mark.parametrize(
    ("query", "keys"), [(1, [0]), (0, []), (0, [0, 0]), (0, [3]), (0, [0, -1])]
)
def test_what_is_not_there_is_refused(query, keys):
    with pytest.raises(BadInput):
        four_steps(head(), query=query, keys=keys)


def test_a_head_without_values_is_refused():
    with pytest.raises(BadInput):
        four_steps(head_of(SCORES, v=None), query=0, keys=[0])


def test_a_share_that_is_nearly_all_is_not_called_all():
    drawn = written(four_steps(head_of([[9.0, 0.0]]), query=0, keys=[0, 1]))
    assert ">0.99" in drawn and "1.00" not in drawn
    assert json.dumps("<0.01 ×") in drawn
