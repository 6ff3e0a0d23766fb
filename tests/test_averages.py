"""Rows that attend to nothing are left out of every average."""

import numpy as np
import pytest

import attnviz
from attnviz.detectors import head_grid
from attnviz.interventions import Ablate
from tests import tiny
from tests.planted_heads import PLANTED


@pytest.fixture(scope="module")
def padded():
    """A capture whose first three rows are padding, and attend to nothing."""
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    ids = [1, 1, 1, 5, 6, 7, 8, 9]
    return attnviz.capture(model, input_ids=ids, attention_mask=[0, 0, 0, 1, 1, 1, 1, 1])


def test_rows_that_attend_to_nothing_are_left_out_of_what_a_head_is_like(padded):
    """pytorch/pytorch#103749: a row that attends to nothing is no row of zeros to be averaged."""
    grid = head_grid(padded, "previous_token")
    for layer, h in np.ndindex(grid.shape):
        weights = padded.head(layer, h).weights
        assert not padded.head(layer, h).attends[:3].any()
        assert grid[layer, h] == pytest.approx(
            np.mean([weights[i, i - 1] for i in range(3, 8)]), abs=1e-6
        )


def test_rows_that_attend_to_nothing_are_left_out_of_the_mean_of_a_head(padded):
    head = padded.head(1, 0)
    replaced = Ablate(how="mean").apply(head).output
    np.testing.assert_allclose(replaced[5], head.output[3:].mean(axis=0), atol=1e-6)


def test_the_rows_looked_at_in_a_long_text_are_at_their_own_places():
    """A previous-token head is one at 150 tokens as well, of which 64 rows are looked at."""
    place = next(place for place, kind in PLANTED.items() if kind == "previous-token")
    model = attnviz.load("planted-circuit")
    words = "the cat sat on the mat".split()
    cap = attnviz.capture(model, " ".join(words[i * i % 6] for i in range(120)))
    assert len(cap.query_tokens()) > 100
    grid = head_grid(cap, "previous_token")
    assert grid[place] > 0.9
    assert np.unravel_index(np.nanargmax(grid), grid.shape) == place
