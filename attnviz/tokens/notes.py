"""Notes: plain sentences about what a tokenizer did that a reader would not expect."""

from collections.abc import Sequence

from attnviz.tokens.labels import visible
from attnviz.tokens.token_parts import Part
from attnviz.tokens.tokenizer_copy import Reader


def notes_on(
    reader: Reader, parts: Sequence[Part], texts: Sequence[str], *, split: bool
) -> list[str]:
    """What there is to say about one reading; no notes for an ordinary text."""
    found = [_on_absence(parts, texts), _on_control_tokens(reader, parts, texts, split)]
    for number, source in enumerate(texts):
        mine = [part for part in parts if part.sequence == number]
        found.append(_on_loss(mine, source))
    found.append(_on_added_space(parts))
    return [note for note in found if note]


def _on_absence(parts: Sequence[Part], texts: Sequence[str]) -> str:
    if any(part.sequence is not None for part in parts):
        return ""
    nothing = "only the special tokens remain" if parts else "no tokens came out of it"
    if any(texts):
        return f"The tokenizer dropped the whole text: {nothing}."
    return f"The text is empty: {nothing}."


def _on_control_tokens(
    reader: Reader, parts: Sequence[Part], texts: Sequence[str], split: bool
) -> str:
    control = {reader.added.get(token_id, "") for token_id in reader.special}
    if not reader.unknown_is_control and reader.unknown is not None:
        control.discard(reader.added.get(reader.unknown, ""))
    typed = [name for name in sorted(control) if name and any(name in text for text in texts)]
    if not typed:
        return ""
    names = ", ".join(map(visible, typed))
    if not split and any(part.special and part.sequence is not None for part in parts):
        return f"Read as control tokens, not as text: {names}."
    return f"Read as plain text, not as control tokens: {names}."


def _on_loss(parts: Sequence[Part], source: str) -> str:
    if not parts or any(part.span is None for part in parts):
        return ""  # told already, or not known
    kept = [False] * len(source)
    for part in parts:
        if part.span is not None:
            kept[slice(*part.span)] = [True] * (part.span[1] - part.span[0])
    lost = [letter for letter, safe in zip(source, kept, strict=True) if not safe]
    lost = [letter for letter in lost if not letter.isspace()]
    if not lost:
        return ""
    some = ", ".join(visible(letter) for letter in dict.fromkeys(lost[:5]))
    return f"The tokenizer dropped characters of the text: {len(lost)} ({some})."


def _on_added_space(parts: Sequence[Part]) -> str:
    for part in parts:
        inserted = part.bytes is not None and part.bytes[:1] == b" " and not part.special
        if inserted and part.span is not None and not part.source[:1].isspace():
            return "The tokenizer put a space in front that the text does not have."
    return ""
