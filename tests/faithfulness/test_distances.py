"""Check values computed by hand."""

import numpy as np
import pytest

from attnviz.faithfulness import (
    js_divergence,
    kendall,
    rollout,
    spearman,
    total_variation,
    uniform_rollout,
)
from attnviz.heads.distances import ranks


def test_divergences_of_known_pairs():
    assert js_divergence([1, 0], [0, 1]) == pytest.approx(0.693147, abs=1e-6)
    assert js_divergence([1, 0, 0, 0], [0.25] * 4) == pytest.approx(0.380396, abs=1e-6)
    assert js_divergence([0.5, 0.5], [0.9, 0.1]) == pytest.approx(0.101749, abs=1e-6)
    assert total_variation([1, 0, 0, 0], [0.25] * 4) == pytest.approx(0.75)
    assert total_variation([0.5, 0.5], [0.9, 0.1]) == pytest.approx(0.4)
    assert js_divergence([0.3, 0.7], [0.3, 0.7]) == 0


def test_rank_correlations_by_hand():
    assert spearman([1, 2, 3], [10, 20, 25]) == pytest.approx(1)
    assert kendall([1, 2, 3], [1, 3, 2]) == pytest.approx(1 / 3)
    assert spearman([3, 2, 1], [1, 2, 3]) == kendall([3, 2, 1], [1, 2, 3]) == pytest.approx(-1)
    assert np.isnan(spearman([1, 1], [1, 2])) and np.isnan(kendall([1, 2], [5, 5]))
    assert ranks([10, 30, 20, 30]).tolist() == [4, 1.5, 3, 1.5]


def test_ties_count_on_neither_side():
    """Kendall's tau-b of (1, 1, 2) and (1, 2, 3): 2 pairs agree, one is tied on one side."""
    assert kendall([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / np.sqrt(2 * 3))


def test_rollout_of_uniform_causal_attention():
    """Abnar and Zuidema 2020; T=3, L=2."""
    expected = [[1, 0, 0], [0.4375, 0.5625, 0], [0.319444, 0.236111, 0.444444]]
    np.testing.assert_allclose(uniform_rollout(3, 2, causal=True), expected, atol=1e-5)


@pytest.mark.parametrize(("layers", "mass"), [(1, 0.0312), (4, 0.2337), (12, 0.7957), (24, 0.9884)])
def test_rollout_piles_up_on_the_first_token_without_any_attention_to_speak_of(layers, mass):
    assert uniform_rollout(16, layers, causal=True)[-1, 0] == pytest.approx(mass, abs=1e-4)


def test_rollout_of_a_capture_is_its_layers_multiplied():
    import attnviz
    from tests import tiny

    cap = attnviz.capture(attnviz.wrap(tiny.hf("LlamaForCausalLM")), input_ids=tiny.ids(5))
    expected = np.eye(5)
    for layer in range(3):
        mean = np.mean([cap.head(layer, h).weights for h in range(4)], axis=0) + np.eye(5)
        expected = mean / mean.sum(axis=1, keepdims=True) @ expected
    told = []
    rolled = rollout(cap, progress=lambda *step: told.append(step))
    assert told == [(1, 3), (2, 3), (3, 3)]
    np.testing.assert_allclose(rolled, expected, atol=1e-5)
    np.testing.assert_allclose(rollout(cap).sum(axis=1), 1, atol=1e-5)
