"""Matrices as small PNG pictures: one pixel a cell, coloured here and scaled up in the browser."""

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from attnviz.charts.palettes import STEPS, UNDEFINED, Ramp
from attnviz.heads.masks import BLOCKED, FUTURE, PADDING, REMOVED, WINDOW

_MASKED, _UNDEFINED, _FIRST = 0, 1, 2  # palette entries
_HATCH = (128, 128, 128)
_HATCH_OPACITY = 96  # of 255
_PERIOD = 7  # pixels between two lines of a hatch
_MANY = 2**18  # pixels from which 3 % fewer bytes are not worth five times the time
NOTHING = 255  # in a reason picture: the whole row attends to nothing


def cells(position: NDArray, colours: Ramp, shown: NDArray) -> str:
    """A data address of a PNG, a pixel a cell.

    Args:
        position: (query, key), 0 to 1 along the ramp; NaN is drawn as undefined.
        colours: the ramp.
        shown: (query, key) bool; False is transparent.
    """
    undefined = ~np.isfinite(position)
    index = _FIRST + np.rint(np.where(undefined, 0, position).clip(0, 1) * (STEPS - 1))
    index = np.where(undefined, _UNDEFINED, index)
    index = np.where(shown, index, _MASKED).astype(np.uint8)
    palette = np.concatenate([[(0, 0, 0), UNDEFINED], colours])
    return _png(index, palette, opacity=[0])


def bar(colours: Ramp, low: float, high: float, count: int = 96) -> str:
    """The stretch of a ramp from one position (0 to 1) to another, as a strip one pixel high."""
    index = np.rint(np.linspace(low, high, count) * (STEPS - 1)).astype(int)
    return _address(Image.fromarray(colours[index][None, :]))


def hatch(reason: NDArray[np.uint8], nothing: NDArray[np.bool_]) -> str:
    """Masked cells as a hatch whose direction tells the reason; all else transparent.

    Args:
        reason: (query, key), numbers of `attnviz.MASK_REASONS`.
        nothing: (query,) bool, rows that attend to nothing: sparse dots instead.
    """
    reason = np.where(nothing[:, None], NOTHING, reason).astype(np.uint8)
    scale = int(np.clip(round(420 / max(reason.shape)), 1, 48))
    big = reason.repeat(scale, 0).repeat(scale, 1)
    y, x = np.indices(big.shape)
    lines = {
        FUTURE: (x + y) % _PERIOD == 0,
        PADDING: (x - y) % _PERIOD == 0,
        WINDOW: y % _PERIOD == 3,
        REMOVED: ((x + y) % _PERIOD == 0) | ((x - y) % _PERIOD == 0),
        BLOCKED: x % _PERIOD == 3,
        NOTHING: (x % _PERIOD == 3) & (y % _PERIOD == 3),
    }
    drawn = np.zeros(big.shape, bool)
    for name, line in lines.items():
        drawn |= (big == name) & line
    return _png(drawn.astype(np.uint8), np.array([_HATCH, _HATCH]), opacity=[0, _HATCH_OPACITY])


def swatch(reason: int) -> str:
    """A small patch of one hatch, for a legend."""
    whole = np.full((1, 1), 0 if reason == NOTHING else reason, np.uint8)
    return hatch(whole, np.array([reason == NOTHING]))


def undefined() -> str:
    """A small patch of the colour of undefined cells."""
    return _address(Image.new("RGB", (1, 1), UNDEFINED))


def _png(index: NDArray[np.uint8], palette: NDArray, opacity: list[int]) -> str:
    picture = Image.frombytes("P", index.shape[::-1], np.ascontiguousarray(index).tobytes())
    picture.putpalette(np.asarray(palette, np.uint8).ravel().tolist())
    return _address(picture, transparency=bytes(opacity))


def _address(picture: Image.Image, **options: Any) -> str:
    buffer = io.BytesIO()
    many = picture.width * picture.height > _MANY
    picture.save(buffer, "PNG", compress_level=7 if many else 9, **options)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
