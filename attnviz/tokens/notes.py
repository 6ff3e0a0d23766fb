"""Notes: plain sentences about what a tokenizer did that a reader would not expect."""

from collections.abc import Sequence

from attnviz.tokens.labels import make_visible
from attnviz.tokens.token_drafts import Draft
from attnviz.tokens.tokenizer_copy import TokenizerCopy


def write_notes(
    copied: TokenizerCopy, drafts: Sequence[Draft], texts: Sequence[str], *, split: bool
) -> list[str]:
    """The notes on one text or pair of texts; none for an ordinary one."""
    found = [_note_absence(drafts, texts), _note_control_tokens(copied, drafts, texts, split)]
    for number, source in enumerate(texts):
        mine = [draft for draft in drafts if draft.sequence == number]
        found.append(_note_loss(mine, source))
    found.append(_note_added_space(drafts))
    return [note for note in found if note]


def _note_absence(drafts: Sequence[Draft], texts: Sequence[str]) -> str:
    if any(draft.sequence is not None for draft in drafts):
        return ""
    nothing = "only the special tokens remain" if drafts else "no tokens came out of it"
    if any(texts):
        return f"The tokenizer dropped the whole text: {nothing}."
    return f"The text is empty: {nothing}."


def _note_control_tokens(
    copied: TokenizerCopy, drafts: Sequence[Draft], texts: Sequence[str], split: bool
) -> str:
    control = {copied.added.get(token_id, "") for token_id in copied.special}
    if not copied.unknown_is_control and copied.unknown is not None:
        control.discard(copied.added.get(copied.unknown, ""))
    typed = [name for name in sorted(control) if name and any(name in text for text in texts)]
    if not typed:
        return ""
    names = ", ".join(map(make_visible, typed))
    if not split and any(draft.special and draft.sequence is not None for draft in drafts):
        return f"Read as control tokens, not as text: {names}."
    return f"Read as plain text, not as control tokens: {names}."


def _note_loss(drafts: Sequence[Draft], source: str) -> str:
    if not drafts or any(draft.span is None for draft in drafts):
        return ""  # another note says it, or it is not known
    kept = [False] * len(source)
    for draft in drafts:
        if draft.span is not None:
            kept[slice(*draft.span)] = [True] * (draft.span[1] - draft.span[0])
    lost = [letter for letter, safe in zip(source, kept, strict=True) if not safe]
    lost = [letter for letter in lost if not letter.isspace()]
    if not lost:
        return ""
    some = ", ".join(make_visible(letter) for letter in dict.fromkeys(lost[:5]))
    return f"The tokenizer dropped characters of the text: {len(lost)} ({some})."


def _note_added_space(drafts: Sequence[Draft]) -> str:
    for draft in drafts:
        inserted = draft.bytes is not None and draft.bytes[:1] == b" " and not draft.special
        if inserted and draft.span is not None and not draft.source[:1].isspace():
            return "The tokenizer put a space in front that the text does not have."
    return ""
