"""Two heads side by side: when they have a difference, what it is, how far apart rows are."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import attnviz
from attnviz.capture.block import Block
from attnviz.capture.result import Capture
from attnviz.detectors import alike
from attnviz.errors import BadInput
from attnviz.heads import head as head_module
from attnviz.heads.compared_row import rows_of
from attnviz.heads.comparison import (
    difference,
    even_distances,
    quantity,
    row_distances,
    same_keys,
    same_queries,
    why_apart,
)
from tests import tiny
from tests.charts.heads import causal, head_of, tokens
from tests.fixtures_tokenizers import byte_level_bpe

LN4 = math.log(4)


def test_the_difference_is_b_minus_a_cell_by_cell():
    a, b = causal([[0, 0], [0, 0]]), causal([[5, 0], [LN4, 0]])
    found = difference(a, b)
    assert found.values.round(6).tolist() == [[0, 0], [0.3, -0.3]]
    assert found.shown.tolist() == [[True, False], [True, True]]
    assert found.largest == (1, 0)
    scores = difference(a, b, "scores")
    assert scores.values.round(4).tolist() == [[5, 0], [1.3863, 0]], "masked is 0 and not shown"


def test_scores_from_the_rows_largest_have_no_level():
    """Softmax sees only differences within a row, so a constant on a row is no difference."""
    scores = np.array([[1.0, 2, 0], [3, 1, 1], [0, 0, 5]])
    a, b = head_of(scores), head_of(scores + [[7], [-2], [0.5]])
    assert np.abs(difference(a, b, "relative").values).max() < 1e-6
    assert np.abs(difference(a, b).values).max() < 1e-6
    assert difference(a, b, "scores").values.round(3).tolist() == [[7] * 3, [-2] * 3, [0.5] * 3]
    assert quantity(a, "relative").max(axis=1).tolist() == [0, 0, 0]


def test_a_cell_that_either_side_masks_has_no_difference():
    full, half = head_of(np.zeros((2, 2))), causal(np.zeros((2, 2)))
    for a, b in ((full, half), (half, full)):
        found = difference(a, b)
        assert found.shown.tolist() == [[True, False], [True, True]]
        assert found.values[0, 1] == 0
    assert difference(full, half).values[0, 0] == 0.5


@pytest.mark.parametrize(
    "a, b, why",
    [
        ((2, ["a", "b"]), (3, ["a", "b", "c"]), "A has 2 tokens and B has 3."),
        (
            (2, ["a", "b"]),
            (2, ["a", "c"]),
            'The tokens part at position 1: A has "b" and B has "c".',
        ),
        ((2, ["a", "b"]), (2, ["a", "b"]), ""),
    ],
)
def test_axes_agree_token_for_token_or_there_is_no_difference(a, b, why):
    one, two = (head_of(np.zeros((n, n)), labels) for n, labels in (a, b))
    assert why_apart(one, two) == why
    if why:
        with pytest.raises(BadInput, match="have no difference") as raised:
            difference(one, two)
        assert raised.value.why == why
    else:
        assert difference(one, two).largest is None


def test_a_special_token_is_not_the_text_of_the_same_letters():
    plain, special = tokens("a", "b"), tokens("a", "b", special=(0,))
    one, same, other = (head_of(np.zeros((2, 2)), axis) for axis in (plain, plain, special))
    assert same_keys(one, same) and not same_keys(one, other)


def test_rectangles_say_which_side_differs():
    a = head_of(np.zeros((2, 3)), stack="cross")
    b = head_of(np.zeros((2, 4)), stack="cross")
    assert why_apart(a, b) == "A has 3 keys and B has 4."
    assert same_queries(a, b) and not same_keys(a, b)
    c = head_of(np.zeros((1, 3)), stack="cross")
    assert why_apart(a, c) == "A has 2 queries and B has 1."
    assert same_keys(a, c) and not same_queries(a, c)


def test_rows_are_compared_some_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = (head_of(rng.normal(size=(7, 5))) for _ in range(2))
    whole = row_distances(a, b), even_distances(a)
    monkeypatch.setattr(head_module, "CELLS", 3 * 5)
    told = []
    parts = row_distances(a, b, progress=lambda *done: told.append(done)), even_distances(a)
    assert told == [(3, 7), (6, 7), (7, 7)]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one.total_variation, other.total_variation, atol=1e-6)
        np.testing.assert_allclose(one.jensen_shannon, other.jensen_shannon, atol=1e-6)


def test_distances_of_rows_by_hand():
    """Total variation and Jensen-Shannon of (0.5, 0.5) and (0.9, 0.1): 0.4 and 0.101749 nats."""
    a, b = head_of([[0.0, 0], [0, 0]]), head_of([[math.log(9), 0], [0, 0]])
    found = row_distances(a, b)
    assert found.total_variation.round(6).tolist() == [0.4, 0]
    assert found.jensen_shannon.round(6).tolist() == [0.101749, 0]
    assert found.means == (pytest.approx(0.2), pytest.approx(0.101749 / 2, abs=1e-6))
    disjoint = row_distances(head_of([[200.0, 0]]), head_of([[0, 200.0]]))
    assert disjoint.jensen_shannon[0] == pytest.approx(math.log(2), abs=1e-6)
    assert disjoint.total_variation[0] == pytest.approx(1)


def test_a_row_that_attends_to_nothing_is_left_out_of_the_means():
    allowed = np.array([[False, False], [True, True]])
    a = head_of([[0.0, 0], [LN4, 0]], allowed=allowed)
    b = head_of([[0.0, 9], [0, 0]])
    found = row_distances(a, b)
    assert np.isnan(found.total_variation[0]) and np.isnan(found.jensen_shannon[0])
    assert found.counted == 1 and found.means[0] == pytest.approx(0.3, abs=1e-6)
    none = row_distances(head_of([[0.0]], allowed=[[False]]), head_of([[0.0]]))
    assert none.counted == 0 and np.isnan(none.means[0])


def test_an_undefined_row_has_no_distance_and_its_cells_stay_undefined():
    a, b = head_of([[np.nan, 0], [0, 0]]), head_of(np.zeros((2, 2)))
    assert np.isnan(row_distances(a, b).total_variation).tolist() == [True, False]
    assert np.isnan(difference(a, b).values[0]).all()


def test_what_goes_to_no_token_is_one_more_place():
    """With a sink logit of 0 over one key of score 0, half of the row goes to no token."""
    a, b = head_of([[0.0]], sink_logit=0.0), head_of([[0.0]])
    assert a.weights[0, 0] == 0.5
    assert row_distances(a, b).total_variation[0] == pytest.approx(0.5)
    assert even_distances(a).total_variation[0] == pytest.approx(0.5)
    assert even_distances(b).total_variation[0] == 0


def test_the_sinks_logit_stands_with_the_scores_and_its_share_with_the_weights():
    a, b = head_of([[1.0, 3.0]], sink_logit=2.0), head_of([[1.0, 3.0]])
    for of, of_sink in (("weights", float(a.sink[0])), ("scores", 2.0), ("relative", -1.0)):
        last = rows_of(a, b, 0, 0, of).iloc[-1]
        assert last["Token"] == "(sink: no token)" and np.isnan(last["B"])
        assert last["A"] == pytest.approx(of_sink)
    assert len(rows_of(b, b, 0, 0, "scores")) == 2


def test_rows_over_other_keys_have_no_distance():
    with pytest.raises(BadInput, match="cannot be compared"):
        row_distances(head_of(np.zeros((2, 2))), head_of(np.zeros((2, 3))))


def test_an_unknown_quantity_is_refused_by_name():
    with pytest.raises(BadInput, match="no quantity 'logits'"):
        quantity(head_of([[0.0]]), "logits")


def test_nearness_of_all_heads_is_what_comparing_each_gives():
    model = attnviz.load("planted-circuit")
    capture = attnviz.capture(model, "red fox ran home red fox ran")
    found = alike(capture, 1, 0)
    one = capture.head(1, 0)
    for layer in capture.layers():
        for head in range(capture.heads(layer)):
            total, nats = row_distances(one, capture.head(layer, head)).means
            assert found.total_variation[layer, head] == pytest.approx(total, abs=1e-6)
            assert found.jensen_shannon[layer, head] == pytest.approx(nats, abs=1e-6)
    assert (1, 0) not in found.order and len(found.order) == 5
    assert found.order == sorted(found.order, key=lambda at: found.total_variation[at])
    others = [found.total_variation[at] for at in found.order]
    assert found.means[0] == pytest.approx(np.mean(others))
    assert alike(capture, 0, 2).order[0] == (1, 2), "the two uniform heads"


@pytest.mark.parametrize("family", ["GptOssForCausalLM", "MistralForCausalLM"])
def test_nearness_with_sinks_and_windows(family):
    """Layers of one model may mask unlike, and a sink's share is one more place."""
    words = byte_level_bpe()
    model = attnviz.wrap(
        tiny.hf(family, vocab_size=len(words), sliding_window=3, num_key_value_heads=2), words
    )
    capture = attnviz.capture(model, "the cat sat on the mat")
    found, one = alike(capture, 0, 1), capture.head(0, 1)
    for layer in capture.layers():
        for head in range(capture.heads(layer)):
            total, nats = row_distances(one, capture.head(layer, head)).means
            assert found.total_variation[layer, head] == pytest.approx(total, abs=1e-5)
            assert found.jensen_shannon[layer, head] == pytest.approx(nats, abs=1e-5)


