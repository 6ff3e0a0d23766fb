"""Plans: what is measured is said of more texts as it is."""

import pytest
import torch

import attnviz
from attnviz.survey import plan
from attnviz.survey.cost_plan import Plan


def test_time_grows_with_texts_and_shrinks_with_workers_but_for_adding_up():
    found = Plan("texts", None, 16, 100.0, seconds=2.0, adding=0.5, stored=1.0, memory=0)
    assert found.duration(10) == 25
    assert found.duration(10, workers=4) == 10


def test_a_plan_measures_the_first_texts_alone_and_leaves_the_threads_as_they_were():
    read = []

    def texts():
        for number in range(10_000):
            read.append(number)
            yield f"text {number}", "red fox ran home " * 3, ""

    before = torch.get_num_threads()
    found = plan("planted-circuit", attnviz.survey.Corpus("made", texts))
    assert found.texts == 16 and len(read) <= 17 and found.count is None
    assert torch.get_num_threads() == before
    assert found.tokens == 14 and min(found.seconds, found.adding, found.stored) > 0


def test_a_plan_of_nothing_is_refused_with_the_reason():
    with pytest.raises(attnviz.BadInput, match="None of the first texts.*surrogate"):
        plan("planted-circuit", ["\ud800"])
    with pytest.raises(attnviz.BadInput, match="It holds none"):
        plan("planted-circuit", [])
