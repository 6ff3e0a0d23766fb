"""Verdicts on matrices small enough to work out by hand."""

import numpy as np
import pytest

import attnviz
from attnviz import BadInput, TooLarge, check_matrix
from attnviz import matrix_check as mc

# softmax of (0, ln 3) is (1/4, 3/4); of (0, 0, ln 2) it is (1/4, 1/4, 1/2)
QUARTERS = np.array([[1, 0, 0], [1 / 4, 3 / 4, 0], [1 / 7, 2 / 7, 4 / 7]])
LN = np.log(np.array([[1, 1, 1], [1, 3, 1], [1, 2, 4]]))


def named(verdict: mc.MatrixVerdict, name: str) -> mc.Evidence:
    return next(item for item in verdict.evidence if item.name == name)


def test_rows_that_add_up_to_1_are_weights_by_rows() -> None:
    verdict = check_matrix(QUARTERS)
    assert (verdict.kind, verdict.axis, verdict.decimals) == (mc.WEIGHTS, "rows", None)
    assert named(verdict, "Triangle").value == "empty above the diagonal"
    assert named(verdict, "Row sums").value == "1"
    assert "attention weights" in verdict.verdict


def test_columns_that_add_up_to_1_are_weights_transposed() -> None:
    verdict = check_matrix(QUARTERS.T)
    assert (verdict.kind, verdict.axis) == (mc.WEIGHTS, "columns")
    assert named(verdict, "Triangle").value == "empty below the diagonal"
    assert "transposed" in verdict.verdict


def test_rows_and_columns_that_both_add_up_to_1_leave_the_axis_open() -> None:
    doubly = np.array([[1 / 7, 2 / 7, 4 / 7], [2 / 7, 4 / 7, 1 / 7], [4 / 7, 1 / 7, 2 / 7]])
    verdict = check_matrix(doubly)
    assert (verdict.kind, verdict.axis) == (mc.WEIGHTS, None)
    assert any("Whether rows or columns are the queries" in line for line in verdict.cannot_tell)


def test_a_flat_list_is_one_row() -> None:
    assert check_matrix([1 / 3, 2 / 3]).kind == mc.WEIGHTS


@pytest.mark.parametrize(
    ("fill", "shown"),
    [
        (-np.inf, "-inf"),
        (-1e4, "-10000"),
        (-1e9, "-1e+09"),
        (-65504.0, "-65504"),
        (float(np.finfo(np.float32).min), "-3.40282e+38"),
        (float(np.finfo(np.float64).min), "-1.79769e+308"),
        (np.nan, "NaN"),
    ],
)
def test_scores_keep_their_name_however_they_are_masked(fill: float, shown: str) -> None:
    scores = np.array([[0.3, fill, fill], [-1.7, 2.3, fill], [0.7, -0.2, 1.9]])
    verdict = check_matrix(scores)
    assert (verdict.kind, verdict.axis, verdict.mask) == (mc.SCORES, "rows", shown)
    assert named(verdict, "Masked cells").value.startswith("3 hold")


def test_a_large_negative_number_added_to_scores_is_a_mask() -> None:
    scores = np.array([[0.3, -10001.2, -9999.1], [-1.7, 2.3, -10000.4], [0.7, -0.2, 1.9]])
    verdict = check_matrix(scores)
    assert verdict.kind == mc.SCORES
    assert verdict.mask == "about -1e+04"


def test_low_scores_that_are_spread_out_are_no_mask() -> None:
    verdict = check_matrix([[-4000.5, -900.25], [-2000.125, 3.5]])
    assert (verdict.kind, verdict.mask) == (mc.SCORES, None)


def test_scores_masked_below_the_diagonal_are_transposed() -> None:
    scores = np.array([[0.3, -1.7, 0.7], [-np.inf, 2.3, -0.2], [-np.inf, -np.inf, 1.9]])
    assert check_matrix(scores).axis == "columns"