def test_nearness_looks_at_no_more_rows_than_asked():
    model = attnviz.load("planted-circuit")
    capture = attnviz.capture(model, "red fox ran home red fox ran")
    found = alike(capture, 1, 0, rows=2)
    far = row_distances(capture.head(1, 0), capture.head(0, 0)).total_variation
    assert found.rows == 2
    assert found.total_variation[0, 0] == pytest.approx((far[0] + far[-1]) / 2, abs=1e-6)


def test_nearness_leaves_out_rows_that_attend_to_nothing():
    """A layer of its own mask: row 0 of layer 1 may look at no key."""
    mask = torch.tensor([[[False, False], [True, True]]])
    shape = {"q": torch.ones(1, 2, 1), "k": torch.tensor([[[1.0], [3]]]), "v": torch.ones(1, 2, 1)}
    blocks = [
        Block("decoder", layer, "m", **shape, scaling=1.0, mask=mask if layer else None)
        for layer in range(2)
    ]
    capture = Capture(
        blocks, {"decoder": tokens("a", "b")}, None, SimpleNamespace(name="m", dtype="float32")
    )
    assert capture.head(1, 0).attends.tolist() == [False, True]
    assert alike(capture, 0, 0).total_variation[1, 0] == pytest.approx(0, abs=1e-6)
    assert alike(capture, 1, 0).total_variation[0, 0] == pytest.approx(0, abs=1e-6)
