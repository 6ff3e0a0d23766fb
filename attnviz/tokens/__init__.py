"""Tokens: a text as the model reads it, with labels to show and spans into the source."""

from attnviz.tokens.cut import cut
from attnviz.tokens.labels import visible
from attnviz.tokens.text import tokenize, tokens_of_ids
from attnviz.tokens.token import Token, TokenizedText

__all__ = ["Token", "TokenizedText", "cut", "tokenize", "tokens_of_ids", "visible"]
