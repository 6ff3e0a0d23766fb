"""TokenizerCopy: a private copy of somebody's tokenizer, to read text with.

A call of a transformers tokenizer may switch truncation, padding and the reading of control
tokens on the shared object, and two threads doing so at once end in "Already borrowed". So the
shared tokenizer is never called; a copy reads every text, one text at a time.
"""

import copy
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from attnviz.tokens.vocabulary_pieces import Spelling, detect_spelling

_Result = TypeVar("_Result")


@dataclass
class TokenizerCopy:
    """A tokenizer that only we call, and what is known of its vocabulary.

    added: the literal of every added token by id. special: ids of control tokens.
    unknown: the id of the unknown token. unknown_is_control: that id has another role as well.
    state: the settings it was copied with.
    """

    tokenizer: Any
    fast: bool
    spelling: Spelling
    added: dict[int, str]
    special: frozenset[int]
    unknown: int | None
    unknown_is_control: bool
    state: tuple[Any, ...]
    lock: threading.Lock = field(default_factory=threading.Lock)

    def encode(self, text: str, pair: str | None, **options: Any) -> Any:
        """The tokenizer's own default output: no truncation, no padding."""
        if self.fast:
            options["return_offsets_mapping"] = True
        with self.lock:
            return self.tokenizer(text, pair, verbose=False, **options)

    def read_pieces(self, ids: Sequence[int]) -> list[str | None]:
        """The vocabulary's entry of each id; None for an id it does not have."""
        with self.lock:
            return [self._read_piece(token_id) for token_id in ids]

    def _read_piece(self, token_id: int) -> str | None:
        try:
            piece = self.tokenizer.convert_ids_to_tokens(token_id)
        except (IndexError, KeyError, OverflowError, ValueError):
            return None
        return piece if isinstance(piece, str) and piece else None


_ROLES = ("bos", "eos", "sep", "cls", "pad", "mask")
_copies: "weakref.WeakKeyDictionary[Any, TokenizerCopy]" = weakref.WeakKeyDictionary()
_making_copy = threading.Lock()


def get_copy(tokenizer: Any) -> TokenizerCopy:
    """The copy of a tokenizer; a new one where the tokenizer was changed since the last."""
    with _making_copy:
        state = _retry_while_borrowed(lambda: _read_state(tokenizer))
        known = _copies.get(tokenizer)
        if known is None or known.state != state:
            known = _retry_while_borrowed(lambda: _make_copy(tokenizer, state))
            _copies[tokenizer] = known
        return known


def _make_copy(tokenizer: Any, state: tuple[Any, ...]) -> TokenizerCopy:
    fast = bool(getattr(tokenizer, "is_fast", False))
    # A slow tokenizer holds no switches that a call would move, and not all can be copied.
    own = copy.deepcopy(tokenizer) if fast else tokenizer
    entries = getattr(own, "added_tokens_decoder", None) or {}
    unknown = getattr(own, "unk_token_id", None)
    special = {token_id for token_id, token in entries.items() if token.special}
    return TokenizerCopy(
        tokenizer=own,
        fast=fast,
        spelling=detect_spelling(own),
        added={token_id: str(token.content) for token_id, token in entries.items()},
        special=frozenset(special | set(getattr(own, "all_special_ids", ()))),
        unknown=unknown,
        unknown_is_control=unknown in [getattr(own, f"{role}_token_id", None) for role in _ROLES],
        state=state,
    )


def _read_state(tokenizer: Any) -> tuple[Any, ...]:
    """Everything that changes how the tokenizer reads a text, quick to compare."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    settings: tuple[Any, ...] = (
        tuple(getattr(tokenizer, "all_special_ids", ())),
        tuple(getattr(tokenizer, "model_input_names", ())),
        getattr(tokenizer, "split_special_tokens", None),
    )
    if backend is None:
        return (*settings, len(getattr(tokenizer, "added_tokens_decoder", None) or ()))
    steps = (backend.normalizer, backend.pre_tokenizer, backend.post_processor, backend.decoder)
    return (
        *settings,
        id(backend),
        backend.get_vocab_size(),
        *(step and bytes(step.__getstate__()) for step in steps),
    )


def _retry_while_borrowed(look: Callable[[], _Result]) -> _Result:
    """The result of `look`, called again while another thread is changing the tokenizer."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return look()
        except RuntimeError as error:
            if "borrowed" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.001)
