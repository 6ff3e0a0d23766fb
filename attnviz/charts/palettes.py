"""Colours of the charts: what each hue stands for, and ramps whose lightness only ever falls.

Every ramp gets darker from its low end to its high end, in equal steps of lightness (CIE L*), so
that more is darker also in grey and for every kind of colour vision. The ramps keep clear of
white and of black, so that they stand out on a light page and on a dark one.
"""

import numpy as np
from numpy.typing import NDArray

Ramp = NDArray[np.uint8]  # (step, 3): red, green, blue

STEPS = 126  # two entries more make a picture of seven bits: steps finer than an eye can tell

# L*, a*, b* at equal distances along the ramp; lightness only falls
_ANCHORS = {
    # score: amber below 0, neutral grey at 0, blue above it
    "score": [(93, 3, 48), (78, 8, 40), (63, 0, 0), (45, 8, -46), (27, 24, -54)],
    "below": [(95, -2, -4), (78, -4, -20), (61, 0, -38), (44, 9, -49), (27, 24, -54)],
    "weight": [(95, 5, -7), (78, 20, -25), (61, 36, -44), (44, 47, -56), (27, 44, -54)],
    "contribution": [(95, -7, 1), (78, -26, 2), (61, -36, 2), (45, -31, 0), (28, -22, -3)],
    # signed contribution: ochre against the head's output, pale at 0, teal along it
    "signed": [(96, -8, 60), (91, -3, 30), (86, 0, 0), (58, -34, 1), (28, -22, -3)],
    "measure": [(94, 0, -3), (78, -2, -11), (61, -3, -18), (44, -2, -22), (27, 1, -20)],
}

UNDEFINED = (214, 51, 132)  # loud on purpose: a number that should not be there
ACCENT = "#e8590c"  # the row in focus
MUTED = "#757a84"  # text that has to be legible on a light and on a dark ground
INK, PAPER = "#000000", "#ffffff"  # text on a light and on a dark patch
SOLID = {"weight": "#7a5bc4", "contribution": "#148f84", "against": "#b8770f"}
SIDES = {"a": SOLID["against"], "b": SOLID["contribution"]}
"""Two heads, as in the map of differences: where A is larger, and where B is."""


def ramp(name: str) -> Ramp:
    """(126, 3) uint8: the colours of one ramp, light to dark."""
    anchors = np.array(_ANCHORS[name], float)
    at, known = np.linspace(0, 1, STEPS), np.linspace(0, 1, len(anchors))
    lab = np.stack([np.interp(at, known, anchors[:, axis]) for axis in range(3)], axis=1)
    return np.rint(255 * _srgb(lab)).astype(np.uint8)


def hexes(name: str, count: int = 13) -> list[str]:
    """The ramp as a few hex colours, for a scale that interpolates between them."""
    colours = ramp(name)[np.linspace(0, STEPS - 1, count).round().astype(int)]
    return [hex_of(colour) for colour in colours]


def hex_of(colour: NDArray[np.uint8]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour.tolist())


def dark_from(name: str) -> float:
    """Where on a ramp, 0 to 1, white text becomes easier to read than black."""
    dark = luminance(ramp(name)) < 0.179  # equal contrast with black and with white
    return float(dark.argmax() / (STEPS - 1))


def luminance(colours: NDArray) -> NDArray[np.float64]:
    """WCAG relative luminance, 0 (black) to 1 (white), of (..., 3) colours in 0 to 255."""
    linear = np.asarray(colours, float) / 255
    linear = np.where(linear <= 0.04045, linear / 12.92, ((linear + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def _srgb(lab: NDArray[np.float64]) -> NDArray[np.float64]:
    """CIE L*a*b* (D65) to sRGB in 0 to 1."""
    fy = (lab[:, 0] + 16) / 116
    f = np.stack([fy + lab[:, 1] / 500, fy, fy - lab[:, 2] / 200], axis=1)
    xyz = np.where(f > 6 / 29, f**3, 3 * (6 / 29) ** 2 * (f - 4 / 29)) * [0.95047, 1.0, 1.08883]
    matrix = np.array(
        [
            [3.2404542, -1.5371385, -0.4985314],
            [-0.9692660, 1.8760108, 0.0415560],
            [0.0556434, -0.2040259, 1.0572252],
        ]
    )
    linear = np.clip(xyz @ matrix.T, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
