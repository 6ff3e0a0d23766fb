"""Cells as shapes: the maps in an SVG, which are small pictures scaled up, drawn as paths.

Scaled up without smoothing they are exact in a browser; other programs (for slides, papers, print)
blur them, and a page whose policy forbids pictures shows none. A path of all cells of one colour is
neither blurred nor forbidden.
"""

import base64
import io
import re

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MOST_RUNS = 60_000  # in one picture; a map of noise over many tokens stays a picture
_IMAGE = re.compile(
    r'<image (?=[^>]*?href="data:image/png;base64,(?P<png>[^"]+)")'
    r'(?=[^>]*?transform="(?P<place>translate\([-\d.,e]+\))")'
    r'(?=[^>]*?width="(?P<width>[\d.]+)")(?=[^>]*?height="(?P<height>[\d.]+)")[^>]*?/>'
)
_SMOOTHED = 64  # pixels of a side from which a picture without sharp cells is a hatch, and stays


def with_paths(svg: str) -> str:
    """The same SVG with its maps as paths.

    >>> with_paths("<svg></svg>")
    '<svg></svg>'
    """
    return _IMAGE.sub(_draw_image, svg)


def _draw_image(found: "re.Match[str]") -> str:
    picture = Image.open(io.BytesIO(base64.b64decode(found["png"])))
    if "pixelated" not in found[0] and min(picture.size) > _SMOOTHED:
        return found[0]
    pixels = np.asarray(picture.convert("RGBA"))
    colours = _find_runs(pixels)
    if sum(map(len, colours.values())) > MOST_RUNS:
        return found[0]
    rows, columns = pixels.shape[:2]
    scale = f"scale({float(found['width']) / columns:.6g},{float(found['height']) / rows:.6g})"
    shapes = [_draw_runs(colour, runs) for colour, runs in colours.items()]
    return (
        f'<g transform="{found["place"]} {scale}" shape-rendering="crispEdges">'
        f"{''.join(shapes)}</g>"
    )


def _find_runs(pixels: NDArray[np.uint8]) -> dict[tuple[int, ...], list[tuple[int, int, int]]]:
    """{colour: [(row, first column, length)]}: neighbours of one colour in a row are one run."""
    found: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
    for row, line in enumerate(pixels):
        changes = np.flatnonzero((line[1:] != line[:-1]).any(axis=1)) + 1
        edges = [0, *changes.tolist(), len(line)]
        for first, last in zip(edges, edges[1:], strict=False):
            colour = tuple(line[first].tolist())
            if colour[3]:
                found.setdefault(colour, []).append((row, first, last - first))
    return found


def _draw_runs(colour: tuple[int, ...], runs: list[tuple[int, int, int]]) -> str:
    red, green, blue, alpha = colour
    opacity = "" if alpha == 255 else f' fill-opacity="{alpha / 255:.3g}"'
    shape = "".join(f"M{first} {row}h{length}v1h-{length}z" for row, first, length in runs)
    return f'<path fill="#{red:02x}{green:02x}{blue:02x}"{opacity} d="{shape}"/>'
