"""Reading a text: ids exactly as the tokenizer gives them, and a Token to show for each."""

from collections.abc import Sequence
from typing import Any

from attnviz.errors import BadInput
from attnviz.tokens.notes import write_notes
from attnviz.tokens.spans import find_spans
from attnviz.tokens.token import Token, TokenizedText
from attnviz.tokens.token_drafts import Span, draft_tokens, finish_tokens, mark_special_tokens
from attnviz.tokens.tokenizer_copy import TokenizerCopy, get_copy


def tokenize(
    tokenizer: Any,
    text: str,
    text_pair: str | None = None,
    *,
    add_special_tokens: bool = True,
    split_special_tokens: bool = False,
    max_characters: int | None = None,
) -> TokenizedText:
    """A text as its model reads it, with a label and a source span for every token.

    The ids are the tokenizer's own default output: nothing added, nothing dropped, never
    truncated. The tokenizer is not changed, and threads may share it.

    text_pair: a second text, read the way the tokenizer joins two.
    add_special_tokens: False leaves out what the tokenizer would add by itself.
    split_special_tokens: True reads a control token typed in the text, such as `</s>`, as plain
        text. False leaves that to the tokenizer, which nearly always takes it for the real one.
    max_characters: the most the texts may hold together.

    Raises BadInput for a text that is too long, is no text, or holds half a surrogate pair, and
    where there is no tokenizer.

    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> from transformers import PreTrainedTokenizerFast
    >>> words = Tokenizer(models.WordLevel({"the": 0, "cat": 1, "?": 2}, unk_token="?"))
    >>> words.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> read = tokenize(PreTrainedTokenizerFast(tokenizer_object=words), "the cat")
    >>> [(token.label, token.start, token.end) for token in read.tokens]
    [('the', 0, 3), ('cat', 4, 7)]
    """
    texts = [text] if text_pair is None else [text, text_pair]
    _check_texts(tokenizer, texts, max_characters)
    copied = get_copy(tokenizer)
    options: dict[str, Any] = {"add_special_tokens": add_special_tokens}
    if split_special_tokens:  # left out otherwise: the tokenizer's own setting is the default
        options["split_special_tokens"] = True
    encoding = copied.encode(text, text_pair, **options)
    inputs = {name: list(row) for name, row in encoding.items() if name != "offset_mapping"}
    ids = inputs["input_ids"]
    sequences, offsets = _read_offsets(copied, encoding, ids)
    drafts = draft_tokens(copied, ids, sequences, offsets)
    for number, source in enumerate(texts):
        find_spans(copied, [draft for draft in drafts if draft.sequence == number], source)
    mark_special_tokens(copied, drafts)
    notes = write_notes(copied, drafts, texts, split=split_special_tokens)
    return TokenizedText(finish_tokens(copied, drafts), inputs, notes)


def tokens_of_ids(tokenizer: Any, ids: Sequence[int]) -> list[Token]:
    """The tokens of ids given directly, with no source text: every span is None.

    An id outside the vocabulary, or any id where tokenizer is None, has the label `id 5`.

    >>> tokens_of_ids(None, [5])[0].label
    'id 5'
    """
    numbers = [int(token_id) for token_id in ids]
    if tokenizer is None:
        return [
            Token(token_id, "", f"id {token_id}", position, None, None, special=False)
            for position, token_id in enumerate(numbers)
        ]
    copied = get_copy(tokenizer)
    nowhere: list[None] = [None] * len(numbers)
    drafts = draft_tokens(copied, numbers, nowhere, nowhere)
    mark_special_tokens(copied, drafts)
    return finish_tokens(copied, drafts)


def shorten_text(tokenizer: Any, text: str, limit: int, **options: Any) -> str:
    """The longest beginning of the text that has at most `limit` tokens when it is tokenised by
    itself: what a token stands for may depend on what follows it.

    options: add_special_tokens and split_special_tokens of `tokenize`.
    """
    while True:
        tokens = tokenize(tokenizer, text, **options).tokens
        over = len(tokens) - limit
        if over <= 0 or not text:
            return text
        ends = [token.end for token in tokens if not token.special and token.end]
        kept = [end for end in ends[: len(ends) - over] if end < len(text)]
        text = text[: max(kept, default=0)]


def _check_texts(tokenizer: Any, texts: Sequence[Any], max_characters: int | None) -> None:
    if not all(isinstance(text, str) for text in texts):
        raise BadInput(
            what="The text is not a string.",
            why=f"It is of type {', '.join(type(text).__name__ for text in texts)}.",
            todo="Give one string, and a second one for a pair.",
        )
    if tokenizer is None:
        raise BadInput(
            what="There is no tokenizer to read the text with.",
            why="The model was given without one.",
            todo="Give the tokenizer along with the model, or token ids instead of a text.",
        )
    length = sum(map(len, texts))
    if max_characters is not None and length > max_characters:
        raise BadInput(
            what=f"The text is too long: {length:,} characters.",
            why=f"At most {max_characters:,} characters are read at once.",
            todo="Shorten the text.",
        )
    if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
        raise BadInput(
            what="The text holds half of a character.",
            why="A lone surrogate is not valid Unicode, and no tokenizer reads it.",
            todo="Paste the text again, or remove the broken character.",
        )


def _read_offsets(
    copied: TokenizerCopy, encoding: Any, ids: Sequence[int]
) -> tuple[list[int | None], list[Span | None]]:
    """For each token, the text it came from and the tokenizer's own offsets in that text."""
    if copied.fast:
        offsets = [(int(start), int(end)) for start, end in encoding["offset_mapping"]]
        return list(encoding.sequence_ids(0)), list(offsets)
    # A slow tokenizer does not say what it added: assume the control tokens at the two ends.
    plain = [i for i, token in enumerate(ids) if token not in copied.special - {copied.unknown}]
    inside = range(plain[0], plain[-1] + 1) if plain else range(0)
    return [0 if i in inside else None for i in range(len(ids))], [None] * len(ids)
