"""Head on numbers small enough to check by hand."""

import math

import numpy as np
import pytest

import attnviz
from attnviz.heads.head import Head
from attnviz.heads.masks import MASK_REASONS

SCORES = np.float32([[math.log(4), 0]])


def head_of(scores, **options):
    """A head whose product is `scores`: unit keys pick a query's entries."""
    scores = np.asarray(scores, np.float32)
    keys = np.eye(scores.shape[1], dtype=np.float32)
    return Head(scores, keys, options.pop("v", keys), scaling=1.0, **options)


def test_weights_are_the_softmax_of_the_scores():
    np.testing.assert_allclose(head_of(SCORES).weights, [[0.8, 0.2]], atol=1e-6)


def test_adding_a_constant_to_a_row_changes_no_weight():
    np.testing.assert_allclose(head_of(SCORES + 1000).weights, [[0.8, 0.2]], atol=1e-4)


@pytest.mark.parametrize(
    ("temperature", "weights"),
    [(1, [0.8, 0.2]), (2, [2 / 3, 1 / 3]), (0.5, [16 / 17, 1 / 17])],
)
def test_temperature_divides_the_scores(temperature, weights):
    np.testing.assert_allclose(head_of(SCORES).temper(temperature).weights[0], weights, atol=1e-6)


@pytest.mark.parametrize("temperature", [0, -1, math.nan, math.inf])
def test_temperatures_that_mean_nothing_are_refused(temperature):
    """suno-ai/bark#270, microsoft/onnxruntime-genai#1211: temperature 0 divides by zero."""
    with pytest.raises(attnviz.BadInput, match="positive"):
        head_of(SCORES).temper(temperature)


def test_a_very_high_temperature_is_even_over_unmasked_keys_only():
    """suno-ai/bark#270: after any cap, before the mask."""
    head = head_of([[3, -2, 7]], softcap=5.0, allowed=[[1, 1, 0]]).temper(1e9)
    np.testing.assert_allclose(head.weights, [[0.5, 0.5, 0]], atol=1e-6)
    assert list(head.stages) == ["dot", "scaled", "capped", "tempered", "masked"]


def test_the_cap_is_a_tanh():
    capped = head_of([[100, 5]], softcap=50.0).stages["capped"]
    np.testing.assert_allclose(capped, [[48.2014, 4.9834]], atol=1e-4)


def test_stages_come_in_order_and_biases_are_added_after_the_cap():
    head = Head(
        q=[[1, 2]],
        k=[[3, 4], [0, 1]],
        v=[[1], [1]],
        scaling=0.5,
        softcap=2.0,
        biases={"slope": np.float32([[0, -1]])},
        allowed=[[1, 0]],
    )
    assert list(head.stages) == ["dot", "scaled", "capped", "biased", "masked"]
    assert head.stages["dot"].tolist() == [[11, 2]] and head.stages["scaled"].tolist() == [[5.5, 1]]
    expected = 2 * np.tanh(np.float32([5.5, 1]) / 2) + [0, -1]
    np.testing.assert_allclose(head.stages["biased"][0], expected, atol=1e-6)
    assert head.scores.tolist()[0][1] == -np.inf
    assert head.weights.tolist() == [[1, 0]]


def test_a_sink_takes_its_share_of_the_row_and_no_value():
    """fla-org/flash-linear-attention#831: scores 0, 0 and a sink logit of 0 are a third each."""
    head = head_of([[0, 0]], sink_logit=0.0)
    np.testing.assert_allclose(head.weights, [[1 / 3, 1 / 3]], atol=1e-6)
    np.testing.assert_allclose(head.sink, [1 / 3], atol=1e-6)


def test_scores_beyond_the_range_of_exp_still_give_weights():
    np.testing.assert_allclose(head_of([[-2e5, -2e5, 3e5]]).weights, [[0, 0, 1]])


def test_why_a_cell_is_masked():
    allowed = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0]]
    head = Head(
        np.zeros((4, 1)), np.zeros((4, 1)), None, scaling=1.0, window=2, allowed=allowed,
        padding=np.array([False, False, False, True]),
    )  # fmt: skip
    reasons = [[MASK_REASONS[reason] for reason in row] for row in head.mask_reason]
    assert reasons[0] == ["allowed", "future", "future", "padding"]
    assert reasons[2] == ["outside the window", "allowed", "allowed", "padding"]


def test_a_mask_that_follows_no_rule_is_the_models_own():
    head = Head(
        np.zeros((2, 1)), np.zeros((2, 1)), None, scaling=1.0, allowed=[[1, 1], [0, 1]],
    )  # fmt: skip
    assert MASK_REASONS[head.mask_reason[1, 0]] == "blocked by the model"


def test_a_row_that_attends_to_nothing_has_no_weight_anywhere():
    head = head_of([[1, 2], [3, 4]], allowed=[[0, 0], [1, 1]])
    assert head.attends.tolist() == [False, True]
    assert head.weights[0].tolist() == [0, 0] and head.sink[0] == 0


def test_scores_that_were_watched_stand_in_for_queries_and_keys():
    head = Head(None, None, None, given={"biased": SCORES}, allowed=[[1, 0]])
    assert list(head.stages) == ["biased", "masked"]
    assert head.weights.tolist() == [[1, 0]]


def test_arrays_cannot_be_changed_and_the_callers_own_can():
    given = SCORES.copy()
    head = Head(None, None, None, given={"scaled": given})
    with pytest.raises(ValueError, match="read-only"):
        head.scores[0, 0] = 1
    given[0, 0] = 1


def test_one_token_has_one_weight():
    assert head_of([[7]]).weights.tolist() == [[1]]


def test_a_head_needs_scores_of_some_kind():
    with pytest.raises(attnviz.BadInput, match="q and k"):
        Head(None, None, None)


def test_each_bias_is_a_panel_of_its_own_before_the_biased_score():
    head = head_of([[1, 2]], biases={"near": np.float32([[0, -1]]), "far": np.float32([[3, 3]])})
    assert list(head.panels) == ["dot", "scaled", "near", "far", "biased"]
    assert head.panels["near"].tolist() == [[0, -1]]
    total = head.stages["scaled"] + head.panels["near"] + head.panels["far"]
    np.testing.assert_allclose(head.stages["biased"], total)
