import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.charts import packing


@given(st.floats(min_value=1e-23, max_value=1e12), st.sampled_from([1, -1]))
def test_a_number_keeps_four_significant_digits(size, sign):
    value = sign * size
    code = int(packing.encode(np.array(value)))
    assert packing.decode(code) == pytest.approx(float(f"{value:.4g}"), rel=1e-12)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "undefined"),
        (0.0, "0"),
        (-0.0, "0"),
        (1e-30, "under 1e-24"),
        (-1e-30, "\u2212(under 1e-24)"),
        (1e20, "over 1e13"),
        (float("-inf"), "\u2212(over 1e13)"),
    ],
)
def test_what_four_digits_cannot_say_has_a_name(value, said):
    assert packing.decode(int(packing.encode(np.array(value)))) == said


def test_ties_round_as_python_prints_them():
    ties = np.array([1000.5, 1001.5, 2.0625, 0.15625, 9999.5, 0.99995])
    for value, code in zip(ties.tolist(), packing.encode(ties).tolist(), strict=True):
        assert packing.decode(code) == pytest.approx(float(f"{value:.4g}"), rel=1e-12)


def test_a_masked_cell_says_why_whatever_its_number():
    codes = packing.encode(np.array([0.5, 0.5, np.nan]), reason=np.array([0, 1, 2]))
    said = [packing.decode(code) for code in codes.tolist()]
    assert said == [0.5, "masked: future", "masked: padding"]


def test_a_row_comes_back_as_it_went_in():
    codes = packing.encode(np.array([[0.25, -3.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0, 5.0]]))
    rows = packing.pack(codes)
    for row, text in zip(codes.tolist(), rows, strict=True):
        assert [packing.unpack(text, index) for index in range(5)] == row


def test_a_last_code_that_repeats_is_written_once():
    (row,) = packing.pack(packing.encode(np.array([[0.5, 0.0, 0.0, 0.0]])))
    assert len(row) == 2 * 3
    (same,) = packing.pack(packing.encode(np.array([[0.5, 0.5]])))
    assert len(same) == 3


def test_packed_text_needs_no_escape():
    assert len(set(packing.DIGITS)) == packing.BASE == 88
    assert json.dumps(packing.DIGITS) == f'"{packing.DIGITS}"'
    assert not set("<>&'\"\\") & set(packing.DIGITS)
