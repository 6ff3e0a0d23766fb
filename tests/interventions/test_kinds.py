"""What becomes of a head, on numbers small enough to check by hand."""

import numpy as np
import pytest

import attnviz
from attnviz.heads.head import Head
from attnviz.heads.masks import REMOVED
from attnviz.interventions import (
    Ablate,
    AddToScore,
    Flatten,
    HideKeys,
    Permute,
    SetWeights,
    Temper,
    ZeroValue,
)

V = np.float32([[1, 0], [0, 1], [2, 2]])


def head(**options):
    scores = np.log(np.float32([[1, 1, 1], [3, 1, 1], [0.6, 0.3, 0.1]]))
    return Head(scores, np.eye(3), V, scaling=1.0, allowed=np.tri(3), w_o=np.eye(2), **options)


def test_a_hidden_key_is_masked_and_the_row_adds_up_to_one_again():
    """Serrano and Smith 2019: (.6, .3, .1) without its first is (.75, .25)."""
    changed = HideKeys(keys=(0,)).apply(head())
    np.testing.assert_allclose(changed.weights[2], [0, 0.75, 0.25], atol=1e-6)
    assert changed.mask_reason[2, 0] == REMOVED
    assert changed.attends.tolist() == [False, True, True]


def test_one_cell_can_be_hidden_alone():
    changed = HideKeys(keys=(0,), queries=(2,)).apply(head())
    np.testing.assert_allclose(changed.weights[1], head().weights[1])
    assert changed.weights[2, 0] == 0


def test_adding_to_a_score_multiplies_its_odds():
    changed = AddToScore(query=2, key=2, amount=float(np.log(3))).apply(head())
    np.testing.assert_allclose(changed.weights[2], [0.5, 0.25, 0.25], atol=1e-6)
    twice = AddToScore(query=2, key=2, amount=-float(np.log(3))).apply(changed)
    np.testing.assert_allclose(twice.weights, head().weights, atol=1e-6)


def test_weights_can_be_set_and_must_be_a_share_of_what_the_row_may_see():
    changed = SetWeights(query=1, weights=(0.25, 0.75, 0)).apply(head())
    np.testing.assert_allclose(changed.output[1], [0.25, 0.75])
    for weights, says in (
        ((0.5, 0.6, 0), "add up"),
        ((1.0, 0.0), "3 numbers"),
        ((0.5, 0, 0.5), "masked"),
        ((1.5, -0.5, 0), "0 or more"),
    ):
        with pytest.raises(attnviz.BadInput, match=says):
            SetWeights(query=1, weights=weights).apply(head())


def test_a_permuted_row_holds_the_same_weights_and_sees_no_more():
    changed = Permute(seed=3).apply(head())
    np.testing.assert_allclose(np.sort(changed.weights), np.sort(head().weights), atol=1e-7)
    assert (changed.weights[~changed.allowed] == 0).all()
    assert np.array_equal(changed.weights, Permute(seed=3).apply(head()).weights)
    assert any(not np.allclose(Permute(seed=s).apply(head()).weights[2], changed.weights[2])
               for s in range(5))  # fmt: skip


def test_a_flat_row_is_even_and_leaves_the_sink_its_share():
    np.testing.assert_allclose(Flatten(query=2).apply(head()).weights[2], [1 / 3] * 3, atol=1e-6)
    with_sink = Flatten().apply(head(sink_logit=0.0))
    np.testing.assert_allclose(with_sink.weights.sum(axis=1) + with_sink.sink, 1, atol=1e-6)
    assert with_sink.weights[2].std() < 1e-7


def test_a_value_of_zero_keeps_its_weight_and_brings_nothing():
    changed = ZeroValue(key=0).apply(head())
    np.testing.assert_allclose(changed.weights, head().weights)
    np.testing.assert_allclose(changed.output[2], head().output[2] - 0.6 * V[0], atol=1e-6)


def test_a_head_can_be_taken_away_averaged_or_dealt_out():
    whole = head()
    assert (Ablate().apply(whole).output == 0).all()
    np.testing.assert_allclose(Ablate(how="mean").apply(whole).output, [whole.output.mean(0)] * 3)
    dealt = Ablate(how="resample", seed=1).apply(whole).output
    np.testing.assert_allclose(np.sort(dealt, 0), np.sort(whole.output, 0))
    only = Ablate(queries=(1,)).apply(whole).output
    assert (only[1] == 0).all() and np.array_equal(only[2], whole.output[2])
    assert Ablate().apply(whole).contributions(2)["contribution_norm"].isna().all()
    with pytest.raises(attnviz.BadInput, match="zero"):
        Ablate(how="gently")


def test_temperature_acts_before_the_mask():
    np.testing.assert_allclose(
        Temper(temperature=1e9).apply(head()).weights[1], [0.5, 0.5, 0], atol=1e-6
    )


def test_places_that_are_not_there_are_named():
    for whatif in (HideKeys(keys=(3,)), ZeroValue(key=-1), SetWeights(query=9, weights=(1, 0, 0))):
        with pytest.raises(attnviz.BadInput, match="from 0 to 2"):
            whatif.apply(head())
