"""The process's heap, which glibc lets grow far beyond what is held unless it is told."""

import ctypes
import gc
from collections.abc import Callable

_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of malloc.h
_LARGE = 16 * 2**20  # bytes: tensors of long texts, and none of a page's small objects


def keep_small() -> None:
    """Give large pieces of memory a mapping of their own, which goes back when they are freed.

    By itself, glibc raises the size from which it does so with every large piece that is freed;
    a forward pass on a long text then leaves holes between the tensors that are kept, more than
    a gigabyte of them at 8,192 tokens.
    """
    if (mallopt := find_function("mallopt")) is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE)


def freeze_garbage() -> None:
    """Once a process: look for cycles among what comes from now on only.

    What is there when the first model comes is the libraries, half a million objects that never
    go: passing them over takes a collection from a quarter of a second to a few milliseconds.
    """
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


def give_back() -> None:
    """Return to the system what is free."""
    if (malloc_trim := find_function("malloc_trim")) is not None:
        malloc_trim(0)


def find_function(name: str) -> Callable[..., int] | None:
    """A function of the C library; None where it has no such thing (macOS, musl, Windows)."""
    try:
        found: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)
        return found
    except (OSError, TypeError):
        return None
