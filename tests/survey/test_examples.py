"""Examples of a head: the cells that add most, on numbers that can be worked out by hand."""

from types import SimpleNamespace

import numpy as np

from attnviz.capture.row_chunks import RowChunk
from attnviz.survey.best_examples import Examples, TopCells
from attnviz.survey.corpus import Text
from attnviz.tokens import Token

TOKENS = [Token(n, word, word, n, n, n + 1, special=False) for n, word in enumerate("abc")]


def heads(value_norms):
    norms = np.float32([value_norms])
    return SimpleNamespace(projects=True, value_norms=norms, block=SimpleNamespace(layer=0))


def found(largest):
    capture = SimpleNamespace(query_tokens=lambda stack: TOKENS, key_tokens=lambda stack: TOKENS)
    examples = Examples(1)
    largest.offer_to(examples, Text(0, "one", "abc"), capture, "decoder", "abc")
    return examples.heads


def rows(weights, allowed):
    return RowChunk(np.float32([weights]), None, np.array([allowed], bool))


def test_the_cell_that_adds_most_is_weight_times_length():
    largest = TopCells()
    piece = rows([[0.5, 0.5, 0], [0.1, 0.7, 0.2]], [[1, 1, 0], [1, 1, 1]])
    largest.look(heads([3, 2, 9]), np.array([1, 2]), piece)
    (best,) = found(largest)[0, 0]
    assert (best.query, best.key, best.query_token, best.key_token) == (2, 2, "c", "c")
    assert (best.weight, best.contribution) == (np.float32(0.2), np.float32(0.2) * 9)


def test_a_row_that_has_no_choice_is_no_example():
    largest = TopCells()
    piece = rows([[1, 0, 0], [0.4, 0.6, 0]], [[1, 0, 0], [1, 1, 0]])
    largest.look(heads([5, 1, 0]), np.array([0, 1]), piece)
    (best,) = found(largest)[0, 0]
    assert (best.query, best.key) == (1, 0)
    assert best.contribution == np.float32(0.4) * 5


def test_later_rows_of_a_text_count_where_they_add_more():
    largest = TopCells()
    for row, weight in ((1, 0.3), (2, 0.8)):
        piece = rows([[1 - weight, weight, 0]], [[1, 1, row == 2]])
        largest.look(heads([0, 1, 0]), np.array([row]), piece)
    (best,) = found(largest)[0, 0]
    assert (best.query, best.key) == (2, 1)


def test_a_head_that_adds_nothing_has_no_example():
    largest = TopCells()
    largest.look(heads([0, 0, 0]), np.array([1]), rows([[0.5, 0.5, 0]], [[1, 1, 0]]))
    assert not found(largest)
