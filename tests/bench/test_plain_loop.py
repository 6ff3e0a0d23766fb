"""The loops that a survey is timed against measure what a survey measures."""

import copy

import numpy as np
import pytest

import attnviz
from attnviz.detectors import HEAD_MEASURES, profile
from attnviz.survey.best_examples import Examples, TopCells
from attnviz.survey.corpus import Text
from tests.bench import passage
from tests.bench.plain_loop import head_by_head, heads_at_once, measured


@pytest.mark.parametrize("way", [head_by_head, heads_at_once])
def test_a_loop_comes_to_the_numbers_of_a_survey(way):
    model = attnviz.load("smollm2-135m")
    plain = copy.deepcopy(model.hf)
    plain.set_attn_implementation("eager")
    text = passage.text(model.tokenizer, 96)
    largest = TopCells()
    capture = attnviz.capture(model, text)
    ours = profile(capture, look=largest.look)
    found = measured(plain, model.tokenizer, text, way)
    for name in HEAD_MEASURES:
        # a length in the residual stream is relative to the largest
        scale = max(1, float(np.nanmax(ours.ceilings[name])))
        for one, other in (
            (ours.values[name], found.values[name]),
            (ours.null(name), found.nulls[name]),
            (ours.ceilings[name], found.ceilings[name]),
        ):
            np.testing.assert_allclose(one / scale, other.numpy() / scale, atol=2e-5, err_msg=name)
    best = Examples(1)
    largest.offer_to(best, Text(0, "", text), capture, "decoder", text)
    for layer, (added, places) in enumerate(found.best):
        for head, (cell, place) in enumerate(zip(added.tolist(), places.tolist(), strict=True)):
            (kept,) = best.heads[layer, head]
            assert kept.contribution == pytest.approx(cell, rel=1e-3)
            assert (kept.query - 1, kept.key) == divmod(place, len(capture.query_tokens()))
