"""Recorder 1: transformers' registry of attention functions.

A function registered under a private name records its arguments into the running recording and
hands the call to the function the model would have used. A mask function must be registered
under the same name: without it nothing fails, and a causal model silently turns bidirectional.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from threading import Lock
from typing import Any

import torch
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from attnviz.capture.arguments import Arguments
from attnviz.capture.model_state import PREFIX
from attnviz.capture.recording import Recording
from attnviz.errors import UnsupportedModel

running: ContextVar[Recording | None] = ContextVar("attnviz_running", default=None)
"""The recording of this thread's capture; a thread that captures nothing has none."""


_BASES = {"sdpa": sdpa_mask, "eager": eager_mask}
_lock = Lock()
_users = 0


@contextmanager
def registered() -> Iterator[None]:
    """Both recorders registered with transformers, until the last who needs them is done."""
    global _users
    with _lock:
        _users += 1
        _register()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _unregister()


def _register() -> None:
    for base, mask in _BASES.items():
        ALL_ATTENTION_FUNCTIONS.register(PREFIX + base, _recorder(base))
        ALL_MASK_ATTENTION_FUNCTIONS.register(PREFIX + base, mask)


def _unregister() -> None:
    for base in _BASES:
        ALL_ATTENTION_FUNCTIONS._global_mapping.pop(PREFIX + base, None)
        ALL_MASK_ATTENTION_FUNCTIONS._global_mapping.pop(PREFIX + base, None)


def _recorder(base: str) -> Callable[..., Any]:
    def attend(
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        cls: Any = type(module)
        attention = _own_function(cls, base)

        def run(mask: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor | None]:
            return attention(module, query, key, value, mask, **kwargs)

        recording = running.get()
        if recording is None:
            return run(attention_mask)
        arguments = Arguments(module, query, key, value, attention_mask, kwargs, base == "eager")
        return recording.attend(arguments, run)

    return attend


@lru_cache(maxsize=512)
def _own_function(cls: Any, base: str) -> Callable[..., Any]:
    """The attention function a module of this class would have called for `base`.

    Looked up where its forward looks: a model file may carry a registry of its own, and its plain
    attention is a function of that file (capped and sink families differ there).
    """
    for parent in cls.__mro__:
        if "forward" not in parent.__dict__:
            continue
        forward = inspect.unwrap(parent.__dict__["forward"])
        registry = forward.__globals__.get("ALL_ATTENTION_FUNCTIONS", ALL_ATTENTION_FUNCTIONS)
        plain = _plain_attention(forward)
        if base == "eager" and plain is None:
            break
        return registry.get_interface(base, plain)
    raise UnsupportedModel(
        what=f"The plain attention of {cls.__name__} could not be found.",
        why="attnviz hands each call to the model's own function, and this class keeps it hidden.",
        todo="Load the model with attn_implementation='sdpa' if it supports that.",
    )


def _plain_attention(forward: Callable[..., Any]) -> Callable[..., Any] | None:
    names = [n for n in forward.__code__.co_names if n.endswith("eager_attention_forward")]
    for name in [*names, "eager_attention_forward"]:
        if name in forward.__globals__:
            return forward.__globals__[name]
    return None
