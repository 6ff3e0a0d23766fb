"""Masks of a head, case by case, on numbers small enough to check by hand."""

import numpy as np
import pytest

from attnviz.heads.head import Head
from attnviz.heads.masks import MASK_REASONS


def head_of(allowed, **options):
    allowed = np.asarray(allowed, bool)
    queries, keys = allowed.shape
    flat = np.zeros((queries, 1)), np.zeros((keys, 1)), np.zeros((keys, 1))
    return Head(*flat, scaling=1.0, allowed=allowed, **options)


def reasons(head):
    return [[MASK_REASONS[reason] for reason in row] for row in head.mask_reason]


def test_a_band_around_the_diagonal_looks_ahead_and_is_not_causal():
    """A local encoder sees one token ahead, and no future is hidden from it."""
    near = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    head = head_of(near, window=2)
    assert not head.causal
    assert reasons(head)[0] == ["allowed", "allowed", "outside the window", "outside the window"]
    assert head_of(np.tri(4)).causal


def test_one_key_is_no_evidence_of_a_causal_model():
    assert not head_of([[1]]).causal
    assert not head_of(np.tri(3), stack="cross").causal


def test_padding_of_the_source_masks_columns_of_cross_attention_and_no_rows():
    padding = np.array([False, False, True])
    head = head_of([[1, 1, 0], [1, 1, 0], [0, 0, 0]], stack="cross", padding=padding)
    assert reasons(head)[0] == ["allowed", "allowed", "padding"]
    assert reasons(head)[2] == ["blocked by the model", "blocked by the model", "padding"]
    wide = head_of([[1, 1, 0], [1, 1, 0]], stack="cross", padding=padding)
    assert reasons(wide) == [["allowed", "allowed", "padding"]] * 2


def test_a_row_attends_if_any_key_is_left():
    head = head_of([[1, 0], [0, 0], [1, 1]])
    assert head.attends.tolist() == [True, False, True]


def test_temperatures_multiply():
    logs = np.log(np.float32([[16, 1]]))
    head = Head(logs, np.eye(2), np.eye(2), scaling=1.0)
    np.testing.assert_allclose(head.temper(2).temper(2).weights, [[2 / 3, 1 / 3]], atol=1e-6)
    np.testing.assert_allclose(head.temper(4).temper(0.25).weights, head.weights, atol=1e-6)


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_a_head_that_was_tempered_is_another_head(factor):
    head = head_of(np.tri(3))
    assert head.temper(factor) is not head and head.temperature == 1.0
