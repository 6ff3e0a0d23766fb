"""The picture of two heads side by side: one scale, exact numbers, what is masked and linked."""

import json

import numpy as np
import pytest

from attnviz.charts import packing
from attnviz.charts.compared import compared
from attnviz.charts.compared_panels import WHOLE, WINDOW, panels
from attnviz.charts.describe_compared import describe_compared
from attnviz.errors import BadInput
from attnviz.heads.comparison import difference, quantity
from tests.charts.heads import Read, causal, head_of, random_scores

NAMES = ("A", "B")


def read(a, b, **options):
    return Read(compared(a, b, **{"query": 0} | options))


def drawn(a, b, of="weights", query=0, colour="unit", **options):
    options = {"other_query": None, "names": NAMES} | options
    return panels(a, b, query=query, of=of, colour=colour, **options)


def number(picture, letter, row, key):
    return packing.decode(packing.unpack(picture.params[f"{letter}_rows"][row], key))


@pytest.fixture(scope="module")
def two():
    return causal(random_scores(6)), causal(random_scores(6, seed=1))


@pytest.mark.parametrize("of", ["weights", "relative", "scores"])
def test_tooltips_have_the_numbers_of_both_sides_and_of_the_difference(two, of):
    a, b = two
    picture = read(a, b, of=of)
    expected = {"a": quantity(a, of), "b": quantity(b, of), "d": difference(a, b, of).values}
    for letter, values in expected.items():
        for row, key in np.ndindex(6, 6):
            shown = number(picture, letter, row, key)
            if key > row:
                assert shown == "masked: future"
            else:
                assert float(shown) == pytest.approx(values[row, key], rel=6e-4, abs=1e-12)


def test_both_sides_share_one_scale_and_the_same_number_has_the_same_colour(two):
    scores = random_scores(6)
    other = scores * 3
    other[2] = scores[2]
    found = drawn(causal(scores), causal(other), of="scores")
    a, b, d = found.each
    assert a.scale is b.scale and d.scale is not a.scale
    assert a.scale.high == pytest.approx(np.tril(other).max(), rel=1e-6)
    picture = read(causal(scores), causal(other), of="scores")
    first, second = (picture.map_of((6, 6), n) for n in (0, 1))
    assert (first[2] == second[2]).all() and (first[5] != second[5]).any()


def test_the_difference_is_centred_on_0_and_its_ends_are_printed(two):
    *_, d = drawn(*two).each
    assert d.scale.low == -d.scale.high and d.scale.marks == (d.scale.low, 0, d.scale.high)
    assert d.scale.high >= np.abs(difference(*two).values).max()
    middle = read(two[0], two[0]).map_of((6, 6), 2)
    assert len({tuple(pixel) for pixel in middle[np.tril_indices(6)]}) == 1, "no difference at all"


def test_a_cell_that_either_side_masks_is_transparent_in_the_difference():
    full, half = head_of(random_scores(4)), causal(random_scores(4, seed=1))
    picture = read(full, half)
    opaque = [picture.map_of((4, 4), n)[..., 3] > 0 for n in range(3)]
    assert opaque[0].all()
    assert (opaque[1] == half.allowed).all() and (opaque[2] == half.allowed).all()
    assert number(picture, "d", 0, 3) == "masked: future"


def test_texts_of_other_tokens_stand_side_by_side_without_a_difference():
    a, b = causal(random_scores(5)), causal(random_scores(3))
    picture = read(a, b, query=4, other_query=1)
    assert picture.params["panel_titles"] == ["A", "B"] and "d_rows" not in picture.params
    assert picture.params["a_focus"] == "hovered<0||side!==0?4:hovered"
    assert picture.params["b_focus"] == "hovered<0||side!==1?1:hovered"
    assert len(picture.params["a_key_labels"]) == 5 and len(picture.params["b_key_labels"]) == 3
    with pytest.raises(BadInput, match="no query 4"):
        compared(a, b, query=4, other_query=4)