def test_scores_with_zeros_above_the_diagonal_are_zero_masked() -> None:
    verdict = check_matrix([[0.3, 0, 0], [-1.7, 2.3, 0], [0.7, -0.2, 1.9]])
    assert (verdict.kind, verdict.axis, verdict.mask) == (mc.ZERO_MASKED_SCORES, "rows", "0")
    assert "minus infinity" in verdict.verdict


def test_scores_with_whole_columns_of_zeros_are_zero_masked() -> None:
    verdict = check_matrix([[0.3, -1.1, 0], [-1.7, 2.3, 0], [0.7, -0.2, 0]])
    assert verdict.kind == mc.ZERO_MASKED_SCORES
    assert "1 whole column" in verdict.verdict


def test_rows_that_lack_a_part_of_1_are_weights_with_a_sink() -> None:
    # scores 0 and 0 beside a sink logit of 0: a third each
    verdict = check_matrix(np.array([[1 / 2, 0], [1 / 3, 1 / 3]]))
    assert (verdict.kind, verdict.axis) == (mc.SINK_WEIGHTS, "rows")
    assert "0.333 to 0.5" in verdict.verdict
    assert any("sink" in line for line in verdict.cannot_tell)


def test_one_row_above_1_is_enough_to_rule_a_sink_out() -> None:
    verdict = check_matrix(np.array([[1 / 7, 5 / 7], [3 / 7, 6 / 7]]))
    assert verdict.kind == mc.POSITIVE_ROWS
    assert mc.SCORES in verdict.could_be


def test_two_decimals_are_seen_and_their_rounding_is_forgiven() -> None:
    verdict = check_matrix([[0.33, 0.33, 0.33], [0.67, 0.17, 0.17]])
    assert (verdict.kind, verdict.axis, verdict.decimals) == (mc.ROUNDED_WEIGHTS, "rows", 2)
    assert named(verdict, "Row sums").value == "0.99 to 1.01"


def test_two_decimals_forgive_no_more_than_half_a_step_a_cell() -> None:
    # 3 x 0.005 = 0.015 is the most that rounding can take from a row of three
    assert check_matrix([[0.33, 0.33, 0.32], [0.5, 0.2, 0.3]]).kind == mc.SINK_WEIGHTS


def test_rounding_that_went_through_float32_is_seen() -> None:
    verdict = check_matrix(np.float32([[0.8, 0.15, 0.05], [0.3, 0.3, 0.4]]))
    assert (verdict.kind, verdict.decimals) == (mc.ROUNDED_WEIGHTS, 2)


@pytest.mark.parametrize("decimals", [1, 2, 3, 4, 5])
def test_the_number_of_decimals_is_right(decimals: int) -> None:
    assert check_matrix(QUARTERS.round(decimals)).decimals == decimals


def test_only_0_and_1_may_be_exact_or_rounded() -> None:
    verdict = check_matrix([[1, 0, 0], [1, 0, 0], [0, 1, 0]])
    assert verdict.kind == mc.WEIGHTS
    assert mc.ROUNDED_WEIGHTS in verdict.could_be


@pytest.mark.parametrize(
    ("logs", "name"),
    [(np.log, "natural logarithms"), (np.log2, "base 2"), (np.log10, "base 10")],
)
def test_logarithms_of_weights_in_any_base(logs: np.ufunc, name: str) -> None:
    with np.errstate(divide="ignore"):
        verdict = check_matrix(logs(QUARTERS))
    assert (verdict.kind, verdict.axis, verdict.mask) == (mc.LOG_WEIGHTS, "rows", "-inf")
    assert name in verdict.verdict


def test_logarithms_of_weights_with_zeros_for_a_mask() -> None:
    with np.errstate(divide="ignore"):
        logs = np.where(QUARTERS > 0, np.log(QUARTERS), 0)
    assert check_matrix(logs).kind == mc.LOG_WEIGHTS


