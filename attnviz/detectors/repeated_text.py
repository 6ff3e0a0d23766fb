"""A text of random tokens repeated, on which a head's habits show apart from any meaning."""

from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz.errors import BadInput
from attnviz.tokens import tokenize

if TYPE_CHECKING:
    from attnviz.capture.result import Capture
    from attnviz.models import LoadedModel

TOKENS, REPEATS = 25, 4


def repeated(
    model: "LoadedModel", *, tokens: int = TOKENS, repeats: int = REPEATS, seed: int = 0
) -> "Capture":
    """A capture of random tokens said again and again: `a b c a b c a b c`.

    The tokens differ from one another and are drawn evenly from the ordinary vocabulary: those
    that are written in letters, or, for a model without a tokenizer, all but the special ones.
    What the tokenizer puts around a text stands around this one. A model with a decoder beside
    its encoder reads the same on both sides. A model with few positions gets fewer tokens.

    Source: Olsson et al. 2022, "In-context Learning and Induction Heads", on repeated random
    tokens.

    Raises:
        BadInput: the model has too few positions, or too few ordinary tokens.

    >>> import attnviz
    >>> capture = repeated(attnviz.load("planted-circuit"), tokens=3, repeats=2)
    >>> ids = [token.id for token in capture.query_tokens()]
    >>> ids[1:4] == ids[4:7], len(ids)
    (True, 7)
    """
    from attnviz.capture.forward import capture

    before, after = _around(model.tokenizer)
    room = model.info.max_positions or tokens * repeats + len(before) + len(after) + 1
    tokens = min(tokens, (room - max(1, len(before) + len(after))) // repeats)
    if tokens < 2:
        raise BadInput(
            what=f"This model has {room} positions.",
            why=f"Two tokens repeated {repeats} times do not fit.",
            todo="Repeat fewer times, or try another model.",
        )
    body = _draw(model, tokens, seed) * repeats
    more: dict[str, Any] = {}
    if model.info.kind == "encoder-decoder":
        start = model.hf.config.decoder_start_token_id
        more["decoder_input_ids"] = [*([] if start is None else [start]), *body]
    return capture(model, input_ids=[*before, *body, *after], **more)


def _draw(model: "LoadedModel", count: int, seed: int) -> list[int]:
    size = int(model.hf.get_input_embeddings().weight.shape[0])
    drawn: list[int] = []
    for number in np.random.default_rng(seed).permutation(size).tolist():
        if _ordinary(model, number):
            drawn.append(number)
        if len(drawn) == count:
            return drawn
    raise BadInput(
        what=f"This model's vocabulary has {len(drawn)} ordinary tokens.",
        why=f"{count} different ones are needed.",
        todo="Ask for fewer.",
    )


def _ordinary(model: "LoadedModel", number: int) -> bool:
    tokenizer = model.tokenizer
    if tokenizer is None:
        config = model.hf.config
        names = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")
        special = [np.ravel(np.array(getattr(config, name, None))) for name in names]
        return number not in np.concatenate(special).tolist()
    if number >= len(tokenizer) or number in tokenizer.all_special_ids:
        return False
    return bool(tokenizer.decode([number]).strip().isalpha())


def _around(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The ids that the tokenizer puts before a text and after it."""
    if tokenizer is None:
        return [], []
    tokens = tokenize(tokenizer, "a").tokens
    own = [place for place, token in enumerate(tokens) if not token.special] or [len(tokens)]
    ids = [token.id for token in tokens]
    return ids[: own[0]], ids[own[-1] + 1 :]
