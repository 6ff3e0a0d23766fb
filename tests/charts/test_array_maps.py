"""Maps of arrays that are no head: every number shown is a number given, on the ends asked for."""

import json

import numpy as np
import pytest

from attnviz.charts import ArrayMap, heatmap, packing
from attnviz.errors import BadInput
from tests.charts.heads import Read, random_scores, tokens

NAMES = ["a", "b <i>"]
HALF = [[1.0, -np.inf], [0.25, 0.75]]


def number(picture, letter, row, key):
    return packing.decode(packing.unpack(picture.params[f"{letter}_rows"][row], key))


def colour_ends(picture):
    """The domains of the colour bars, in drawing order."""
    axes = [unit["encoding"]["x"] for unit in picture.units if "x" in unit["encoding"]]
    bars = [x for x in axes if "format(datum.value" in str((x.get("axis") or {}).get("labelExpr"))]
    return [x["scale"]["domain"] for x in bars]


def test_a_map_has_every_number_and_none_where_it_is_masked():
    picture = Read(heatmap(HALF, NAMES))
    assert [number(picture, "a", *cell) for cell in ((0, 0), (1, 0), (1, 1))] == [1, 0.25, 0.75]
    assert number(picture, "a", 0, 1) == "masked: future"
    opaque = picture.map_of((2, 2))[..., 3] > 0
    assert opaque.tolist() == [[True, False], [True, True]]
    assert picture.params["a_key_labels"] == picture.params["a_query_labels"] == NAMES


def test_a_number_that_is_undefined_is_told_from_a_masked_one():
    picture = Read(heatmap([[np.nan, 1.0]], ["a"], key_tokens=NAMES))
    assert number(picture, "a", 0, 0) == "undefined" and "undefined" in picture.titles()
    assert picture.map_of((1, 2))[0, 0].tolist() == [214, 51, 132, 255]


@pytest.mark.parametrize(
    ("array", "ends"),
    [([[0, 0.5]], [0, 1]), ([[0, 8]], [0, 8]), ([[-1, 3]], [-3, 3]), ([[0, 0]], [0, 1])],
)
def test_colours_suit_the_numbers_where_no_ends_are_given(array, ends):
    assert colour_ends(Read(heatmap(array, ["a"], key_tokens=NAMES))) == [ends]


def test_maps_with_the_same_ends_have_the_same_colour_for_the_same_number():
    one = ArrayMap([[0.0, 1.0]], "one", "weight", 0, 1)
    other = ArrayMap([[1.0, 9.0]], "other", "weight", 0, 1)
    picture = Read(heatmap([one, other], ["a"], key_tokens=NAMES))
    first, second = (picture.map_of((1, 2), n) for n in (0, 1))
    assert (first[0, 1] == second[0, 0]).all()
    assert (second[0, 0] == second[0, 1]).all(), "what lies beyond has the colour of the end"
    assert colour_ends(picture) == [[0, 1], [0, 1]]


def test_rows_of_all_maps_are_linked_and_say_where_their_largest_number_is():
    one, other = ArrayMap(HALF, "one"), ArrayMap([[0, 0], [3, 5]], "other")
    picture = Read(heatmap([one, other], NAMES, query=1))
    assert picture.params["a_focus"] == "hovered<0?1:hovered" and "b_focus" not in picture.params
    assert picture.params["b_row"] == "b_rows[a_focus]"
    assert picture.params["said"][1] == (
        '"b <i>": one at most 0.75, to "b <i>". other at most 5, to "b <i>".'
    )


def test_a_users_words_are_data_and_never_part_of_an_expression():
    picture = Read(heatmap(ArrayMap(HALF, "'+evil+'"), ["'+alert(1)+'", "${y}"]))
    marks = json.dumps(picture.units)
    assert "alert(1)" not in marks and "${y}" not in marks
    assert picture.params["panel_titles"] == ["'+evil+'"]


def test_tokens_of_a_capture_keep_their_looks():
    picture = Read(heatmap(HALF, tokens("<s>", "cat", special=(0,))))
    assert picture.params["a_key_special"] == [1, 0]


def test_a_large_array_is_drawn_in_a_window_around_the_row_and_says_so():
    chart = heatmap(random_scores(500), [str(n) for n in range(500)], query=400)
    picture = Read(chart)
    assert picture.params["a_query_positions"] == list(range(244, 500))
    assert "rows 244 to 499 of 500, keys 244 to 499 of 500" in picture.titles()
    assert len(json.dumps(chart.to_dict())) < 800_000


def test_every_map_is_valid_vega_lite():
    for count in (1, 2, 3):
        chart = heatmap([ArrayMap(HALF, str(n)) for n in range(count)], NAMES)
        assert chart.to_dict(validate=True) == chart.to_dict(validate=False)


def test_what_does_not_fit_is_refused_in_words():
    with pytest.raises(BadInput, match="does not fit 1 query tokens"):
        heatmap(HALF, ["a"])
    with pytest.raises(BadInput, match="no query 2"):
        heatmap(HALF, NAMES, query=2)
    with pytest.raises(BadInput, match="4 maps"):
        heatmap([ArrayMap(HALF)] * 4, NAMES)