def test_a_second_softmax_is_undone() -> None:
    once = np.eye(5)
    again = np.exp(once) / np.exp(once).sum(axis=1, keepdims=True)  # e / (e + 4) and 1 / (e + 4)
    verdict = check_matrix(again)
    assert verdict.kind == mc.SOFTMAX_TWICE
    assert verdict.recovered is not None
    np.testing.assert_allclose(verdict.recovered, once, atol=1e-12)


def test_a_second_softmax_over_a_causal_head_is_seen_to_look_ahead() -> None:
    again = np.exp(QUARTERS) / np.exp(QUARTERS).sum(axis=1, keepdims=True)
    verdict = check_matrix(np.kron(again, np.ones((1, 1))))
    assert mc.SOFTMAX_TWICE in (verdict.kind, *verdict.could_be)
    six = np.tril(np.tile([0.7, 0.1, 0.1, 0.05, 0.03, 0.02], (6, 1)))
    six /= six.sum(axis=1, keepdims=True)
    verdict = check_matrix(np.exp(six) / np.exp(six).sum(axis=1, keepdims=True))
    assert verdict.kind == mc.SOFTMAX_TWICE
    assert "ahead of their query" in verdict.verdict


def test_weights_more_than_e_apart_come_from_one_softmax() -> None:
    verdict = check_matrix([[1 / 7, 2 / 7, 4 / 7]])
    assert verdict.kind == mc.WEIGHTS
    assert mc.SOFTMAX_TWICE not in verdict.could_be


def test_mild_weights_of_few_keys_can_be_of_one_softmax_or_of_two() -> None:
    verdict = check_matrix(np.array([[3 / 7, 4 / 7], [5 / 11, 6 / 11]]))
    assert {mc.WEIGHTS, mc.SOFTMAX_TWICE} <= {verdict.kind, *verdict.could_be}
    assert any("once or twice" in line for line in verdict.cannot_tell)


def test_uniform_rows() -> None:
    causal = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    verdict = check_matrix(causal)
    assert (verdict.kind, verdict.axis) == (mc.UNIFORM_WEIGHTS, "rows")
    everywhere = check_matrix(np.full((3, 3), 1 / 3))
    assert (everywhere.kind, everywhere.axis) == (mc.UNIFORM_WEIGHTS, None)


def test_the_sum_of_heads_and_percent_are_told_from_weights() -> None:
    heads = check_matrix(3 * QUARTERS)
    assert heads.kind == mc.SCALED_WEIGHTS
    assert "The sum of 3 heads" in heads.verdict
    percent = check_matrix([[75.0, 14.0, 11.0], [20.0, 30.0, 50.0]])
    assert percent.kind == mc.SCALED_WEIGHTS
    assert "percent" in percent.verdict


def test_rows_of_zeros_among_weights_attend_to_nothing() -> None:
    verdict = check_matrix(np.vstack([np.zeros((1, 3)), QUARTERS]))
    assert verdict.kind == mc.WEIGHTS
    assert "attends to nothing" in verdict.verdict


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0.0, 0.0], [0.0, 0.0]], "Every cell is 0"),
        ([[-np.inf, -np.inf], [-np.inf, -np.inf]], "Every cell is masked"),
        ([[np.inf, 0.5], [0.5, 0.5]], "plus infinity"),
        ([[1, 1, 0], [1, 0, 1]], "form of a mask"),
        ([[1.5, -0.5], [0.25, 0.75]], "never below 0"),
    ],
)
def test_what_is_neither_scores_nor_weights(matrix: list[list[float]], words: str) -> None:
    verdict = check_matrix(matrix)
    assert verdict.kind == mc.SOMETHING_ELSE
    assert words in verdict.verdict


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weights_of_half_precision_need_not_add_up_exactly(dtype: str) -> None:
    import torch

    scores = torch.randn(40, 40, generator=torch.Generator().manual_seed(0)) * 3
    weights = torch.softmax(scores, dim=-1).to(getattr(torch, dtype)).float().numpy()
    off = np.abs(weights.sum(axis=1) - 1).max()
    assert off > 1e-4  # or the tolerance would not be needed
    verdict = check_matrix(weights)
    assert (verdict.kind, verdict.axis) == (mc.WEIGHTS, "rows")
    assert named(verdict, "Precision").value == dtype


