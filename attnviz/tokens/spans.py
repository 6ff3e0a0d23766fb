"""Spans: which characters of the source text each token came from.

Tokenizers report offsets of their own, and some trim the space off them or give two tokens the
same place. Where the tokens' bytes spell the source they are the better witness, so they are
laid along it first; the tokenizer's offsets serve where the text was changed on the way in.
"""

import unicodedata
from collections.abc import Sequence
from itertools import accumulate

from attnviz.tokens.token_parts import Part, Span
from attnviz.tokens.tokenizer_copy import Reader


def place(reader: Reader, parts: Sequence[Part], source: str) -> None:
    """Fill in bytes, span and source of every part of one text.

    Spans count characters of the source and run from left to right. Tokens that share one
    character all have that character's span, and a space that the tokenizer put in front has no
    share of the source.
    """
    placed = (
        _lay_along(parts, source, always_pads=False)
        or _lay_along(parts, source, always_pads=True)
        or _find_in_order(reader, parts, source)
    )
    if not placed:
        _take_offsets(parts, source)
    for part in parts:
        part.source = source[slice(*part.span)] if part.span is not None else ""


def _lay_along(parts: Sequence[Part], source: str, *, always_pads: bool) -> bool:
    """Spell the source with the parts' bytes; False, with nothing decided, if they do not fit.

    A tokenizer may put a space of its own in front of the text and behind an added token. With
    always_pads it is taken to do so even where the text has a space there already.
    """
    sizes = [len(character.encode("utf-8")) for character in source]
    first_byte = [0, *accumulate(sizes)]
    character_at = [place for place, size in enumerate(sizes) for _ in range(size)]
    data = source.encode("utf-8")
    at, may_pad = 0, True
    spelling: bytes | None
    laid: list[tuple[bytes | None, Span]] = []
    for part in parts:
        fit = _fit(part, data, at, may_pad, may_pad and always_pads)
        if fit is not None:
            spelling, taken = fit
        elif part.fixed and part.offsets is not None and part.offsets[0] < part.offsets[1]:
            # An added token can take the white space around it along.
            first, after = first_byte[part.offsets[0]], first_byte[part.offsets[1]]
            if first != at and not data[at:first].isspace():
                return False
            at, spelling, taken = first, part.bytes, after - first
        else:
            return False
        start = character_at[at] if at < len(data) else len(source)
        end = character_at[at + taken - 1] + 1 if taken else start
        laid.append((spelling, (start, end)))
        at += taken
        may_pad = part.fixed
    if at != len(data):
        return False
    for part, (spelling, span) in zip(parts, laid, strict=True):
        part.bytes, part.span = spelling, span
    return True


def _fit(
    part: Part, data: bytes, at: int, may_pad: bool, pads_first: bool
) -> tuple[bytes, int] | None:
    """The spelling that fits the source here, and how many bytes of the source it takes."""
    whole = [(spelling, spelling) for spelling in part.spellings if spelling]
    padded = [(spelling, spelling[1:]) for spelling in part.spellings if spelling[:1] == b" "]
    if not may_pad:
        padded = []
    for spelling, needed in padded + whole if pads_first else whole + padded:
        if data.startswith(needed, at):
            return spelling, len(needed)
    return None


def _find_in_order(reader: Reader, parts: Sequence[Part], source: str) -> bool:
    """For slow tokenizers: find each piece after the one before it, whatever its case.

    Only white space may lie between two pieces, so that none is found too far on.
    """
    lowered = source.lower()
    if reader.fast or len(lowered) != len(source):
        return False
    found: list[Span] = []
    at = 0
    for part in parts:
        while at < len(source) and source[at].isspace():
            at += 1
        word = part.literal.removeprefix("##").lower()
        if not word or not lowered.startswith(word, at):
            return False
        found.append((at, at + len(word)))
        at += len(word)
    for part, span in zip(parts, found, strict=True):
        part.span = span
    return True


def _take_offsets(parts: Sequence[Part], source: str) -> None:
    """The tokenizer's own offsets, with what they leave out given back.

    Some trim the space off a token, and a letter composed from a letter and its marks is told
    as the letter alone.
    """
    reached = 0
    ending: list[Part] = []  # the parts that end where we are
    for part in parts:
        if part.offsets is None:
            continue
        start, end = part.offsets
        reached = _give_marks_back(ending, source, reached, start)
        blank = part.bytes is not None and part.bytes[:1].isspace()
        if blank and source[reached:start].isspace():
            start = reached
        elif start == end:
            start = end = reached
        part.span = (start, end)
        if end > reached:
            reached, ending = end, []
        if start < end == reached:
            ending.append(part)
    _give_marks_back(ending, source, reached, len(source))


def _give_marks_back(ending: Sequence[Part], source: str, reached: int, limit: int) -> int:
    """Let the parts that end here take the combining marks that follow; where they then end."""
    end = reached
    while end < limit and unicodedata.category(source[end]).startswith("M"):
        end += 1
    for part in ending:
        if part.span is not None:
            part.span = (part.span[0], end)
    return end