def test_rows_are_linked_where_the_queries_are_the_same_tokens():
    a = head_of(random_scores(3, 4), ["x", "y", "z", "end"], stack="cross")
    b = head_of(random_scores(3, 5), ["x", "y", "z", "end", "more"], stack="cross")
    found = drawn(a, b, query=2, other_query=1)
    assert found.linked and found.apart
    picture = read(a, b, query=2, other_query=1)
    assert picture.params["a_focus"] == "hovered<0?2:hovered"
    assert "b_focus" not in picture.params, "one row is in focus for both"
    assert picture.params["b_row"] == "b_rows[a_focus]"


def test_each_row_says_what_both_attend_to_and_how_far_apart_they_are(two):
    a, b = causal([[0, 0], [0, 0]], ["x", "y"]), causal([[0, 0], [9, 0]], ["x", "y"])
    first, second = drawn(a, b).said
    assert first[1] == 'A: "y" (1) attends most to "x" (0), weight 0.5.'
    assert second[1].startswith('B: "y" (1) attends most to "x" (0), weight 1.')
    assert second[1].endswith("Total variation 0.5.")


def test_rows_without_weights_say_so():
    nothing = head_of(np.zeros((2, 2)), allowed=[[False, False], [True, True]])
    broken = head_of([[0, 0], [np.nan, 0]])
    first, second = drawn(nothing, broken).said
    assert first[0] == 'A: "t0" (0) attends to nothing.'
    assert second[1] == 'B: "t1" (1) has undefined weights.'
    picture = read(nothing, broken)
    assert number(picture, "a", 0, 0) == "none: the row attends to nothing"
    assert number(picture, "b", 1, 0) == "undefined" == number(picture, "d", 1, 0)


def test_a_readers_words_are_data_and_never_part_of_an_expression():
    """vega/vega#3027-like: a token or a model's name must not be read as an expression."""
    words = ["'+alert(1)+'", '"];x', "${y}"]
    a, b = causal(random_scores(3), words), causal(random_scores(3, seed=1), words)
    picture = read(a, b, names=("A: '+evil+'", 'B: "];bad'))
    for param in picture.spec["params"]:
        assert not any(word in str(param.get("expr", "")) for word in [*words, "evil", "bad"])
    marks = json.dumps(picture.units)
    assert not any(word in marks for word in ["alert(1)", "evil", "];bad"])


@pytest.mark.parametrize(
    "size, mask, most",
    [
        (64, "causal", 80_000),
        (128, "causal", 250_000),
        (WHOLE, "full", 800_000),
        (900, "full", 800_000),
    ],
)
def test_the_picture_stays_small_enough_to_be_sent(size, mask, most):
    make = causal if mask == "causal" else head_of
    a, b = make(random_scores(size)), make(random_scores(size, seed=1))
    chart = compared(a, b, query=size // 2)
    assert len(json.dumps(chart.to_dict())) < most


def test_a_long_text_is_drawn_in_a_window_that_both_sides_share():
    a, b = causal(random_scores(400)), causal(random_scores(400, seed=1))
    found = drawn(a, b, query=300)
    one, other, d = found.each
    assert one.scene.rows.tolist() == other.scene.rows.tolist() and 300 in one.scene.rows
    assert len(one.scene.rows) == WINDOW and d.values.shape == (WINDOW, WINDOW)
    place = one.scene.place
    assert d.values[place, :100] == pytest.approx(
        difference(a, b).values[300, one.scene.keys[:100]]
    )
    assert found.notes == [one.scene.note] and "of 400" in one.scene.note


def test_the_words_state_the_largest_difference_with_both_numbers(two):
    a, b = causal([[0, 0], [0, 0]], ["x", "y"]), causal([[0, 0], [9, 0]], ["x", "y"])
    words = describe_compared(a, b, query=1)
    assert 'is 0.5, from "y" (1) to "x" (0): 0.5 in A and 1 in B.' in words
    assert "No cell differs." in describe_compared(a, a, query=1)
    apart = describe_compared(a, causal([[0.0]]), query=1, other_query=0)
    assert "There is no difference to draw. A has 2 tokens and B has 1." in apart
