"""Token and TokenizedText: the tokens of a text as the rest of attnviz sees them."""

import builtins
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Token:
    """One token of a text.

    id: its number in the vocabulary.
    text: its exact source text; for a special token its literal. Tokens that share one
        character each have that character.
    label: what a picture shows; never blank. `◆` in front marks a special token.
    position: its place in the sequence, from 0.
    start, end: its span in the source text, in characters; None where it has none.
    special: True for a control token, whether the tokenizer added it or the text held it.
    bytes: the UTF-8 bytes it stands for, where the vocabulary tells.
    sequence: 0 for the first text, 1 for the pair, None for a token from neither.

    >>> Token(5, " cat", "␣cat", 1, 3, 7, special=False).label
    '␣cat'
    """

    id: int
    text: str
    label: str
    position: int
    start: int | None
    end: int | None
    special: bool
    bytes: builtins.bytes | None = None
    sequence: int | None = None


@dataclass(frozen=True)
class TokenizedText:
    """What a tokenizer made of a text.

    tokens: one Token an id. model_inputs: the lists a model is called with (input_ids,
    attention_mask, and token_type_ids where the tokenizer makes them). notes: plain sentences
    about anything a reader would not expect.
    """

    tokens: list[Token]
    model_inputs: dict[str, list[int]]
    notes: list[str] = field(default_factory=list)

    @property
    def ids(self) -> list[int]:
        """The token ids, exactly the tokenizer's own."""
        return self.model_inputs["input_ids"]


def number_labels(tokens: Sequence[Token]) -> list[str]:
    """Position and label of each token: different from one another, for pickers, axes and tables.

    >>> number_labels([Token(5, " cat", "␣cat", 0, 0, 4, special=False)])
    ['0 ␣cat']
    """
    return [f"{place} {token.label}" for place, token in enumerate(tokens)]
