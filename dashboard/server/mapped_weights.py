"""The weights files that this process has mapped into memory: how much of them is in, and a way to
let go of it.

A model in float32 is not read but mapped: the system brings a page of its file in when a run
first touches it, and keeps it. Between runs these pages are of use to nobody, and they are most
of what a host counts. Given back, they come in again with the next run, from the file cache where
there is room for one.

A mapping is told by what lies in it, a parameter of a model, and not by its file's name: the
Hub's cache names files by their hashes.
"""

import ctypes
import mmap
import re
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboard.server import heap

_SMAPS = Path("/proc/self/smaps")
_DONT_NEED = 4  # MADV_DONTNEED of mman.h
AT_ONCE = 192 * 2**20
"""Bytes of a model's pages that are in memory during a run under `sparing`, with room to spare."""
_EACH = 0.02  # seconds between two times of letting go
_RANGE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \d+ +/.*\n")


@dataclass(frozen=True)
class _Piece:
    """One tensor's own memory. The tensor is held, so that the memory stays its own."""

    tensor: Any
    start: int
    end: int


@dataclass
class _Mapping:
    start: int
    end: int
    present: int = 0  # bytes
    changed: int = 0  # bytes that are no longer the file's


def absent(models: Iterable[Any]) -> int:
    """Bytes of these models' mapped weights that are not in memory now."""
    mapped = {one.start: one for _, one in _placed(models) if one is not None}
    return sum(one.end - one.start - one.present for one in mapped.values())


def present(models: Iterable[Any]) -> int:
    """Bytes of these models' weights that are in memory now, mapped or read."""
    placed = _placed(models)
    mapped = {one.start: one.present for _, one in placed if one is not None}
    return sum(mapped.values()) + sum(piece.end - piece.start for piece, one in placed if not one)


def give_back(models: Iterable[Any]) -> None:
    """Let go of the pages of these models' mapped weights. Nothing is lost: a page is given back
    only if it lies wholly in one weight, and if every page of its mapping is still the file's.

    The weights are held until the end. Memory that nobody holds may be somebody else's by the time
    it is given back.
    """
    _let_go(_wholes(models))


@contextmanager
def sparing(models: Iterable[Any]) -> Iterator[None]:
    """Let go of these models' pages over and over while a run of theirs lasts.

    A pass touches most weights once, one layer after the other, so what was touched is not needed
    again in it: a run has a part of the file in memory, and not the whole.
    """
    wholes, done = _wholes(models), threading.Event()

    def work() -> None:
        while not done.wait(_EACH):
            _let_go(wholes)

    if not wholes:
        yield
        return
    thread = threading.Thread(target=work, name="sparing", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _wholes(models: Iterable[Any]) -> list[tuple[_Piece, int, int]]:
    """The whole pages in each weight of a mapping that is still the file's: start and bytes. The
    weight is in it, to be held as long as its pages are spoken of."""
    found = []
    for piece, one in _placed(models):
        start = -(-piece.start // mmap.PAGESIZE) * mmap.PAGESIZE
        end = piece.end // mmap.PAGESIZE * mmap.PAGESIZE
        if one is not None and not one.changed and start < end:
            found.append((piece, start, end - start))
    return found


def _let_go(wholes: list[tuple[_Piece, int, int]]) -> None:
    madvise = heap.library_function("madvise")
    if madvise is not None:
        for _, start, size in wholes:
            madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), _DONT_NEED)


def _placed(models: Iterable[Any]) -> list[tuple[_Piece, _Mapping | None]]:
    """Every weight with the mapping that it lies in wholly; None where it is not a file's."""
    pieces = _pieces(models)
    book = list(_mappings())  # to its end: it is in the order of addresses
    starts = [one.start for one in book]
    found: list[tuple[_Piece, _Mapping | None]] = []
    for piece in pieces:
        at = bisect_right(starts, piece.start) - 1
        inside = at >= 0 and piece.end <= book[at].end
        found.append((piece, book[at] if inside else None))
    return found


def _pieces(models: Iterable[Any]) -> list[_Piece]:
    """The memory of every weight on the CPU."""
    found = {}
    for model in models:
        hf = getattr(model, "hf", None)
        if hf is None:
            continue
        for tensor in (*hf.parameters(), *hf.buffers()):
            # Another view of the same memory: it stays even if the weight is given another.
            own = tensor.detach()
            if own.device.type == "cpu" and own.is_contiguous() and own.nbytes:
                start = own.data_ptr()
                found[start, own.nbytes] = _Piece(own, start, start + own.nbytes)
    return list(found.values())


def _mappings() -> Iterator[_Mapping]:
    """The private mappings of files; none where the system has no such book."""
    current = None
    try:
        with _SMAPS.open() as book:
            for line in book:
                name, _, rest = line.partition(":")
                if name == "Rss" and current:
                    current.present = _bytes(rest)
                elif name in ("Anonymous", "Swap") and current:
                    current.changed += _bytes(rest)
                elif name == "VmFlags" or not rest.endswith(" kB\n"):
                    if current:
                        yield current
                    found = _RANGE.fullmatch(line)
                    current = None
                    if found is not None and found[3].endswith("p"):  # private
                        current = _Mapping(int(found[1], 16), int(found[2], 16))
    except OSError:
        return
    if current:
        yield current


def _bytes(text: str) -> int:
    return int(text.split()[0]) * 1024
