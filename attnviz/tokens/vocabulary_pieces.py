"""Vocabulary pieces: how the entries of a tokenizer's vocabulary spell text, as bytes.

Vocabularies do not hold text. Byte-level ones write each byte as a printable letter (a space is
`Ġ`), SentencePiece ones write a space as `▁` and a lone byte as `<0xF0>`, WordPiece ones mark a
continued word with `##`.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>\Z")


def _byte_alphabet() -> dict[str, int]:
    """The letter of each byte in byte-level vocabularies, as GPT-2 introduced it."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in printable)
    return letters | {chr(256 + index): byte for index, byte in enumerate(others)}


_ALPHABET = _byte_alphabet()


@dataclass(frozen=True)
class Spelling:
    """How the pieces of one vocabulary spell text.

    kind: "bytes" (byte-level), "latin" (a letter of Latin-1 for each byte, as ByT5 does),
    "metaspace" (SentencePiece and its kin), "plain" (WordPiece, whole words and others, whose
    pieces do not say where spaces were).
    space: the character that stands for a space in "metaspace".
    word_end: what marks the last piece of a word, "" where nothing does.
    """

    kind: Literal["bytes", "latin", "metaspace", "plain"]
    space: str = "▁"
    word_end: str = ""

    def decode_piece(self, piece: str) -> bytes | None:
        """The bytes that a piece spells; None where the vocabulary does not say."""
        if self.kind == "bytes":
            core = piece.removesuffix(self.word_end) if self.word_end else piece
            if all(letter in _ALPHABET for letter in core):
                return bytes(_ALPHABET[letter] for letter in core)
            return piece.encode("utf-8", "replace")
        if self.kind == "latin":
            return piece.encode("latin-1") if len(piece) == 1 and ord(piece) < 256 else None
        if self.kind == "metaspace":
            if lone := _BYTE_PIECE.match(piece):
                return bytes([int(lone.group(1), 16)])
            return piece.replace(self.space, " ").encode("utf-8", "replace")
        return None


def detect_spelling(tokenizer: Any) -> Spelling:
    """The spelling of a transformers tokenizer, fast or slow, from its own settings."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return _detect_slow_spelling(tokenizer)
    steps = _list_steps(backend)
    word_end = getattr(backend.model, "end_of_word_suffix", None) or ""
    if any(step.get("type") == "ByteLevel" for step in steps):
        return Spelling("bytes", word_end=word_end)
    for step in steps:
        if step.get("type") == "Metaspace":
            return Spelling("metaspace", space=step.get("replacement", "▁"))
        if step.get("type") == "Replace" and step.get("content") == "▁":
            return Spelling("metaspace")
    if any(step.get("type") == "ByteFallback" for step in steps):
        return Spelling("metaspace")
    return Spelling("plain")


def _list_steps(backend: Any) -> list[dict[str, Any]]:
    """Every step of the backend's normalizer, pre-tokenizer and decoder, nested ones flattened."""
    waiting: list[Any] = []
    for step in (backend.normalizer, backend.pre_tokenizer, backend.decoder):
        if step is not None:
            waiting.append(json.loads(step.__getstate__()))
    steps = []
    while waiting:
        step = waiting.pop(0)
        steps.append(step)
        for inner in ("normalizers", "pretokenizers", "decoders"):
            waiting.extend(step.get(inner) or [])
    return steps


def _detect_slow_spelling(tokenizer: Any) -> Spelling:
    if getattr(tokenizer, "byte_decoder", None):
        return Spelling("bytes")
    if hasattr(tokenizer, "_utf_vocab_size"):
        return Spelling("latin")
    if hasattr(tokenizer, "sp_model"):
        return Spelling("metaspace")
    return Spelling("plain")
