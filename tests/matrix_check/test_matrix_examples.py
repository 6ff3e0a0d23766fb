"""The ready examples: each is what its label says, and is judged to be that."""

import numpy as np
import pytest

from attnviz import LoadedModel, check_matrix
from attnviz import matrix_check as mc
from attnviz.matrix_check import EXAMPLES
from attnviz.matrix_check.ready_examples import RECORDED

JUDGED = {
    "weights": (mc.WEIGHTS, "rows"),
    "scores": (mc.SCORES, "rows"),
    "low": (mc.SCORES, "rows"),
    "zero_masked": (mc.ZERO_MASKED_SCORES, "rows"),
    "transposed": (mc.WEIGHTS, "columns"),
    "rounded": (mc.ROUNDED_WEIGHTS, "rows"),
    "head_mean": (mc.WEIGHTS, "rows"),
    "head_sum": (mc.SCALED_WEIGHTS, "rows"),
    "sink": (mc.SINK_WEIGHTS, "rows"),
    "twice": (mc.SOFTMAX_TWICE, "rows"),
    "logs": (mc.LOG_WEIGHTS, "rows"),
    "not_divided": (mc.POSITIVE_ROWS, None),
    "uniform": (mc.UNIFORM_WEIGHTS, "rows"),
    "temperature": (mc.WEIGHTS, "rows"),
    "published_triple": (mc.ROUNDED_WEIGHTS, "rows"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_judged_to_be_what_it_is(name: str) -> None:
    example = EXAMPLES[name]
    verdict = check_matrix(example.matrix, example.other)
    assert (verdict.kind, verdict.axis) == JUDGED[name]


def test_the_head_mean_is_labelled_and_the_doubt_is_named() -> None:
    example = EXAMPLES["head_mean"]
    assert "mean" in example.really_is
    assert mc.HEAD_MEAN in check_matrix(example.matrix).could_be


def test_the_temperature_of_the_example_is_found() -> None:
    example = EXAMPLES["temperature"]
    assert check_matrix(example.matrix, example.other).temperature == pytest.approx(1.7, rel=1e-4)


def test_titles_do_not_give_the_answer_away() -> None:
    for example in EXAMPLES.values():
        assert not {"scores of", "transposed", "rounded", "mean", "sink", "twice"} & set(
            example.title.lower().split()
        )
    assert len({example.title for example in EXAMPLES.values()}) == len(EXAMPLES)


def test_the_recorded_scores_are_what_the_models_give(
    smollm2: LoadedModel, minilm: LoadedModel
) -> None:
    import attnviz

    of_model = RECORDED["smollm2-135m"]
    cap = attnviz.capture(smollm2, RECORDED["text"])
    layer = of_model["layer"]
    head = cap.head(layer, 5)
    np.testing.assert_allclose(EXAMPLES["scores"].matrix, head.scores, atol=2e-3)
    assert of_model["heads"] == list(range(cap.heads(layer)))
    assert len(of_model["scores"]) == cap.heads(layer)
    mean = np.mean([cap.head(layer, h).weights for h in range(cap.heads(layer))], axis=0)
    np.testing.assert_allclose(EXAMPLES["head_mean"].matrix, mean, atol=2e-3)
    of_model = RECORDED["minilm-l6"]
    (number,) = of_model["heads"]
    head = attnviz.capture(minilm, RECORDED["text"]).head(of_model["layer"], number)
    np.testing.assert_allclose(EXAMPLES["transposed"].matrix.T, head.weights, atol=2e-3)