def test_a_tolerance_of_the_readers_own() -> None:
    loose = np.array([[0.1234567, 0.8765432], [0.2345678, 0.7634567]])
    assert check_matrix(loose).kind == mc.SINK_WEIGHTS
    assert check_matrix(loose, tolerance=0.01).kind == mc.WEIGHTS
    with pytest.raises(BadInput, match="tolerance"):
        check_matrix(loose, tolerance=float("nan"))


def test_the_rank_of_the_logarithms_tells_one_head_from_a_mean() -> None:
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 2, 24, 4))
    scores = q @ k.transpose(0, 2, 1)
    weights = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    one, mean = check_matrix(weights[0]), check_matrix(weights.mean(axis=0))
    assert (one.kind, one.could_be) == (mc.WEIGHTS, ())
    assert named(one, "Rank of the logarithms").value.startswith("4 of at most 23")
    assert (mean.kind, mean.could_be) == (mc.WEIGHTS, (mc.HEAD_MEAN,))
    assert "one head or the mean of several" in mean.verdict


def test_a_mean_of_many_keys_is_told_where_no_head_is_that_large() -> None:
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 3, 300, 16)) / 2
    scores = q @ k.transpose(0, 2, 1)
    weights = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    assert check_matrix(weights.mean(axis=0)).kind == mc.HEAD_MEAN
    assert check_matrix(weights[0]).kind == mc.WEIGHTS


def test_positive_scores_of_low_rank_are_scores() -> None:
    rng = np.random.default_rng(0)
    q, k = rng.random((2, 20, 3))
    assert check_matrix(q @ k.T).kind == mc.SCORES
    assert check_matrix(rng.random((20, 20))).kind == mc.POSITIVE_ROWS


def test_the_text_has_the_verdict_the_evidence_and_the_doubts() -> None:
    verdict = check_matrix(QUARTERS)
    text = verdict.as_text()
    assert verdict.verdict in text
    assert all(f"- {item.name}: {item.value}." in text for item in verdict.evidence)
    assert all(f"- {line}" in text for line in verdict.cannot_tell + verdict.caveats)


@pytest.mark.parametrize(
    "array",
    [
        [],
        [[]],
        0.5,
        [[0.5]],
        [[1.0, 2.0], [3.0]],
        [["a", "b"]],
        [[1j, 2]],
        [[None, 1.0]],
        np.zeros((2, 3, 3)),
        np.array([[{}, 1]], dtype=object),
        np.full((2, 2), np.nan),
        "text",
        None,
    ],
)
def test_what_is_no_matrix_is_refused_with_what_to_do(array: object) -> None:
    with pytest.raises(BadInput) as caught:
        check_matrix(array)
    assert caught.value.what and caught.value.todo


def test_a_stack_of_heads_is_not_averaged_but_asked_about() -> None:
    with pytest.raises(BadInput, match=r"12 x 4 x 4.*Choose one head"):
        check_matrix(np.zeros((12, 4, 4)))


def test_a_stack_of_one_is_a_matrix() -> None:
    assert check_matrix(QUARTERS[None, None]).kind == mc.WEIGHTS


def test_too_many_cells_are_refused() -> None:
    with pytest.raises(TooLarge, match="2,048 x 2,048"):
        check_matrix(np.broadcast_to(0.5, (2049, 2049)))


def test_tensors_are_read() -> None:
    import torch

    assert attnviz.check_matrix(torch.tensor(QUARTERS)).kind == mc.WEIGHTS


@pytest.mark.parametrize("huge", [4.5e307, 1.7e308, -1.7e308])
def test_numbers_near_the_end_of_float64_get_a_verdict(huge: float) -> None:
    verdict = check_matrix(np.full((4, 4), huge), np.full((4, 4), abs(huge)))
    assert verdict.kind in mc.KINDS
    assert verdict.as_text()
