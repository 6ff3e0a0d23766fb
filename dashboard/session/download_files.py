"""The files that download buttons made: their bytes, and letting go of them.

Streamlit keeps such a file until pages have been drawn twice after it, whoever's pages: on a quiet
host it stays. It drops a file in two passes, so that one that is being fetched is not lost.
"""

import threading
from collections.abc import Callable

from streamlit import runtime

ANYBODY = ""


class Files:
    """The books of what Streamlit holds for downloads, at most a bound in bytes and one file more.

    Args:
        let_go: one pass over the files that no page shows: drops those marked by the pass before,
            and marks the rest.
        max_bytes: of all files together.
    """

    def __init__(self, let_go: Callable[[], None], max_bytes: int) -> None:
        self._let_go, self._max_bytes = let_go, max_bytes
        self._fresh: dict[str, int] = {}  # bytes by reader, made since the last pass
        self._marked = 0
        self._books = threading.Lock()

    @property
    def nbytes(self) -> int:
        """The most bytes that may be held; Streamlit may have dropped some on its own."""
        with self._books:
            return self._marked + sum(self._fresh.values())

    def made(self, size: int, reader: str | None) -> None:
        """A file of that many bytes is about to be handed over."""
        with self._books:
            if self._fresh and sum(self._fresh.values()) + size > self._max_bytes // 2:
                self._pass()
            owner = reader or ANYBODY
            self._fresh[owner] = self._fresh.get(owner, 0) + size

    def leave(self, reader: str) -> None:
        """The reader is gone: what was made for that reader goes."""
        with self._books:
            if self._fresh.pop(reader, None) is not None:
                self._pass()  # marked
                self._pass()

    def _pass(self) -> None:
        self._let_go()
        self._marked = sum(self._fresh.values())
        self._fresh.clear()


def let_go() -> None:
    """One pass of Streamlit's own."""
    if runtime.exists():
        runtime.get_instance().media_file_mgr.remove_orphaned_files()
