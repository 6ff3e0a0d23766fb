"""Cut: the beginning of a text that stays within so many tokens."""

from typing import Any

from attnviz.tokens.text import tokenize


def cut(
    tokenizer: Any,
    text: str,
    limit: int,
    *,
    add_special_tokens: bool = True,
    split_special_tokens: bool = False,
) -> str:
    """The longest beginning of the text that has at most `limit` tokens when it is tokenised by
    itself: what a token stands for may depend on what follows it."""
    while True:
        tokens = tokenize(
            tokenizer,
            text,
            add_special_tokens=add_special_tokens,
            split_special_tokens=split_special_tokens,
        ).tokens
        over = len(tokens) - limit
        if over <= 0 or not text:
            return text
        ends = [token.end for token in tokens if not token.special and token.end]
        kept = [end for end in ends[: len(ends) - over] if end < len(text)]
        text = text[: max(kept, default=0)]
