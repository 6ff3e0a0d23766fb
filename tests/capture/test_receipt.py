"""The receipt: what was recorded is checked against what the model really did, or refused."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import attnviz
from attnviz.capture import strategies
from attnviz.capture.forward import run_forward
from attnviz.capture.receipt import check
from attnviz.capture.recording import rows_to_check
from tests import tiny


@pytest.fixture
def calls():
    """The calls of a capture whose check is still to come."""
    model = tiny.hf("LlamaForCausalLM", num_key_value_heads=2)
    return (
        strategies.STRATEGIES[0]
        .record(model, "decoder", run_forward, {"input_ids": tiny.ids(6)})[0]
        .calls
    )


def checked(calls, **changes):
    told = {
        "expected": 3,
        "method": "attention interface",
        "dtype": "float32",
        "attention": "sdpa",
        "lengths": {"decoder": 6},
    }
    return check(calls, **told | changes)


def test_a_right_recording_passes(calls):
    receipt = checked(calls)
    assert receipt.ok and receipt.rows_checked == 3 * 4 * 6 and receipt.projections == 3
    assert receipt.largest_error < 1e-5


@pytest.mark.parametrize("rows", ["mixed_rows", "output_rows"])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 3e-5), ("bfloat16", 3e-2), ("float16", 5e-3)]
)
def test_a_number_may_be_off_by_the_tolerance_and_no_more(calls, rows, dtype, tolerance):
    """As a part of the largest output; the model's own rounding is a thirtieth of it."""
    numbers = getattr(calls[1], rows)
    smallest = np.unravel_index(np.abs(numbers).argmin(), numbers.shape)
    real, size = numbers[smallest], max(1.0, float(np.abs(numbers).max()))
    numbers[smallest] = real + 0.95 * tolerance * size
    assert checked(calls, dtype=dtype).ok
    numbers[smallest] = real + 1.05 * tolerance * size
    with pytest.raises(attnviz.CaptureFailed, match=r"layers\.1.*could not be verified"):
        checked(calls, dtype=dtype)


def test_missing_blocks_are_refused(calls):
    with pytest.raises(attnviz.CaptureFailed, match="3 of 4 attention blocks"):
        checked(calls, expected=4)
    with pytest.raises(attnviz.CaptureFailed, match="2 of 3 attention blocks"):
        checked(calls[:2])


def test_two_blocks_of_one_layer_are_refused(calls):
    calls[1].block.layer = 0
    with pytest.raises(attnviz.CaptureFailed, match="Layer 0 of the decoder has 2"):
        checked(calls)


def test_a_wrong_slice_of_the_projection_is_refused(calls):
    """A slice of another head has the right shape."""
    projection = calls[2].block.projection
    calls[2].block.projection = replace(projection, weight=projection.weight.roll(8, 1))
    with pytest.raises(attnviz.CaptureFailed, match=r"layers\.2.*could not be verified"):
        checked(calls)


def test_values_of_the_wrong_head_are_refused(calls):
    """TransformerLensOrg/TransformerLens#1593: grouped values, in the wrong order."""
    calls[0].block.v = calls[0].block.v.flip(0)
    with pytest.raises(attnviz.CaptureFailed, match=r"layers\.0.*could not be verified"):
        checked(calls)


def test_a_cell_too_many_in_the_mask_is_refused(calls):
    block = calls[1].block
    block.mask, block.causal = torch.ones(1, 6, 6, dtype=torch.bool).tril(), False
    checked(calls)
    block.mask[0, 5, 2] = False
    with pytest.raises(attnviz.CaptureFailed, match=r"layers\.1.*could not be verified"):
        checked(calls)


def test_numbers_that_are_none_are_refused(calls):
    calls[0].mixed_rows[0, 0, 0] = float("nan")
    with pytest.raises(attnviz.CaptureFailed, match="could not be verified"):
        checked(calls)


def test_more_places_than_tokens_are_refused(calls):
    with pytest.raises(attnviz.UnsupportedModel, match="from 6 places to 6"):
        checked(calls, lengths={"decoder": 5})


@pytest.mark.parametrize("count", [1, 64, 65, 1000])
def test_the_rows_that_are_checked_are_spread_over_the_whole_text(count):
    rows = rows_to_check(count)
    assert rows[0] == 0 and rows[-1] == count - 1
    assert len(rows) == (count if count <= 64 else 8)
    gaps = [after - row for row, after in zip(rows, rows[1:], strict=False)]
    assert max(gaps, default=0) <= count / 7 + 1
