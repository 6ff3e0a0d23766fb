"""Contributions on numbers small enough to check by hand."""

import numpy as np
import pytest

import attnviz
from attnviz.heads.contributions import MEASURES
from attnviz.heads.head import Head


def head_of(weights, values, w_o=None):
    logs = np.log(np.float32(weights))
    keys = np.eye(logs.shape[1])
    return Head(logs, keys, values, scaling=1.0, w_o=np.eye(len(values[0])) if w_o is None else w_o)


def test_a_token_with_nine_tenths_of_the_weight_may_add_next_to_nothing():
    """Kobayashi et al. 2020: the weight is not the contribution."""
    row = head_of([[0.9, 0.1]], [[0.01, 0], [3, 4]]).contributions(0)
    np.testing.assert_allclose(row["contribution_norm"], [0.009, 0.5], atol=1e-6)
    share = row["contribution_norm"] / row["contribution_norm"].sum()
    np.testing.assert_allclose(share, [0.0177, 0.9823], atol=1e-4)


def test_norms_do_not_add_up_and_signed_shares_do():
    head = head_of([[0.5, 0.5]], [[3, 4], [0, 1]])
    row = head.contributions(0)
    assert row["contribution_norm"].sum() == pytest.approx(3.0)
    assert np.linalg.norm(head.weights @ head.v) == pytest.approx(2.9155, abs=1e-4)
    assert row["signed_share"].sum() == pytest.approx(1)


def test_a_key_may_pull_against_the_output():
    row = head_of([[0.5, 0.5]], [[3, 0], [-1, 0]]).contributions(0)
    np.testing.assert_allclose(row["signed_share"], [1.5, -0.5], atol=1e-6)


def test_parts_that_cancel_have_no_share_of_nothing():
    row = head_of([[0.5, 0.5]], [[1, 0], [-1, 0]]).contributions(0)
    assert row["signed_share"].isna().all()
    np.testing.assert_allclose(row["contribution_norm"], [0.5, 0.5])


def test_the_output_projection_may_turn_a_contribution_to_nothing():
    head = head_of([[0.5, 0.5]], [[1, 0], [0, 1]], w_o=[[2, 0], [0, 0]])
    row, before = head.contributions(0), head.contributions(0, of="value")
    np.testing.assert_allclose(row["contribution_norm"], [1, 0])
    np.testing.assert_allclose(before["contribution_norm"], [0.5, 0.5])
    np.testing.assert_allclose(row["weighted_value_norm"], [0.5, 0.5])


def test_a_row_and_the_matrix_agree():
    rng = np.random.default_rng(0)
    head = Head(*rng.normal(size=(3, 5, 4)), w_o=rng.normal(size=(4, 6)), allowed=np.tri(5))
    for measure in MEASURES:
        matrix = head.contribution_matrix(measure)
        assert matrix.shape == (5, 5)
        for query in range(5):
            row = head.contributions(query)[measure]
            np.testing.assert_allclose(matrix[query], row, atol=1e-5)
    direct = head.weights[3, 1] * np.linalg.norm(head.v[1] @ head.w_o)
    assert head.contribution_matrix("contribution_norm")[3, 1] == pytest.approx(direct, rel=1e-5)
    assert head.additivity_error < 1e-5


def test_where_the_projection_is_out_of_reach_the_bars_stop_before_it():
    head = Head([[1.0]], [[1.0]], [[2.0]], scaling=1.0)
    row = head.contributions(0)
    assert row["contribution_norm"].isna().all() and row["signed_share"].isna().all()
    assert row["weighted_value_norm"].tolist() == [2]
    assert head.contributions(0, of="value")["contribution_norm"].tolist() == [2]
    assert head.additivity_error is None


def test_masked_keys_have_no_score_and_add_nothing():
    row = Head(
        np.ones((2, 1)), np.ones((2, 1)), np.ones((2, 1)), scaling=1.0, allowed=np.tri(2),
        w_o=np.ones((1, 1)),
    ).contributions(0)  # fmt: skip
    assert np.isnan(row["score"][1]) and row["contribution_norm"][1] == 0


def test_unknown_queries_and_measures_are_named():
    head = head_of([[0.5, 0.5]], [[1, 0], [0, 1]])
    with pytest.raises(attnviz.BadInput, match="no query 1"):
        head.contributions(1)
    with pytest.raises(attnviz.BadInput, match="contribution_norm"):
        head.contribution_matrix("importance")
    with pytest.raises(attnviz.BadInput, match="of='output'"):
        head.contributions(0, of="everything")
