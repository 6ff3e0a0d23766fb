"""Token drafts: tokens while they are being worked out, from vocabulary piece to label."""

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from attnviz.tokens.labels import SPECIAL, label_bytes, make_visible
from attnviz.tokens.token import Token
from attnviz.tokens.tokenizer_copy import TokenizerCopy

Span = tuple[int, int]


@dataclass
class Draft:
    """One token whose span in the source is not known yet.

    piece: the vocabulary's entry, None for an id outside it. literal: how it is written; an added
    token by its content.
    sequence: the text it came from, None for a token the tokenizer added.
    offsets: the span that the tokenizer itself gives.
    spellings: the bytes it may stand for, likeliest first; none where the vocabulary does not
    say. fixed: an added or unknown token, whose offsets need no correction.
    bytes, span: the result. source: the characters at that span.
    """

    id: int
    piece: str | None
    literal: str
    sequence: int | None
    offsets: Span | None
    spellings: tuple[bytes, ...] = ()
    fixed: bool = False
    special: bool = False
    bytes: builtins.bytes | None = None
    span: Span | None = None
    source: str = ""


def draft_tokens(
    copied: TokenizerCopy,
    ids: Sequence[int],
    sequences: Sequence[int | None],
    offsets: Sequence[Span | None],
) -> list[Draft]:
    """A draft for each id, with the ways it may be spelt in the source."""
    pieces = copied.read_pieces(ids)
    return [_draft_token(copied, *row) for row in zip(ids, pieces, sequences, offsets, strict=True)]


def _draft_token(
    copied: TokenizerCopy,
    token_id: int,
    piece: str | None,
    sequence: int | None,
    offsets: Span | None,
) -> Draft:
    literal = copied.added.get(token_id, piece or "")
    draft = Draft(token_id, piece, literal, sequence, None if sequence is None else offsets)
    if piece is None or token_id == copied.unknown:
        draft.fixed = True
        return draft
    spelt = copied.spelling.decode_piece(piece)
    written = literal.encode("utf-8")
    metaspace = copied.spelling.kind == "metaspace"
    if token_id in copied.special or (token_id in copied.added and not metaspace):
        draft.spellings, draft.fixed = (written,), True
    elif spelt is not None:
        # SentencePiece spells a space and a real `▁` alike; some of its vocabularies list runs
        # of spaces as added tokens.
        draft.spellings = (spelt, written) if metaspace and spelt != written else (spelt,)
        draft.fixed = token_id in copied.added
    draft.bytes = draft.spellings[0] if draft.spellings else None
    return draft


def mark_special_tokens(copied: TokenizerCopy, drafts: Sequence[Draft]) -> None:
    """Set .special, and the bytes of special tokens, once the source of every draft is known.

    An unknown token that stands for characters of the text is text, not control.
    """
    for draft in drafts:
        draft.special = draft.id in copied.special
        if draft.id == copied.unknown:
            from_text = draft.sequence is not None and draft.source != draft.literal
            draft.special = copied.unknown_is_control and not from_text
        if draft.special:
            draft.bytes = draft.literal.encode("utf-8")


def finish_tokens(copied: TokenizerCopy, drafts: Sequence[Draft]) -> list[Token]:
    """A finished token for each draft."""
    labels = _make_labels(copied, drafts)
    return [
        Token(
            id=draft.id,
            text=_choose_text(draft),
            label=label,
            position=position,
            start=draft.span[0] if draft.span else None,
            end=draft.span[1] if draft.span else None,
            special=draft.special,
            bytes=draft.bytes,
            sequence=draft.sequence,
        )
        for position, (draft, label) in enumerate(zip(drafts, labels, strict=True))
    ]


def _choose_text(draft: Draft) -> str:
    if draft.special:
        return draft.literal
    if draft.span is not None:
        return draft.source
    if draft.bytes is not None:
        return draft.bytes.decode("utf-8", "ignore")
    return draft.literal


def _make_labels(copied: TokenizerCopy, drafts: Sequence[Draft]) -> list[str]:
    """A label for each draft; neighbours that spell bytes are labelled together."""
    labels: list[str] = []
    for spells, group in groupby(drafts, key=_spells_bytes):
        run = list(group)
        if not spells:
            labels.extend(_label_one(draft) for draft in run)
            continue
        ending = copied.spelling.word_end
        for draft, label in zip(run, label_bytes([p.bytes or b"" for p in run]), strict=True):
            ends_word = ending and draft.piece is not None and draft.piece.endswith(ending)
            labels.append(label + ending if ends_word else label)
    return labels


def _spells_bytes(draft: Draft) -> bool:
    return not draft.special and draft.bytes is not None


def _label_one(draft: Draft) -> str:
    if draft.piece is None:
        return f"id {draft.id}"
    shown = make_visible(draft.literal)
    return SPECIAL + shown if draft.special else shown
