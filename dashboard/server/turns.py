"""Whose turn it is: one piece of work at a time, in the order in which they were asked for."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[str, float | None], None]
"""Takes plain words and a fraction from 0 to 1, or None where the length is unknown."""

POLL = 0.1  # seconds between two looks at work that another thread does


class Turns:
    """A line of readers. Whoever leaves the line, by an error that `tell` raises, is out of it."""

    def __init__(self) -> None:
        self._line: list[threading.Event] = []  # the first is at work
        self._back: set[threading.Event] = set()  # those in the line that had their turn before
        self._books = threading.Lock()
        self._worker: int | None = None  # the thread at work

    def __len__(self) -> int:
        """How many are in the line, the one at work included."""
        with self._books:
            return len(self._line)

    @contextmanager
    def turn(self, tell: Tell, *, back: bool = False) -> Iterator[None]:
        """Wait for the turn, telling how many are ahead, and hold it. Work inside work is of the
        same turn.

        back: had it, and gave it up for what could not be done in it: waits for the one at work
        and for others who are back, not for the whole line again.
        """
        if self._worker == threading.get_ident():
            yield
            return
        ticket = threading.Event()
        with self._books:
            place = len(self._line)
            if back and self._line:
                self._back.add(ticket)
                place = 1 + sum(other in self._back for other in self._line[1:])
            self._line.insert(place, ticket)
            self._call()
        try:
            while not ticket.wait(POLL):
                tell(_waiting(self._ahead(ticket)), None)
            self._worker = threading.get_ident()
            yield
        finally:
            with self._books:
                if self._line[0] is ticket:
                    self._worker = None
                self._line.remove(ticket)
                self._back.discard(ticket)
                self._call()

    def _ahead(self, ticket: threading.Event) -> int:
        with self._books:
            return max(self._line.index(ticket), 1)  # the turn may have come just now

    def _call(self) -> None:
        if self._line:
            self._line[0].set()


def _waiting(ahead: int) -> str:
    runs = "1 run" if ahead == 1 else f"{ahead} runs"
    return f"Waiting for {runs} of other readers to end"
