"""Result cache: captures and what was worked out from them, within a bound in bytes.

An LRU cache as others have it would do but for three things: the newest always stays, even alone
over the bound, since it is on someone's screen; entries go with their model; and they go with the
last of the readers whose they are.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from dashboard.server.value_size import count_bytes

_LEFT = 1_000  # readers who left that are remembered: more than can have a run under way


@dataclass
class Entry:
    """Something that is kept, with its bytes, and the readers whose it is (none: anybody's)."""

    model_name: str | None  # None: not of one model, and stays when a model goes
    value: Any
    nbytes: int
    readers: set[str] = field(default_factory=set)


class ResultCache:
    """Values under keys, the least lately used let go of first.

    Args:
        max_bytes, max_entries: the bounds of all values together.
        lock: guards the entries; shared with whoever holds the models.
        has_model: whether a model is held now: what was made of one that is gone is not kept.
    """

    def __init__(
        self,
        max_bytes: int,
        max_entries: int,
        lock: threading.RLock,
        has_model: Callable[[str], bool],
    ) -> None:
        self._max_bytes, self._max_entries = max_bytes, max_entries
        self._lock, self._has_model = lock, has_model
        self.entries: OrderedDict[Hashable, Entry] = OrderedDict()
        self._left: OrderedDict[str, None] = OrderedDict()  # readers, the last of them

    @property
    def nbytes(self) -> int:
        """Bytes of all that is kept."""
        with self._lock:
            return sum(entry.nbytes for entry in self.entries.values())

    def find(self, key: Hashable, reader: str | None = None) -> Entry | None:
        """The entry of that key, which is this reader's too from now on."""
        with self._lock:
            entry = self.entries.get(key)
            if entry is not None:
                self.entries.move_to_end(key)
                if reader is not None and reader not in self._left:
                    entry.readers.add(reader)
            return entry

    def keep(
        self, model_name: str | None, name: tuple[Hashable, ...], value: Any, reader: str | None
    ) -> None:
        """Keep a value under the name of its model and its own."""
        entry = Entry(model_name, value, count_bytes(value), set() if reader is None else {reader})
        with self._lock:
            if model_name is not None and not self._has_model(model_name):
                return  # released while the run lasted
            if entry.readers and entry.readers <= self._left.keys():
                return
            self.entries[model_name, *name] = entry
            while len(self.entries) > 1 and (
                self.nbytes > self._max_bytes or len(self.entries) > self._max_entries
            ):
                self.entries.popitem(last=False)

    def make_room(self, coming: int) -> None:
        """Let go of the oldest before so many bytes come, so that the peak is the bound too."""
        with self._lock:
            while self.entries and self.nbytes + coming > self._max_bytes:
                self.entries.popitem(last=False)

    def drop_oldest(self) -> bool:
        """Let go of the oldest entry; False where there is none."""
        with self._lock:
            if not self.entries:
                return False
            self.entries.popitem(last=False)
            return True

    def drop_model(self, model_name: str) -> None:
        """Let go of everything made of a model."""
        with self._lock:
            self._drop([k for k, entry in self.entries.items() if entry.model_name == model_name])

    def welcome(self, reader: str) -> None:
        """The reader is here, perhaps again after a lost connection."""
        with self._lock:
            self._left.pop(reader, None)

    def drop_reader(self, reader: str) -> bool:
        """The reader is gone: let go of what was nobody else's, now and when it comes of a run
        that is under way. Whether anything of the reader's was here."""
        with self._lock:
            self._left[reader] = None
            self._left.move_to_end(reader)
            while len(self._left) > _LEFT:
                self._left.popitem(last=False)
            mine = [key for key, entry in self.entries.items() if reader in entry.readers]
            for key in mine:
                self.entries[key].readers.discard(reader)
            self._drop([key for key in mine if not self.entries[key].readers])
            return bool(mine)

    def _drop(self, keys: list[Hashable]) -> None:
        for key in keys:
            del self.entries[key]
