"""The picture of a view as SVG and PNG, with its provenance inside."""

import base64
import io
import json
import re
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from html import escape, unescape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, PngImagePlugin

from attnviz.errors import AttnvizError, TooLarge
from attnviz.export import provenance
from attnviz.export.vector_cells import with_paths

if TYPE_CHECKING:
    from attnviz.export.view import View

WIDTH = 1080  # pixels of a picture that follows the room it gets
NARROW = 640  # of one that fills a column
HEIGHT = 900  # of the window that it is laid out for
SCALE = 2  # pixels of a PNG to one of the picture
_ROOMIER = 1.4  # labels are cut later: fonts here are not those that room was reckoned for
SECONDS = 90  # after which a drawing is given up
MOST_BYTES = 40 * 2**20  # of a chart's specification
_CONVERTER = Path(__file__).with_name("converter.py")
# A drawing takes a processor and 230 MB while it lasts: one at a time, whoever asks.
_ONE = threading.Lock()
_KEYWORD = "attnviz"
# Of a text in a PNG Pillow unpacks 1 MB; the tokens of a long text are more. All texts of a PNG
# together are still held to its 64 MB.
PngImagePlugin.MAX_TEXT_CHUNK = provenance.MOST_READ
_METADATA = re.compile(r'<metadata id="attnviz">(.*?)</metadata>', re.DOTALL)


def make_specification(view: "View", *, still: bool = True) -> dict[str, Any]:
    """The chart of a view as Vega-Lite, on white.

    still: for a picture without a window: what asks for the window's size is told one.
    """
    written = json.dumps(view.chart.to_dict(validate=False))
    # JSON has no NaN and no infinity; a chart draws nothing there either way
    spec: dict[str, Any] = json.loads(written, parse_constant=lambda name: None)
    spec["background"] = "white"
    parts = {"hconcat", "vconcat", "concat", "facet"}
    if view.flexible:
        spec["width"] = WIDTH
    elif not isinstance(spec.get("width"), int) and not parts & set(spec):
        spec["width"] = NARROW  # a chart that is as wide as a page lets it
    return _fix_window(spec) if still else spec


def to_svg(view: "View") -> bytes:
    """The picture as SVG. Its title, its description and its provenance are inside."""
    text = with_paths(str(draw_specification(make_specification(view), ["svg"])["svg"]))
    written = escape(provenance.write(view.provenance), quote=False)
    opening, rest = text.split(">", 1)
    head = (
        f"<title>{escape(view.title)}</title><desc>{escape(view.finding)}</desc>"
        f'<metadata id="attnviz">{written}</metadata>'
    )
    return f'{opening} role="img">{head}{rest}'.encode()


def to_png(view: "View") -> bytes:
    """The picture as PNG, twice as fine as on a screen. Its provenance is in a text chunk."""
    drawn = draw_specification(make_specification(view), ["png"])["png"]
    picture = Image.open(io.BytesIO(base64.b64decode(drawn)))
    texts = PngImagePlugin.PngInfo()
    texts.add_itxt("Title", view.title, zip=True)
    texts.add_itxt("Description", view.finding, zip=True)
    texts.add_itxt(_KEYWORD, provenance.write(view.provenance), zip=True)
    out = io.BytesIO()
    picture.save(out, "PNG", pnginfo=texts, dpi=picture.info["dpi"])
    return out.getvalue()


def read_svg_provenance(data: bytes) -> dict[str, Any]:
    """The provenance in an SVG that `to_svg` wrote."""
    found = _METADATA.search(data.decode("utf-8", "replace"))
    return provenance.read(unescape(found[1][: provenance.MOST_READ]) if found else "")


def read_png_provenance(data: bytes) -> dict[str, Any]:
    """The provenance in a PNG that `to_png` wrote; no pixel is unpacked."""
    try:
        note = Image.open(io.BytesIO(data), formats=["PNG"]).info.get(_KEYWORD, "")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        provenance.refuse_file(error)
    return provenance.read(str(note))


_SCRIPTS: list[str] = []  # 0.9 MB, the same for every page: made once


def draw_with_scripts(view: "View") -> tuple[str, str]:
    """The picture as plain SVG, and all the JavaScript that draws it in a browser: vega, vega-lite
    and vega-embed."""
    want = ["svg"] if _SCRIPTS else ["svg", "js"]
    found = draw_specification(make_specification(view), want)
    if "js" in found:
        _SCRIPTS[:] = [str(found["js"])]
    return with_paths(str(found["svg"])), _SCRIPTS[0]


def draw_specification(spec: Mapping[str, Any], want: Sequence[str]) -> dict[str, Any]:
    """What the drawing process makes of a specification.

    Raises:
        TooLarge: the chart holds too much, or takes too long.
        AttnvizError: what draws is not installed, or failed.
    """
    if find_spec("vl_convert") is None:
        raise AttnvizError(
            what="SVG, PNG and HTML cannot be made here.",
            why="They are drawn by the package vl-convert-python, which is not installed.",
            todo="Install it with pip, or save the numbers: CSV, Parquet, NPZ, JSON.",
        )
    asked = json.dumps({"spec": spec, "want": list(want), "scale": SCALE}).encode()
    if len(asked) > MOST_BYTES:
        raise TooLarge(
            what=f"The picture holds {len(asked) / 2**20:.0f} MB.",
            why=f"At most {MOST_BYTES // 2**20} MB are drawn.",
            todo="Choose a smaller part, or save the numbers.",
        )
    command = [sys.executable, "-P", str(_CONVERTER)]
    try:
        with _ONE:
            done = subprocess.run(command, input=asked, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        raise TooLarge(
            what="The picture was not finished.",
            why=f"It took more than {SECONDS} seconds.",
            todo="Choose a smaller part, or save the numbers.",
        ) from error
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no word"]
        raise AttnvizError(
            what="The picture could not be drawn.",
            why=f"The drawing process said: {last[0][:200]}",
            todo="Save the numbers, and report it.",
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _fix_window(value: Any, name: str = "") -> Any:
    """The same specification for a picture without a window and a browser's fonts."""
    if isinstance(value, dict):
        return {
            key: _fix_window(part, f"{name}.{key}" if key == "expr" else key)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [_fix_window(item) for item in value]
    if name.endswith("expr") and isinstance(value, str):
        value = value.replace("windowSize()[1]", str(HEIGHT))
    if name == "labelLimit.expr":
        return f"({value})*{_ROOMIER}"
    if name == "labelLimit" and isinstance(value, int | float):
        return value * _ROOMIER
    return value
