"""Spans: which characters of the source text each token came from.

Tokenizers report offsets of their own, and some leave out the space or give two tokens the same
span. Where the tokens' bytes spell the source they are more exact, so they are matched first; the
tokenizer's offsets are used where it changed the text before reading it.
"""

import unicodedata
from collections.abc import Sequence
from itertools import accumulate

from attnviz.tokens.token_drafts import Draft, Span
from attnviz.tokens.tokenizer_copy import TokenizerCopy


def find_spans(copied: TokenizerCopy, drafts: Sequence[Draft], source: str) -> None:
    """Fill in bytes, span and source of every draft of one text.

    Spans count characters of the source and run from left to right. Tokens that share one
    character all have that character's span, and a space that the tokenizer put in front has no
    share of the source.
    """
    found = (
        _match_bytes(drafts, source, always_pads=False)
        or _match_bytes(drafts, source, always_pads=True)
        or _search_in_order(copied, drafts, source)
    )
    if not found:
        _take_offsets(drafts, source)
    for draft in drafts:
        draft.source = source[slice(*draft.span)] if draft.span is not None else ""


def _match_bytes(drafts: Sequence[Draft], source: str, *, always_pads: bool) -> bool:
    """Spell the source with the drafts' bytes; False, with nothing changed, if they do not fit.

    A tokenizer may put a space of its own in front of the text and behind an added token. With
    always_pads it is taken to do so even where the text has a space there already.
    """
    sizes = [len(character.encode("utf-8")) for character in source]
    first_byte = [0, *accumulate(sizes)]
    character_at = [index for index, size in enumerate(sizes) for _ in range(size)]
    data = source.encode("utf-8")
    at, may_pad = 0, True
    spelling: bytes | None
    matched: list[tuple[bytes | None, Span]] = []
    for draft in drafts:
        fit = _fit_spelling(draft, data, at, may_pad, may_pad and always_pads)
        if fit is not None:
            spelling, taken = fit
        elif draft.fixed and draft.offsets is not None and draft.offsets[0] < draft.offsets[1]:
            # An added token can take the white space around it along.
            first, after = first_byte[draft.offsets[0]], first_byte[draft.offsets[1]]
            if first != at and not data[at:first].isspace():
                return False
            at, spelling, taken = first, draft.bytes, after - first
        else:
            return False
        start = character_at[at] if at < len(data) else len(source)
        end = character_at[at + taken - 1] + 1 if taken else start
        matched.append((spelling, (start, end)))
        at += taken
        may_pad = draft.fixed
    if at != len(data):
        return False
    for draft, (spelling, span) in zip(drafts, matched, strict=True):
        draft.bytes, draft.span = spelling, span
    return True


def _fit_spelling(
    draft: Draft, data: bytes, at: int, may_pad: bool, pads_first: bool
) -> tuple[bytes, int] | None:
    """The spelling that fits the source here, and how many bytes of the source it takes."""
    whole = [(spelling, spelling) for spelling in draft.spellings if spelling]
    padded = [(spelling, spelling[1:]) for spelling in draft.spellings if spelling[:1] == b" "]
    if not may_pad:
        padded = []
    for spelling, needed in padded + whole if pads_first else whole + padded:
        if data.startswith(needed, at):
            return spelling, len(needed)
    return None


def _search_in_order(copied: TokenizerCopy, drafts: Sequence[Draft], source: str) -> bool:
    """For slow tokenizers: find each piece after the one before it, whatever its case.

    Only white space may stand between two pieces, so that none is found too far on.
    """
    lowered = source.lower()
    if copied.fast or len(lowered) != len(source):
        return False
    found: list[Span] = []
    at = 0
    for draft in drafts:
        while at < len(source) and source[at].isspace():
            at += 1
        word = draft.literal.removeprefix("##").lower()
        if not word or not lowered.startswith(word, at):
            return False
        found.append((at, at + len(word)))
        at += len(word)
    for draft, span in zip(drafts, found, strict=True):
        draft.span = span
    return True


def _take_offsets(drafts: Sequence[Draft], source: str) -> None:
    """Use the tokenizer's own offsets, with what they leave out put back.

    Some leave out the space of a token, and give a letter with combining marks as the letter alone.
    """
    reached = 0
    ending: list[Draft] = []  # the drafts that end where we are
    for draft in drafts:
        if draft.offsets is None:
            continue
        start, end = draft.offsets
        reached = _extend_over_marks(ending, source, reached, start)
        blank = draft.bytes is not None and draft.bytes[:1].isspace()
        if blank and source[reached:start].isspace():
            start = reached
        elif start == end:
            start = end = reached
        draft.span = (start, end)
        if end > reached:
            reached, ending = end, []
        if start < end == reached:
            ending.append(draft)
    _extend_over_marks(ending, source, reached, len(source))


def _extend_over_marks(ending: Sequence[Draft], source: str, reached: int, limit: int) -> int:
    """Let the drafts that end here take the combining marks that follow; returns their new end."""
    end = reached
    while end < limit and unicodedata.category(source[end]).startswith("M"):
        end += 1
    for draft in ending:
        if draft.span is not None:
            draft.span = (draft.span[0], end)
    return end
