import numpy as np
import pytest

from attnviz.charts import palettes

RAMPS = ["score", "below", "weight", "contribution", "signed", "measure"]
LIGHT, DARK = (255, 255, 255), (14, 17, 23)  # the two grounds of a page

# Machado, Oliveira and Fernandes 2009, severity 1, in linear light
DEFICIENCIES = {
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


@pytest.mark.parametrize("name", RAMPS)
def test_every_step_is_darker_than_the_one_before(name):
    luminance = palettes.luminance(palettes.ramp(name))
    assert (np.diff(luminance) < 0.0015).all()  # eight bits a channel: a step may stand still
    assert (np.diff(luminance[::4]) < 0).all()
    assert luminance[0] - luminance[-1] > 0.6


@pytest.mark.parametrize("name", RAMPS)
@pytest.mark.parametrize("kind", DEFICIENCIES)
def test_every_kind_of_colour_vision_sees_the_same_order(name, kind):
    linear = (palettes.ramp(name) / 255.0) ** 2.2
    seen = np.clip(linear @ np.array(DEFICIENCIES[kind]).T, 0, 1)
    grey = seen @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(grey[::8]) < 0).all()


@pytest.mark.parametrize("name", RAMPS)
def test_neither_end_melts_into_a_light_or_a_dark_page(name):
    ends = palettes.ramp(name)[[0, -1]].astype(int)
    for ground in (LIGHT, DARK):
        assert np.abs(ends - ground).max(axis=1).min() >= 10


def test_scores_are_neutral_at_zero_and_two_hues_apart_from_it():
    colours = palettes.ramp("score").astype(int)
    middle = colours[len(colours) // 2]
    assert np.ptp(middle) <= 6
    assert colours[20, 0] - colours[20, 2] > 60  # red over blue: amber below 0
    assert colours[-20, 2] - colours[-20, 0] > 60  # blue above it


def contrast(one, other):
    light, dark = sorted(palettes.luminance(np.array([one, other])), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def rgb(colour):
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


@pytest.mark.parametrize("name", ["weight", "contribution", "signed"])
def test_the_text_of_a_chip_can_be_read_on_every_shade(name):
    colours = palettes.ramp(name)
    for step, colour in enumerate(colours[::4].tolist()):
        share = 4 * step / (len(colours) - 1)
        ink = palettes.PAPER if share >= palettes.dark_from(name) else palettes.INK
        assert contrast(rgb(ink), colour) >= 4.5, (name, share)


def test_muted_text_is_legible_on_both_pages():
    for ground in (LIGHT, DARK):
        assert contrast(rgb(palettes.MUTED), ground) >= 4.2


def test_hex_stops_are_the_ramp_itself():
    stops = palettes.hexes("signed")
    colours = palettes.ramp("signed")
    assert [rgb(stop) for stop in (stops[0], stops[-1])] == [
        tuple(colours[0].tolist()),
        tuple(colours[-1].tolist()),
    ]
    assert len(stops) % 2 == 1  # the middle is one of them: 0 of a signed scale
