import numpy as np

from attnviz import charts
from attnviz.charts import cell_images, palettes
from attnviz.heads.masks import FUTURE, PADDING, WINDOW
from tests.charts.heads import Read, causal, head_of, pixels, random_scores


def test_a_cell_is_a_pixel_of_its_colour():
    ramp = palettes.ramp("weight")
    shown = np.array([[True, True], [False, True]])
    drawn = pixels(cell_images.cells(np.array([[0.0, 1.0], [0.5, np.nan]]), ramp, shown))
    assert drawn[0, 0].tolist() == [*ramp[0].tolist(), 255]
    assert drawn[0, 1].tolist() == [*ramp[-1].tolist(), 255]
    assert drawn[1, 0, 3] == 0
    assert drawn[1, 1].tolist() == [*palettes.UNDEFINED, 255]


def test_all_values_of_a_map_are_where_the_matrix_has_them():
    head = causal(random_scores(6))
    ramp = palettes.ramp("weight").astype(int)
    drawn = Read(charts.pair(head, query=2)).map_of((6, 6), 1)
    for row, key in np.ndindex(6, 6):
        if head.allowed[row, key]:
            at = np.abs(ramp - drawn[row, key, :3]).sum(axis=1).argmin() / (len(ramp) - 1)
            assert abs(at - head.weights[row, key]) < 0.0045
        else:
            assert drawn[row, key, 3] == 0


def test_the_reasons_of_a_mask_have_hatches_of_their_own():
    masked = np.zeros((4, 4), np.uint8)
    looks = [masked + reason for reason in (FUTURE, PADDING, WINDOW)]
    drawn = [pixels(cell_images.hatch(look, np.zeros(4, bool)))[..., 3] for look in looks]
    assert all(0.05 < (look > 0).mean() < 0.3 for look in drawn)
    assert not (drawn[0] == drawn[1]).all() and not (drawn[1] == drawn[2]).all()


def test_only_masked_cells_are_hatched():
    head = causal(random_scores(3))
    hatch = pixels(Read(charts.pair(head, query=0)).params["score_hatch"])[..., 3]
    side = len(hatch) // 3
    for row, key in np.ndindex(3, 3):
        cell = hatch[row * side : (row + 1) * side, key * side : (key + 1) * side]
        assert (cell > 0).any() == (key > row)


def test_a_row_that_attends_to_nothing_looks_like_no_other():
    allowed = np.array([[0, 0, 0], [1, 1, 0], [1, 1, 1]], bool)
    read = Read(charts.pair(head_of(random_scores(3), allowed=allowed), query=1))
    hatch = pixels(read.params["score_hatch"])[..., 3] > 0
    side = len(hatch) // 3
    nothing, partly = hatch[:side], hatch[side : 2 * side]
    assert 0 < nothing.mean() < 0.05 < partly[:, 2 * side :].mean()
    assert not read.map_of((3, 3), 1)[0, :, 3].any()
    assert "attends to nothing" in read.titles()
    assert read.params["row_text"][0] == ""


def test_no_hatch_and_no_legend_entry_where_nothing_is_masked():
    titles = Read(charts.pair(head_of(random_scores(3)), query=0)).titles()
    assert not [title for title in titles if "masked" in title or "nothing" in title]
