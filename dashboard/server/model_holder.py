"""Model holder: the few models of this process, each loaded once for all its readers."""

import gc
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from attnviz.errors import AttnvizError
from dashboard.server import heap
from dashboard.server.turns import POLL, Tell, Turns

_OTHER_LOAD = "Waiting for another model to load"
_PATIENCE = 10.0  # seconds a load waits for the model that made way to be let go of


class Stopped(AttnvizError):
    """The reader stopped a load."""


@dataclass
class Job:
    """One load in the background, watched by every reader who wants that model."""

    name: str
    words: str = "Starting"
    fraction: float | None = None
    model: Any = None
    error: BaseException | None = None
    watchers: int = 0
    cancelled: bool = False
    done: threading.Event = field(default_factory=threading.Event)

    def report(self, words: str, fraction: float | None) -> None:
        if self.cancelled:
            raise Stopped(what="Loading was stopped.", todo="Choose the model again to load it.")
        self.words, self.fraction = words, fraction


class ModelHolder:
    """Models by name, loaded in threads of their own, one at a time.

    A reader who clicks elsewhere meanwhile does not undo a download, and ten readers who want one
    model cause one load. What failed is not kept.

    Args:
        load: takes a name and a Tell; calls `make_room` before weights are read into memory.
        max_models: held at the same time.
        lock: guards the models and the jobs; never held during a load.
        released: called with the name of a model that is let go of, under the lock.
    """

    def __init__(
        self,
        load: Callable[[str, Tell], Any],
        max_models: int,
        lock: threading.RLock,
        released: Callable[[str], None],
    ) -> None:
        self._load, self._max_models = load, max_models
        self._lock, self._released = lock, released
        self._models: OrderedDict[str, Any] = OrderedDict()
        self.jobs: dict[str, Job] = {}
        self._loads = Turns()

    def get(self, name: str, tell: Tell) -> Any:
        """The model of that name; loads it if need be, telling how far it is. Raises what the
        load raised."""
        with self._lock:
            if name in self._models:
                self._models.move_to_end(name)
                return self._models[name]
            job = self.jobs.get(name)
            if job is None or job.cancelled:  # another's stop is not this reader's
                job = self._start(name)
            job.watchers += 1
        try:
            while not job.done.wait(POLL):
                tell(job.words, job.fraction)
        finally:
            with self._lock:
                job.watchers -= 1
        if job.error is not None:
            raise job.error.with_traceback(None)
        return job.model

    def peek(self, name: str) -> Any:
        """The model of that name if it is here, else None."""
        with self._lock:
            return self._models.get(name)

    def holds(self, name: str) -> bool:
        return self.peek(name) is not None

    def cancel(self, name: str) -> None:
        """Stop a load that nobody watches any more; others' loads go on."""
        with self._lock:
            job = self.jobs.get(name)
            if job is not None and job.watchers == 0:
                job.cancelled = True

    def release(self, name: str) -> None:
        """Let go of a model and of everything made with it."""
        with self._lock:
            self._models.pop(name, None)
            self._released(name)
        gc.collect()  # a model is full of reference cycles; its memory should go back now
        heap.give_back()

    def making_way(self) -> list[Any]:
        """The models that another load would let go of."""
        with self._lock:
            return list(self._models.values())[: len(self._models) - self._max_models + 1]

    def make_room(self) -> None:
        """Before weights are read, so that the peak is the bound and not one model more."""
        while True:
            with self._lock:
                if len(self._models) < self._max_models:
                    return
                oldest, model = next(iter(self._models.items()))
            last = _watch(model)
            del model
            self.release(oldest)
            deadline = time.monotonic() + _PATIENCE  # a run may still be using it
            while last() is not None and time.monotonic() < deadline:
                time.sleep(POLL)
                gc.collect()

    def _start(self, name: str) -> Job:
        job = self.jobs[name] = Job(name)
        threading.Thread(target=self._work, args=(job,), name=f"load {name}", daemon=True).start()
        return job

    def _work(self, job: Job) -> None:
        try:
            with self._loads.turn(lambda words, fraction: job.report(_OTHER_LOAD, None)):
                job.model = self.peek(job.name)  # one stopped too late to notice may have it
                if job.model is None:
                    job.model = self._load(job.name, job.report)
                    self.make_room()  # a load may not have called it
                    with self._lock:
                        self._models[job.name] = job.model
        except BaseException as error:  # handed to whoever waits
            job.error = error
        finally:
            with self._lock:
                if self.jobs.get(job.name) is job:
                    del self.jobs[job.name]
            job.done.set()


def _watch(model: Any) -> Callable[[], Any]:
    """A look at whether anybody still holds a model."""
    try:
        return weakref.ref(model)
    except TypeError:
        return lambda: None
