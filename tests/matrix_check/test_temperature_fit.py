"""Two matrices: is one the softmax of the other, and at what temperature?"""

import numpy as np
import pytest

from attnviz import check_matrix
from attnviz import matrix_check as mc
from attnviz.heads.softmax import weigh
from attnviz.matrix_check import MatrixVerdict

SCORES = [[2.1, 0.4, -0.7]]


def softmax(x: object, temperature: float = 1.0) -> np.ndarray:
    e = np.exp(np.asarray(x, float) / temperature)
    return e / e.sum(axis=1, keepdims=True)


def test_three_scores_and_their_shares() -> None:
    shares = softmax(SCORES)
    assert shares.round(3).tolist() == [[0.804, 0.147, 0.049]]
    verdict = check_matrix(SCORES, shares)
    assert verdict.kind == mc.SCORES
    assert verdict.temperature == pytest.approx(1, abs=1e-6)
    assert "temperature 1," in verdict.verdict


def test_shares_of_three_decimals_leave_the_temperature_open_a_little() -> None:
    verdict = check_matrix([[0.804, 0.147, 0.049]], SCORES)
    assert verdict.kind == mc.ROUNDED_WEIGHTS
    assert verdict.temperature == pytest.approx(1, abs=0.01)


def test_of_the_temperatures_that_rounding_leaves_open_the_likeliest_is_given() -> None:
    scores = np.array([[2.1, 0.4, -0.7, 1.3], [0.2, -1.9, 1.1, 0.6]])
    verdict = check_matrix(softmax(scores, 3).round(2), scores)
    item = next(item for item in verdict.evidence if item.name == "Temperature")
    low, high = (float(word) for word in item.says.rstrip(".").split(": ")[1].split(" to "))
    assert low < 3 < high
    assert verdict.temperature is not None
    assert low < verdict.temperature < high  # and not one of the ends


def bounds(verdict: MatrixVerdict) -> tuple[float, float]:
    """The temperatures that the evidence says are left open."""
    item = next(item for item in verdict.evidence if item.name == "Temperature")
    low, high = item.says.removeprefix("Left open by the precision: ").rstrip(".").split(" to ")
    return float(low), float(high)


def test_the_temperatures_left_open_are_those_of_all_numbers_that_round_to_these() -> None:
    # 2 / T = ln(w / v), where w and v may lie anywhere within 0.005 of 0.88 and 0.12.
    low, high = bounds(check_matrix([[0.88, 0.12]], [[2, 0]]))
    assert low == pytest.approx(2 / np.log(0.885 / 0.115), rel=1e-5)
    assert high == pytest.approx(2 / np.log(0.875 / 0.125), rel=1e-5)


def test_rounded_scores_leave_temperatures_open_as_well() -> None:
    # The difference of the scores, 0.5 + 1.75, may be off by 0.01; the weights are exact.
    weights = softmax([[0.5, -1.75], [1.25, 0.35]])
    low, high = bounds(check_matrix([[0.5, -1.75], [1.25, 0.35]], weights))
    assert low == pytest.approx(2.24 / 2.25, rel=1e-5)
    assert high == pytest.approx(2.26 / 2.25, rel=1e-5)


def test_each_row_narrows_the_temperatures_left_open() -> None:
    # The second row has the higher low end, the first the lower high end.
    rows = {"first": ([0.73, 0.27], [1, 0]), "second": ([0.95, 0.05], [3, 0])}
    weights, scores = zip(*rows.values(), strict=True)
    low, high = bounds(check_matrix(weights, scores))
    assert low == pytest.approx(3 / np.log(0.955 / 0.045), rel=1e-5)
    assert low > 1 / np.log(0.735 / 0.265)
    assert high == pytest.approx(1 / np.log(0.725 / 0.275), rel=1e-5)
    assert high < 3 / np.log(0.945 / 0.055)


def test_weights_that_can_be_equal_leave_no_largest_temperature() -> None:
    low, high = bounds(check_matrix([[0.34, 0.33, 0.33]], [[1, 0, 0]]))
    assert low == pytest.approx(1 / np.log(0.345 / 0.325), rel=1e-4)
    assert high == np.inf


def test_rows_that_leave_no_temperature_in_common_fit_none() -> None:
    weights = [[0.73, 0.27], [0.95, 0.05]]
    most = 1000 / np.log(0.725 / 0.275) * np.log(0.955 / 0.045)
    least = 1000 / np.log(0.735 / 0.265) * np.log(0.945 / 0.055)
    for score, fits in (
        (np.floor(most), True),
        (np.ceil(most), False),
        (np.ceil(least), True),
        (np.floor(least), False),
    ):
        temperature = check_matrix(weights, [[1000, 0], [score, 0]]).temperature
        assert (temperature is not None) == fits


@pytest.mark.parametrize(
    ("scores", "weights"),
    [([0, 1], [0.51, 0.49]), ([0, 0], [0.6, 0.4]), ([5, 5], [0.6, 0.4])],
    ids=["the lower score has more weight", "equal scores of 0", "equal scores"],
)
def test_one_row_that_fits_at_no_temperature_is_enough(
    scores: list[float], weights: list[float]
) -> None:
    assert check_matrix([[0.73, 0.27]], [[1000, 0]]).temperature is not None
    assert check_matrix([[0.73, 0.27], weights], [[1000, 0], scores]).temperature is None


