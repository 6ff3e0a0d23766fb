"""Mistakes in the comparison of two heads."""

from tests.mutation.trial import broken

_COMPARISON = "tests/test_comparison.py::test_"
_COMPARED = "tests/charts/test_compared.py::test_"

MUTATIONS = (
    broken(
        "a difference is A minus B",
        "comparison.py",
        "second - first, 0.0)",
        "first - second, 0.0)",
        _COMPARISON + "the_difference_is_b_minus_a_cell_by_cell",
    ),
    broken(
        "a difference minds the mask of one side only",
        "comparison.py",
        "shown = a.allowed & b.allowed",
        "shown = a.allowed",
        _COMPARISON + "a_cell_that_either_side_masks_has_no_difference",
    ),
    broken(
        "scores are compared with their level",
        "comparison.py",
        "values - largest",
        "values - 0 * largest",
        _COMPARISON + "scores_from_the_rows_largest_have_no_level",
    ),
    broken(
        "what goes to no token is left out of a distance",
        "comparison.py",
        "np.column_stack([head.weights, head.sink]) for head in (a, b)",
        "head.weights for head in (a, b)",
        _COMPARISON + "what_goes_to_no_token_is_one_more_place",
    ),
    broken(
        "rows that attend to nothing count in the nearness of heads",
        "detectors/alike.py",
        "found.allowed.any(axis=-1) & attends[piece]",
        "attends[piece]",
        _COMPARISON + "nearness_leaves_out_rows_that_attend_to_nothing",
    ),
    broken(
        "the two sides of a comparison have a colour scale each",
        "charts/compared_panels.py",
        "scale = _shared(values, scenes, of, colour)",
        "scale = _shared(values[:1], scenes, of, colour)",
        _COMPARED + "both_sides_share_one_scale_and_the_same_number_has_the_same_colour",
    ),
)
