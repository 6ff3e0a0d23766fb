"""The picture of a matrix: every number at its place, sums only where they say something."""

import json
from typing import Any

import numpy as np

from attnviz.matrix_check.matrix_picture import MAX_PIXELS, _reduce_blocks, draw_matrix


def rows_of(chart: Any) -> list[list[dict[str, Any]]]:
    return list(chart.to_dict()["datasets"].values())


def test_every_cell_is_drawn_with_its_number_and_masked_cells_are_not() -> None:
    scores = np.array([[0.5, -np.inf], [-2.0, 1.5]])
    (cells,) = rows_of(draw_matrix(scores))
    drawn = {(cell["row"], cell["column"]): cell["number"] for cell in cells}
    assert drawn == {(0, 0): 0.5, (1, 0): -2.0, (1, 1): 1.5}


def test_colours_of_scores_are_centred_on_0_and_those_of_weights_start_there() -> None:
    spec = json.dumps(draw_matrix([[0.5, -2.0]]).to_dict())
    assert '"domain": [-2.0, 2.0]' in spec
    spec = json.dumps(draw_matrix([[0.25, 0.75]]).to_dict())
    assert '"domain": [0.0, 0.75]' in spec


def test_sums_stand_beside_weights_and_not_beside_scores() -> None:
    weights = np.array([[1.0, 0.0], [0.25, 0.75]])
    sums = [
        rows for rows in rows_of(draw_matrix(weights)) if "bottom" in rows[0] and "sum" in rows[0]
    ]
    assert [[round(row["sum"], 6) for row in rows] for rows in sums] == [[1, 1], [1.25, 0.75]]
    assert not any("sum" in row for rows in rows_of(draw_matrix(-weights)) for row in rows)


def test_the_first_row_is_at_the_top() -> None:
    (heat,) = draw_matrix(-np.eye(3)).to_dict()["vconcat"]
    assert heat["layer"][0]["encoding"]["y"]["scale"]["reverse"] is True


def test_a_large_matrix_keeps_of_each_block_what_is_furthest_from_0() -> None:
    size = 2 * MAX_PIXELS
    x = np.zeros((size, size))
    x[0, 1], x[size - 1, size - 1] = -7, 3
    small, shown = _reduce_blocks(x, np.ones(x.shape, bool))
    assert small.shape == (MAX_PIXELS, MAX_PIXELS) and shown.all()
    assert (small[0, 0], small[-1, -1]) == (-7, 3)


def test_one_image_stands_for_a_large_matrix_with_the_ends_of_its_axes() -> None:
    (spec,) = draw_matrix(np.random.default_rng(0).normal(size=(40, 60))).to_dict()["vconcat"]
    marks = [layer["mark"]["type"] for layer in spec["layer"]]
    assert marks == ["rect", "image"]
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [-0.5, 59.5]


def test_masks_and_infinities_alone_are_drawn_without_a_fault() -> None:
    for matrix in ([[-np.inf, -np.inf]], [[np.inf, 1.0]], np.full((50, 50), -np.inf), [[0, 0]]):
        assert draw_matrix(matrix).to_dict()
