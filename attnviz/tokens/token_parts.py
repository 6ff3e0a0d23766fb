"""Parts: tokens while they are being worked out, from vocabulary entry to label."""

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from attnviz.tokens.labels import SPECIAL, labels_of_bytes, visible
from attnviz.tokens.token import Token
from attnviz.tokens.tokenizer_copy import Reader

Span = tuple[int, int]


@dataclass
class Part:
    """One token whose place in the source is being sought.

    piece: the vocabulary's entry, None for an id outside it. literal: the same as written, an
    added token by its content.
    sequence: the text it came from, None for a token the tokenizer added.
    offsets: the tokenizer's own word on its place.
    spellings: the bytes it may stand for, likeliest first; none where the vocabulary does not
    tell. fixed: an added or unknown token, whose offsets need no correction.
    bytes, span: the outcome. source: the characters at that span.
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


def parts_of(
    reader: Reader,
    ids: Sequence[int],
    sequences: Sequence[int | None],
    offsets: Sequence[Span | None],
) -> list[Part]:
    """A part for each id, with the ways it may be spelt in the source."""
    pieces = reader.pieces(ids)
    return [_part(reader, *row) for row in zip(ids, pieces, sequences, offsets, strict=True)]


def _part(
    reader: Reader, token_id: int, piece: str | None, sequence: int | None, offsets: Span | None
) -> Part:
    literal = reader.added.get(token_id, piece or "")
    part = Part(token_id, piece, literal, sequence, None if sequence is None else offsets)
    if piece is None or token_id == reader.unknown:
        part.fixed = True
        return part
    spelt = reader.spelling.bytes_of(piece)
    written = literal.encode("utf-8")
    if token_id in reader.special:
        part.spellings, part.fixed = (written,), True
    elif token_id in reader.added and reader.spelling.kind != "metaspace":
        part.spellings, part.fixed = (written,), True
    elif spelt is not None:
        # SentencePiece spells a space and a real `▁` alike; some of its vocabularies list runs
        # of spaces as added tokens.
        metaspace = reader.spelling.kind == "metaspace" and spelt != written
        part.spellings = (spelt, written) if metaspace else (spelt,)
        part.fixed = token_id in reader.added
    part.bytes = part.spellings[0] if part.spellings else None
    return part


def mark_special(reader: Reader, parts: Sequence[Part]) -> None:
    """Set .special, and the bytes of what is, once the source of every part is known.

    An unknown token that stands in for something of the text is text, not control.
    """
    for part in parts:
        part.special = part.id in reader.special
        if part.id == reader.unknown:
            from_text = part.sequence is not None and part.source != part.literal
            part.special = reader.unknown_is_control and not from_text
        if part.special:
            part.bytes = part.literal.encode("utf-8")


def tokens_from(reader: Reader, parts: Sequence[Part]) -> list[Token]:
    """The finished tokens, one a part."""
    labels = _labels(reader, parts)
    return [
        Token(
            id=part.id,
            text=_text(part),
            label=label,
            position=position,
            start=part.span[0] if part.span else None,
            end=part.span[1] if part.span else None,
            special=part.special,
            bytes=part.bytes,
            sequence=part.sequence,
        )
        for position, (part, label) in enumerate(zip(parts, labels, strict=True))
    ]


def _text(part: Part) -> str:
    if part.special:
        return part.literal
    if part.span is not None:
        return part.source
    if part.bytes is not None:
        return part.bytes.decode("utf-8", "ignore")
    return part.literal


def _labels(reader: Reader, parts: Sequence[Part]) -> list[str]:
    """One label a part; neighbours that spell bytes are labelled together."""
    labels: list[str] = []
    for spells, group in groupby(parts, key=_spells_bytes):
        run = list(group)
        if not spells:
            labels.extend(_label_alone(part) for part in run)
            continue
        ending = reader.spelling.word_end
        for part, label in zip(run, labels_of_bytes([p.bytes or b"" for p in run]), strict=True):
            ends_word = ending and part.piece is not None and part.piece.endswith(ending)
            labels.append(label + ending if ends_word else label)
    return labels


def _spells_bytes(part: Part) -> bool:
    return not part.special and part.bytes is not None


def _label_alone(part: Part) -> str:
    if part.piece is None:
        return f"id {part.id}"
    shown = visible(part.literal)
    return SPECIAL + shown if part.special else shown
