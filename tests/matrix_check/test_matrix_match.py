"""Which head a matrix comes from, on tiny models whose heads all differ."""

from collections.abc import Iterator

import numpy as np
import pytest

import attnviz
from attnviz import Capture
from attnviz.matrix_check import describe_match, find_closest_head, find_head
from attnviz.matrix_check.match import MEAN
from tests import tiny


@pytest.fixture(scope="module")
def llama() -> Iterator[Capture]:
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    yield attnviz.capture(model, input_ids=tiny.ids(9))


@pytest.fixture(scope="module")
def bart() -> Iterator[Capture]:
    model = attnviz.wrap(tiny.hf("BartForConditionalGeneration"))
    yield attnviz.capture(model, input_ids=tiny.ids(7), decoder_input_ids=tiny.ids(5, seed=3))


def place(found: object) -> tuple[object, ...]:
    assert found is not None
    return found.stack, found.layer, found.head, found.which, found.transposed


def test_every_head_is_found_by_its_weights_and_by_its_scores(llama: Capture) -> None:
    for layer in llama.layers():
        for number in range(llama.heads(layer)):
            head = llama.head(layer, number)
            here = ("decoder", layer, number)
            assert place(find_head(head.weights, llama)) == (*here, "weights", False)
            assert place(find_head(head.weights.T, llama)) == (*here, "weights", True)
            assert place(find_head(head.scores, llama)) == (*here, "scaled", False)
            assert place(find_head(head.stages["dot"], llama)) == (*here, "dot", False)


def test_rounding_and_masks_of_other_kinds_do_not_hide_a_head(llama: Capture) -> None:
    head = llama.head(1, 2)
    assert place(find_head(head.weights.round(2), llama))[:4] == ("decoder", 1, 2, "weights")
    zero = np.where(head.allowed, head.scores, 0)
    low = np.where(head.allowed, head.scores, -1e9)
    for matrix in (zero, low, head.scores.round(1)):
        assert place(find_head(matrix, llama))[:4] == ("decoder", 1, 2, "scaled")
    with np.errstate(divide="ignore"):
        logs = np.log(head.weights)
    assert place(find_head(logs, llama))[:4] == ("decoder", 1, 2, "log_weights")


def test_the_mean_over_the_heads_of_a_layer_is_found(llama: Capture) -> None:
    mean = np.mean([llama.head(2, h).weights for h in range(4)], axis=0)
    found = find_head(mean, llama)
    assert place(found) == ("decoder", 2, None, MEAN, False)
    assert found is not None and "mean of the weights of all heads" in found.as_text()


def test_a_head_of_every_stack_is_found(bart: Capture) -> None:
    for stack in bart.stacks:
        head = bart.head(1, 1, stack)
        assert place(find_head(head.weights, bart)) == (stack, 1, 1, "weights", False)


def test_a_matrix_from_elsewhere_matches_none(llama: Capture) -> None:
    other = attnviz.wrap(tiny.hf("LlamaForCausalLM", seed=1, num_key_value_heads=2))
    foreign = attnviz.capture(other, input_ids=tiny.ids(9)).head(0, 0).weights
    assert find_head(foreign, llama) is None
    words = describe_match(foreign, llama)
    assert words.startswith("It matches none of the 12 heads")
    assert "The nearest is" in words


def test_one_cell_that_differs_is_enough(llama: Capture) -> None:
    changed = llama.head(0, 0).weights.copy()
    changed[5, 2] += 0.001
    assert find_head(changed, llama) is None
    nearest = find_closest_head(changed, llama)
    assert nearest is not None and nearest.error == pytest.approx(0.001, rel=1e-3)
    assert find_head(changed, llama, tolerance=0.002) is not None


def test_a_matrix_of_another_size_matches_none_and_the_sizes_are_named(llama: Capture) -> None:
    assert find_head(np.full((4, 4), 0.25), llama) is None
    assert "9 x 9" in describe_match(np.full((4, 4), 0.25), llama)


def test_heads_that_are_alike_are_all_named() -> None:
    model = attnviz.load("planted-circuit")
    cap = attnviz.capture(model, "the red fox saw the red fox")
    found = find_head(cap.head(0, 2).weights, cap)
    assert found is not None
    alike = {(one.layer, one.head) for one in (found, *found.also)}
    assert {(0, 2), (1, 2)} <= alike  # the two uniform heads
    assert "more agree as well" in describe_match(cap.head(0, 2).weights, cap)
