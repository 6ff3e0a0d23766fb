"""The picture of a view as SVG and PNG, with its provenance inside."""

import base64
import json
import math
import re
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
MOST_NOTE = 64 * 2**20  # of the provenance in a picture that is read back
MOST_BYTES = 40 * 2**20  # of a chart's specification
_CONVERTER = Path(__file__).with_name("converter.py")
# A drawing takes a processor and 230 MB while it lasts: one at a time, whoever asks.
_ONE = threading.Lock()
_KEYWORD = b"attnviz"
_METADATA = re.compile(r'<metadata id="attnviz">(.*?)</metadata>', re.DOTALL)


def specification(view: "View", *, width: int = WIDTH, still: bool = True) -> dict[str, Any]:
    """The chart of a view as Vega-Lite, on white.

    still: for a picture without a window: what asks for the window's size is told one.
    """
    spec: dict[str, Any] = _finite(view.chart.to_dict(validate=False))
    spec["background"] = "white"
    parts = {"hconcat", "vconcat", "concat", "facet"}
    if view.flexible:
        spec["width"] = width
    elif not isinstance(spec.get("width"), int) and not parts & set(spec):
        spec["width"] = NARROW  # a chart that is as wide as a page lets it
    return _told(spec) if still else spec


def svg(view: "View") -> bytes:
    """The picture as SVG. Its title, its description and its provenance are inside."""
    text = with_paths(str(drawn(specification(view), ["svg"])["svg"]))
    written = escape(provenance.write(view.provenance), quote=False)
    opening, rest = text.split(">", 1)
    head = (
        f"<title>{escape(view.title)}</title><desc>{escape(view.finding)}</desc>"
        f'<metadata id="attnviz">{written}</metadata>'
    )
    return f'{opening} role="img">{head}{rest}'.encode()


def png(view: "View") -> bytes:
    """The picture as PNG, twice as fine as on a screen. Its provenance is in a text chunk."""
    picture = base64.b64decode(drawn(specification(view), ["png"])["png"])
    chunks = [_text_chunk(b"Title", view.title), _text_chunk(b"Description", view.finding)]
    chunks.append(_text_chunk(_KEYWORD, provenance.write(view.provenance)))
    first = 8 + 25  # the signature and the header chunk come first
    return picture[:first] + b"".join(chunks) + picture[first:]


def read_svg(data: bytes) -> dict[str, Any]:
    """The provenance in an SVG that `svg` wrote."""
    from html import unescape

    found = _METADATA.search(data.decode("utf-8", "replace"))
    if found is None:
        raise provenance.not_ours()
    return provenance.read(unescape(found.group(1)))


def read_png(data: bytes) -> dict[str, Any]:
    """The provenance in a PNG that `png` wrote."""
    at = 8
    while at + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"iTXt" and body.startswith(_KEYWORD + b"\0"):
            try:
                return provenance.read(_unpacked(body[len(_KEYWORD) + 5 :]))
            except zlib.error as error:
                raise provenance.not_ours() from error
        at += 12 + length
    raise provenance.not_ours()


def _unpacked(packed: bytes) -> bytes:
    """What a chunk holds, up to a limit: a small one may claim any number of bytes."""
    opener = zlib.decompressobj()
    found = opener.decompress(packed, MOST_NOTE)
    if not opener.eof:
        raise provenance.not_ours()
    return found


def _text_chunk(keyword: bytes, text: str) -> bytes:
    """An iTXt chunk: keyword, compressed, no language, no translated keyword, UTF-8."""
    body = b"iTXt" + keyword + b"\0\1\0\0\0" + zlib.compress(text.encode())
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))


_SCRIPTS: list[str] = []  # 0.9 MB, the same for every page: made once


def still_and_scripts(view: "View") -> tuple[str, str]:
    """The picture as plain SVG, and all the JavaScript that draws it in a browser: vega, vega-lite
    and vega-embed."""
    want = ["svg"] if _SCRIPTS else ["svg", "js"]
    found = drawn(specification(view), want)
    if "js" in found:
        _SCRIPTS[:] = [str(found["js"])]
    return with_paths(str(found["svg"])), _SCRIPTS[0]


def drawn(spec: Mapping[str, Any], want: Sequence[str]) -> dict[str, Any]:
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


def _told(value: Any, name: str = "") -> Any:
    """The same specification for a picture without a window and a browser's fonts."""
    if isinstance(value, dict):
        return {
            key: _told(part, f"{name}.{key}" if key == "expr" else key)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [_told(item) for item in value]
    if name.endswith("expr") and isinstance(value, str):
        value = value.replace("windowSize()[1]", str(HEIGHT))
    if name == "labelLimit.expr":
        return f"({value})*{_ROOMIER}"
    if name == "labelLimit" and isinstance(value, int | float):
        return value * _ROOMIER
    return value


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity; a chart draws nothing there either way."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
