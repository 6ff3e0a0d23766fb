"""How much room a text takes, estimated where no browser can be asked."""

import unicodedata
from collections.abc import Sequence

# advance widths of a plain sans serif, in thousandths of the font size
_NARROW = {"␣": 560, **dict.fromkeys("ijl.,:;'|!", 270), **dict.fromkeys('frtI()[]{}/\\-"` ', 360)}
_BROAD = {**dict.fromkeys("mwMW@%", 880), **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ&", 660)}
_WIDTHS = _NARROW | _BROAD
_USUAL, _FULL = 530, 1100


def width(text: str, size: float) -> float:
    """Pixels that a text takes at a font size: a little too many rather than too few."""
    return size * sum(map(_advance, text)) / 1000


def widest(texts: Sequence[str], size: float) -> float:
    return max((width(text, size) for text in texts), default=0.0)


def shorten(text: str, most: int) -> str:
    """The text, or its beginning and an ellipsis: at most so many characters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def wrap(widths: Sequence[float], room: float, gap: float) -> tuple[list[int], list[int]]:
    """Where boxes of these widths go, in reading order: each one's x and its line."""
    xs, lines = [], []
    x, line = 0.0, 0
    for box in widths:
        if x > 0 and x + box > room:
            x, line = 0.0, line + 1
        xs.append(round(x))
        lines.append(line)
        x += box + gap
    return xs, lines


def _advance(character: str) -> int:
    if character in _WIDTHS:
        return _WIDTHS[character]
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    if unicodedata.east_asian_width(character) in ("W", "F") or ord(character) >= 0x1F000:
        return _FULL
    return 700 if ord(character) >= 0x250 else _USUAL
