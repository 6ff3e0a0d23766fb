"""Labels: what a picture shows for a token, with nothing in it invisible.

A label spells its token exactly. Characters that nobody sees, or that change how the rest is read,
become signs or code points, and so do the signs themselves where a text holds them. A plain space
in a label is always ours; a space of the text is `␣`.
"""

import unicodedata
from collections.abc import Sequence

SPACE, TAB, NEWLINE, SPECIAL = "␣", "⇥", "↵", "◆"
_SIGNS = {" ": SPACE, "\t": TAB, "\n": NEWLINE}
_CARRIER = "◌"  # what a combining mark sits on when its letter is in another token
_OURS = frozenset([SPACE, TAB, NEWLINE, SPECIAL, _CARRIER, "⟨", "⟩", "\ufffd"])
# Marks and letters by category, and blank on every screen.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
# Newer emoji than this Python's tables know are still drawn by the copied's browser.
_PICTURES = range(0x1F000, 0x1FB00)
_INVISIBLE = frozenset(["Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"])


def make_visible(text: str) -> str:
    """The text with every unseen character made visible.

    Space, tab and newline become `␣`, `⇥` and `↵`. Other controls, zero-width characters,
    direction overrides, unusual spaces, private and unassigned characters and U+FFFD become
    `⟨U+200B⟩`. A combining mark without its letter sits on `◌`.

    >>> make_visible("a\\tb c")
    'a⇥b␣c'
    >>> make_visible("\\u202eabc")
    '⟨U+202E⟩abc'
    """
    shown, carried = [], False
    for character in text:
        category = unicodedata.category(character)
        if character in _SIGNS:
            shown.append(_SIGNS[character])
            carried = False
        elif _needs_code_point(character, category):
            shown.append(f"⟨U+{ord(character):04X}⟩")
            carried = False
        else:
            if category.startswith("M") and not carried:
                shown.append(_CARRIER)
            shown.append(character)
            carried = True
    return "".join(shown)


def _needs_code_point(character: str, category: str) -> bool:
    if character in _OURS or character in _BLANK:
        return True
    code = ord(character)
    if category == "Mn":  # variation selectors
        return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
    if category == "Cn":
        return code not in _PICTURES
    return category in _INVISIBLE


def label_bytes(spellings: Sequence[bytes]) -> list[str]:
    """Labels of neighbouring tokens that together spell UTF-8: one for each token's bytes.

    A character that several tokens share stands in each label, with its part: `😀 1/4`. Bytes
    that are no UTF-8 become `⟨0xF0⟩`, and no bytes at all `⟨empty⟩`.

    >>> label_bytes([b"hi", b" \\xf0\\x9f", b"\\x98\\x80"])
    ['hi', '␣ 😀 1/2', '😀 2/2']
    """
    starts, total = [], 0
    for spelling in spellings:
        starts.append(total)
        total += len(spelling)
    chunks: list[list[tuple[str, bool]]] = [[] for _ in spellings]  # (text, is it finished)
    owner = 0
    data = b"".join(spellings)
    for start, end, character in split_characters(data):
        while starts[owner] + len(spellings[owner]) <= start:
            owner += 1
        if character is None:
            chunks[owner].append((f"⟨0x{data[start]:02X}⟩", True))
            continue
        last = owner
        while starts[last] + len(spellings[last]) < end:
            last += 1
        sharing = [index for index in range(owner, last + 1) if spellings[index]]
        if len(sharing) == 1:
            chunks[owner].append((character, False))
            continue
        for part, index in enumerate(sharing, start=1):
            chunks[index].append((f"{make_visible(character)} {part}/{len(sharing)}", True))
    return [_join_chunks(chunk) for chunk in chunks]


def split_characters(data: bytes) -> list[tuple[int, int, str | None]]:
    """Every character of UTF-8 bytes as (first byte, byte after, character).

    A byte that belongs to no character has None in the third place.
    """
    found: list[tuple[int, int, str | None]] = []
    at = 0
    while at < len(data):
        lead = data[at]
        size = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        try:
            character: str | None = data[at : at + size].decode("utf-8")
        except UnicodeDecodeError:
            character, size = None, 1
        found.append((at, at + size, character))
        at += size
    return found


def _join_chunks(chunks: list[tuple[str, bool]]) -> str:
    """Whole characters run together; a part of a character stands apart by a plain space."""
    words: list[str] = []
    plain = ""
    for text, finished in chunks:
        if not finished:
            plain += text
            continue
        if plain:
            words.append(make_visible(plain))
            plain = ""
        words.append(text)
    if plain:
        words.append(make_visible(plain))
    return " ".join(words) or "⟨empty⟩"