def test_a_published_triple_is_the_softmax_of_its_scores_at_no_temperature() -> None:
    verdict = check_matrix([[0.75, 0.14, 0.11]], SCORES)
    assert verdict.kind == mc.ROUNDED_WEIGHTS
    assert verdict.temperature is None
    first, second = verdict.pairs
    assert (first.key, first.other_key, second.key, second.other_key) == (0, 1, 1, 2)
    # (2.1 - 0.4) / ln(0.75 / 0.14) and (0.4 + 0.7) / ln(0.14 / 0.11)
    assert first.temperature == pytest.approx(1.7 / np.log(75 / 14))
    assert second.temperature == pytest.approx(1.1 / np.log(14 / 11))
    assert "about 1.01" in verdict.verdict
    assert "about 4.6" in verdict.verdict


@pytest.mark.parametrize("temperature", [0.05, 0.5, 1.0, 2.0, 30.0])
def test_the_temperature_is_found_in_either_order(temperature: float) -> None:
    scores = np.random.default_rng(0).normal(size=(6, 6)).astype(np.float32)
    weights = softmax(scores, temperature).astype(np.float32)
    for pair in ((scores, weights), (weights, scores)):
        assert check_matrix(*pair).temperature == pytest.approx(temperature, rel=1e-4)


def test_scores_a_row_of_which_was_shifted_still_fit() -> None:
    scores = np.random.default_rng(0).normal(size=(4, 4))
    shifted = scores + np.array([[5.0], [-3.0], [0.0], [100.0]])
    assert check_matrix(shifted, softmax(scores)).temperature == pytest.approx(1)


def test_rows_of_different_temperatures_fit_none() -> None:
    scores = np.random.default_rng(0).normal(size=(2, 5))
    weights = np.vstack([softmax(scores[:1], 1), softmax(scores[1:], 2)])
    verdict = check_matrix(scores, weights)
    assert verdict.temperature is None
    item = next(item for item in verdict.evidence if item.name == "Temperature")
    assert "1 to 2" in item.says


def test_weights_that_fall_as_scores_rise_fit_none() -> None:
    assert check_matrix(SCORES, softmax([[-2.1, -0.4, 0.7]])).temperature is None


def test_masks_of_every_kind_are_left_out() -> None:
    scores = np.random.default_rng(0).normal(size=(5, 5)).astype(np.float32)
    seen = np.tril(np.ones((5, 5), bool))
    weights = weigh(np.where(seen, scores, np.float32(-np.inf)))[0]
    for fill in (-np.inf, -1e9, 0.0, np.nan):
        assert check_matrix(np.where(seen, scores, fill), weights).temperature == pytest.approx(1)
    assert check_matrix(scores, weights).temperature == pytest.approx(1)


def test_a_transposed_second_matrix_is_turned() -> None:
    scores = np.random.default_rng(0).normal(size=(3, 4))
    assert check_matrix(scores, softmax(scores).T).temperature == pytest.approx(1)


def test_equal_scores_fit_at_any_temperature() -> None:
    verdict = check_matrix([[7.5, 7.5, 7.5]], [[1 / 3, 1 / 3, 1 / 3]])
    assert verdict.temperature is None
    assert "at any temperature: the scores of each row are all equal" in verdict.verdict


def test_the_logit_of_a_sink_is_found() -> None:
    scores = np.random.default_rng(0).normal(size=(5, 5)).astype(np.float32)
    weights, _ = weigh(scores, 0.75)
    verdict = check_matrix(weights, scores)
    assert (verdict.kind, verdict.could_be) == (mc.SINK_WEIGHTS, ())
    item = next(item for item in verdict.evidence if item.name == "Sink logit")
    assert float(item.value) == pytest.approx(0.75, abs=1e-4)


def test_rows_that_were_cut_short_have_no_sink_logit() -> None:
    scores = np.random.default_rng(0).normal(size=(6, 6)).astype(np.float32)
    verdict = check_matrix(softmax(scores)[:, :4], scores[:, :4])
    assert verdict.kind == mc.SINK_WEIGHTS
    assert all(item.name != "Sink logit" for item in verdict.evidence)
    assert "a multiple of the softmax" in verdict.verdict


def test_a_second_matrix_settles_that_it_is_one_head() -> None:
    scores = np.random.default_rng(0).normal(size=(5, 5))
    assert mc.HEAD_MEAN in check_matrix(softmax(scores)).could_be
    assert check_matrix(softmax(scores), scores).could_be == ()


def test_a_second_matrix_settles_that_softmax_was_applied_twice() -> None:
    once = softmax(np.random.default_rng(0).normal(size=(3, 3)))
    verdict = check_matrix(softmax(once), once)
    assert verdict.kind == mc.SOFTMAX_TWICE
    assert verdict.temperature == pytest.approx(1)


def test_positive_scores_are_scores_once_their_weights_are_there() -> None:
    scores = np.random.default_rng(0).random((4, 4)) + 1
    assert check_matrix(scores).kind == mc.POSITIVE_ROWS
    assert check_matrix(scores, softmax(scores)).kind == mc.SCORES


def test_exponentials_are_not_called_the_softmax() -> None:
    scores = np.random.default_rng(0).normal(size=(4, 4)) + 2
    verdict = check_matrix(np.exp(scores), scores)
    assert verdict.kind == mc.POSITIVE_ROWS
    assert "a multiple of the softmax" in verdict.verdict


def test_shapes_that_differ_are_said_to_differ() -> None:
    verdict = check_matrix([[0.5, 0.5]], [[1.0, 2.0, -3.0]])
    assert verdict.temperature is None
    assert "different shapes" in verdict.verdict
    assert verdict.other is not None and verdict.other.kind == mc.SCORES
