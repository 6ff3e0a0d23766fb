import numpy as np
import pytest

from attnviz import charts
from attnviz.errors import BadInput
from tests.charts.heads import Read, causal, head_of

LABELS = ["The", "␣cat", "␣it"]


def test_the_finding_is_told_with_its_numbers():
    head = causal(np.log([[1, 1, 1], [1, 3, 1], [1, 7, 2]]), LABELS, layer=5, head=1)
    assert charts.describe_pair(head, 2) == (
        "Scores and weights of layer 5, head 1: 3 queries by 3 keys. "
        '"␣it" (2) gives its largest weight, 0.7, to "␣cat" (1), whose score is 1.95; '
        'next comes "␣it" (2) with 0.2. No key is masked for it.'
    )


def test_masked_keys_are_counted_and_a_row_of_one_key_has_no_next():
    text = charts.describe_pair(causal(np.zeros((3, 3)), LABELS), 0)
    assert text.endswith("whose score is 0. 2 keys are masked for it.")


def test_a_sink_is_named():
    head = head_of(np.zeros((1, 3)), sink_logit=0.0)
    assert "The sink, no token at all, takes 0.25." in charts.describe_pair(head, 0)
    assert Read(charts.pair(head, query=0)).params["row_text"] == [
        '"t0" (0), weight 0.25; the sink takes 0.25'
    ]


def test_a_row_that_attends_to_nothing_says_so():
    head = head_of(np.zeros((2, 2)), LABELS, allowed=np.array([[0, 0], [1, 1]], bool))
    assert '"The" (0) attends to nothing' in charts.describe_pair(head, 0)


def test_an_unknown_query_is_refused():
    with pytest.raises(BadInput):
        charts.describe_pair(head_of(np.zeros((2, 2))), 2)


def test_undefined_weights_are_not_called_attention():
    scores = np.array([[1.0, np.nan], [0.0, 0.0]])
    head = head_of(scores, LABELS)
    assert 'The weights of "The" (0) are undefined' in charts.describe_pair(head, 0)
    assert Read(charts.pair(head, query=1)).params["row_text"][0] == "?"
