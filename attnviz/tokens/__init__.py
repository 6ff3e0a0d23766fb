"""Tokens: a text as the model reads it, with labels to show and spans into the source."""

from attnviz.tokens.labels import make_visible
from attnviz.tokens.text import shorten_text, tokenize, tokens_of_ids
from attnviz.tokens.token import Token, TokenizedText

__all__ = ["Token", "TokenizedText", "shorten_text", "make_visible", "tokenize", "tokens_of_ids"]
