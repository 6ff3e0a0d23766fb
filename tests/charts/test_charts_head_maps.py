"""All heads as small maps: one picture, whose colours are the weights on the printed scale."""

import numpy as np
import pytest

import attnviz
from attnviz.capture import row_chunks
from attnviz.charts.palettes import STEPS, ramp
from attnviz.charts.small_maps import mosaic
from attnviz.detectors import Thumbnails, thumbnails
from tests import tiny
from tests.charts.heads import Read


@pytest.fixture(scope="module")
def capture():
    return attnviz.capture(
        attnviz.load("planted-circuit"), "red fox ran home red fox ran home red fox"
    )


def colour(weight):
    return ramp("weight")[round(weight * (STEPS - 1))].tolist()


def draw(maps, **options):
    shown = np.ones(maps.cells.shape[:2], bool)
    return Read(mosaic(maps, **({"layer": 0, "head": 0, "shown": shown} | options)))


def sheet(read):
    (found,) = [picture for picture in read.pictures() if len(picture) > 1]  # not the colour bar
    return found


def test_a_short_text_has_a_pixel_a_weight(capture):
    """jessevig/bertviz#82, #110: an overview of all heads comes at reduced size, as one picture."""
    maps = thumbnails(capture)
    assert maps.block == 1
    for layer, head in ((0, 0), (1, 2)):
        shown = capture.head(layer, head)
        cells = maps.cells[layer, head].astype(float)
        np.testing.assert_allclose(cells[shown.allowed], shown.weights[shown.allowed], atol=1e-3)
        assert np.isnan(cells[~shown.allowed]).all()


@pytest.mark.parametrize("rows", [4, 2])  # at a time: more than a block has, and fewer
def test_a_long_text_has_block_maxima_and_says_so(capture, monkeypatch, rows):
    """meta-llama/llama3#155, jessevig/bertviz#61: a maximum is not called a weight."""
    monkeypatch.setattr(row_chunks, "CELLS", 3 * 11 * rows)
    maps = thumbnails(capture, pixels=4)
    assert maps.block == 3 and maps.cells.shape == (2, 3, 4, 4)
    head = capture.head(1, 0)
    for y, x in np.ndindex(4, 4):
        rows, keys = slice(3 * y, 3 * y + 3), slice(3 * x, 3 * x + 3)
        allowed = head.allowed[rows, keys]
        if allowed.any():
            largest = head.weights[rows, keys][allowed].max()
            assert maps.cells[1, 0, y, x] == pytest.approx(largest, abs=1e-3)
        else:
            assert np.isnan(maps.cells[1, 0, y, x])
    assert "Each pixel is the largest of 3 by 3 tokens." in draw(maps).titles()
    assert "Each pixel is one weight." in draw(thumbnails(capture)).titles()


def test_each_map_stands_in_its_place_and_masked_is_transparent():
    cells = np.full((2, 2, 3, 3), np.nan, np.float16)
    cells[0, 1, 2, 0], cells[1, 0, 0, 0] = 1.0, 0.25
    image = sheet(draw(Thumbnails(cells, 1)))
    assert image.shape[:2] == (8, 8), "a pixel apart"
    assert image[2, 4, :3].tolist() == colour(1.0) and image[4, 0, :3].tolist() == colour(0.25)
    assert np.count_nonzero(image[..., 3]) == 2


def test_sorted_maps_stand_in_order_with_their_names_and_a_filter_leaves_out():
    cells = np.zeros((2, 2, 3, 3), np.float16)
    for number in range(4):
        cells[number // 2, number % 2] = number / 4
    read = draw(Thumbnails(cells, 1), order=[(1, 1), (0, 0), (1, 0)], words=["a", "b", "c"])
    image = sheet(read)
    assert image[0, 0, :3].tolist() == colour(0.75) and image[0, 4, :3].tolist() == colour(0)
    assert read.params["map_layers"] == [1, 0, 1] and read.params["map_heads"] == [1, 0, 0]
    assert read.params["map_words"][0] == "layer 1, head 1: a"
    assert "Each pixel is one weight. Named layer.head." in read.titles()
    shown = np.array([[True, False], [True, True]])
    filtered = draw(Thumbnails(cells, 1), shown=shown)
    assert not sheet(filtered)[0:3, 4:7, 3].any()
    assert filtered.params["map_words"][1] == "layer 0, head 1: left out"


def test_powers_of_ten_are_equal_steps_of_colour_and_printed_below_the_bar():
    """meta-llama/llama3#155: most weights of a long text are small, and look alike from 0 to 1."""
    cells = np.array([1, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 0, np.nan], np.float16)
    maps = Thumbnails(cells.reshape(1, 2, 2, 2), 1)
    read = draw(maps, colour="log")
    image = sheet(read)
    found = [*image[:2, :2].reshape(4, 4), *image[:2, 3:5].reshape(4, 4)]
    steps = [1, 0.75, 0.5, 0.25, 0, 0, 0]
    for shown, step in zip(found, steps, strict=False):
        assert np.abs(shown[:3].astype(int) - colour(step)).max() <= 3, step  # float16 rounds
    assert found[7][3] == 0, "masked is no small weight"
    (across,) = (
        unit["encoding"]["x"]
        for unit in read.units
        if unit["encoding"].get("x", {}).get("scale", {}).get("type") == "log"
    )
    np.testing.assert_allclose(across["axis"]["values"], [1e-4, 1e-3, 1e-2, 0.1, 1])
    assert across["scale"]["domain"] == [1e-4, 1]
    assert "Weights, log scale, 0.0001 to 1" in read.titles()


def test_the_log_scale_is_the_same_for_any_head():
    small = Thumbnails(np.full((1, 1, 2, 2), 1e-3, np.float16), 1)
    both = Thumbnails(np.array([1e-3] * 4 + [1] * 4, np.float16).reshape(1, 2, 2, 2), 1)
    alone, beside = (sheet(draw(maps, colour="log"))[0, 0] for maps in (small, both))
    assert alone.tolist() == beside.tolist()


def test_a_click_gives_layer_and_head(capture):
    (pick,) = (p for p in draw(thumbnails(capture)).spec["params"] if p["name"] == "pick_head")
    assert pick["select"]["fields"] == ["layer", "head"]


def test_a_cross_stack_has_maps_that_are_not_square():
    model = attnviz.wrap(tiny.hf("BartForConditionalGeneration"))
    ids = tiny.ids(7)[0]
    capture = attnviz.capture(model, input_ids=ids[:4], decoder_input_ids=ids)
    maps = thumbnails(capture, "cross")
    assert maps.cells.shape == (3, 2, 7, 4) and not np.isnan(maps.cells).any()
    assert sheet(draw(maps)).shape[:2] == (24, 10)
