"""Which numbers in a mask mean "masked", and which are a bias."""

import pytest
import torch

from attnviz.capture.recording import is_masked, split_mask


@pytest.mark.parametrize("number", [-torch.inf, torch.finfo(torch.float32).min, -1e9, -1e30, -1e4])
def test_numbers_by_which_models_mask(number):
    """-10000 in older files, the lowest number of the dtype in newer ones."""
    assert is_masked(torch.tensor([number, 0.0])).tolist() == [True, False]


@pytest.mark.parametrize("number", [-20000.0, -9999.0, -1e6, 0.0, 1e9])
def test_numbers_that_are_a_bias_however_large(number):
    """As ALiBi's slope times the distance is, on a long text."""
    assert not is_masked(torch.tensor([number])).any()


def test_half_precision_masks_with_its_own_lowest_number():
    lowest = torch.finfo(torch.float16).min
    assert is_masked(torch.tensor([lowest, -30000.0], dtype=torch.float16)).tolist() == [
        True,
        False,
    ]
    assert is_masked(torch.tensor([torch.finfo(torch.bfloat16).min], dtype=torch.bfloat16)).all()


def test_numbers_that_are_no_floats_mask_nothing():
    assert not is_masked(torch.tensor([-(10**9), -10000])).any()


def test_a_mask_is_taken_apart_from_the_bias_it_carries():
    mask = torch.tensor([[[[0.0, -1.5, -torch.inf], [-2.0, 0.0, -1e9]]]])
    allowed, bias = split_mask(mask, 3)
    assert allowed.tolist() == [[[True, True, False], [True, True, False]]]
    assert bias.tolist() == [[[0.0, -1.5, 0.0], [-2.0, 0.0, 0.0]]]
    assert split_mask(torch.zeros(1, 1, 2, 3), 3)[1] is None
    assert split_mask(torch.ones(1, 1, 2, 4, dtype=torch.bool), 3)[0].shape == (1, 2, 3)
