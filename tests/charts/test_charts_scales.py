import numpy as np
import pytest

from attnviz import charts
from attnviz.charts import scales
from tests.charts.heads import Read, causal, head_of, random_scores


def difference(one, other):
    return int(np.abs(one[:3].astype(int) - other[:3].astype(int)).sum())


def test_masked_scores_stay_out_of_the_colour_domain():
    """TransformerLensOrg/TransformerLens#1692, #366"""
    scores = np.array([[-4.0, 0, 0], [2.0, 6.0, 0], [-4.0, 1.0, 6.0]])
    head = causal(scores)
    assert np.isneginf(head.scores[0, 1])
    scale = scales.score_scale(np.where(head.allowed, head.scores, -np.inf), None, "zero")
    assert (scale.low, scale.high) == (-4.0, 6.0)
    assert scale.marks == (-4.0, 0.0, 6.0)
    drawn = Read(charts.pair(head, query=2)).map_of((3, 3))
    assert drawn[0, 1, 3] == 0 and drawn[2, 0, 3] == 255  # masked is transparent
    assert difference(drawn[2, 0], drawn[2, 1]) > 100  # half the range apart
    assert difference(drawn[2, 1], drawn[2, 2]) > 100


def test_the_lowest_finite_number_is_masked_by_the_mask_not_by_its_size():
    """TransformerLensOrg/TransformerLens#1692, #366"""
    scores = random_scores(4)
    scores[~np.tril(np.ones((4, 4), bool))] = np.finfo(np.float32).min
    plain = Read(charts.pair(causal(random_scores(4)), query=3))
    filled = Read(charts.pair(causal(scores), query=3))
    assert (plain.map_of((4, 4)) == filled.map_of((4, 4))).all()


def test_equal_sizes_around_zero_are_equally_far_from_neutral():
    scale = scales.score_scale(np.array([[-2.0, 8.0]]), None, "zero")
    position = scale.position(np.array([-2.0, 0.0, 2.0, 8.0]))
    assert position == pytest.approx([0.375, 0.5, 0.625, 1.0])


@pytest.mark.parametrize(("low", "high"), [(100.0, 104.0), (-104.0, -100.0)])
def test_scores_far_from_zero_still_use_the_whole_ramp(low, high):
    scale = scales.score_scale(np.array([[low, (low + high) / 2, high]]), None, "zero")
    assert scale.position(np.array([low, high])).tolist() == [0.0, 1.0]
    assert scale.note in ("all above 0", "all below 0")


def test_scores_relative_to_the_row_put_every_rows_largest_at_the_dark_end():
    head = head_of([[1.0, 3.0], [11.0, 10.0]])
    drawn = Read(charts.pair(head, query=0, score_colour="row")).map_of((2, 2))
    assert (drawn[0, 1] == drawn[1, 0]).all()  # the two largest: 3 and 11
    assert difference(drawn[0, 0], drawn[1, 1]) > 30  # 2 below and 1 below


def sink_first():
    weights = np.full((20, 20), np.nan)
    weights[:, 0] = 0.95
    weights[:, 1:] = np.geomspace(1, 10, 19)
    weights[:, 1:] *= 0.05 / weights[0, 1:].sum()
    return np.log(weights)


def test_a_log_scale_brings_out_what_a_first_token_leaves():
    """huggingface/transformers#2975, meta-llama/llama3#155, microsoft/hi-ml#804"""
    head = head_of(sink_first())
    usual = Read(charts.explore(head, query=3, measure="weight"))
    log = Read(charts.explore(head, query=3, measure="weight", weight_colour="log"))
    flat, clear = usual.map_of((20, 20), 1), log.map_of((20, 20), 1)
    assert difference(flat[3, 1], flat[3, 19]) < 12
    assert difference(clear[3, 1], clear[3, 19]) > 100
    assert "Weights, log scale, 0.0001 to 1" in log.titles()
    assert "Weights, 0 to 1" in usual.titles()
    assert usual.params["row_weights"] == log.params["row_weights"]  # what tooltips print


def test_fitted_weights_say_up_to_what():
    head = head_of(np.log([[0.2, 0.42, 0.38], [0.3, 0.3, 0.4], [0.4, 0.2, 0.4]]))
    read = Read(charts.pair(head, query=0, weight_colour="fit"))
    assert "Weights, fitted to 0 to 0.42" in read.titles()
    drawn = read.map_of((3, 3), 1)
    assert drawn[0, 1].tolist()[:3] == scales.ramp("weight")[-1].tolist()


def test_the_same_weight_has_the_same_colour_in_every_row_and_head():
    one = head_of(np.log([[0.25, 0.75], [0.75, 0.25]]))
    other = head_of(np.log([[0.25, 0.75], [0.5, 0.5]]))
    first, second = (Read(charts.pair(h, query=0)).map_of((2, 2), 1) for h in (one, other))
    assert (first[0] == second[0]).all() and (first[0] == first[1, ::-1]).all()


def test_the_sink_shares_the_scale_of_the_weights():
    head = head_of(np.zeros((2, 2)), sink_logit=np.log(8.0))
    assert head.sink == pytest.approx([0.8, 0.8])
    scale = scales.weight_scale(head.weights, head.sink, "fit")
    assert scale.high == pytest.approx(0.8)
    strip = Read(charts.pair(head, query=0)).map_of((2, 1))
    assert (strip[0] == strip[1]).all() and strip[0, 0, 3] == 255


def test_a_map_of_one_score_has_a_scale_and_a_number():
    read = Read(charts.pair(head_of([[2.0]]), query=0))
    marks = [
        unit["encoding"]["x"]["axis"]["values"]
        for unit in read.units
        if (unit["encoding"].get("x", {}).get("axis") or {}).get("labelExpr")
        == "format(datum.value,'.3~g')"
    ]
    assert marks == [[2.0], [0, 0.5, 1]]
