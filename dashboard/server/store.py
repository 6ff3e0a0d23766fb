"""The models and captures that this process holds for all its readers. No Streamlit in here."""

import gc
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from attnviz.errors import AttnvizError, TooLarge
from dashboard.server import heap
from dashboard.server.turns import POLL, Tell, Turns
from dashboard.server.value_size import nbytes

_OTHER_LOAD = "Waiting for another model to load"
_LEFT = 1_000  # readers who left that are remembered: more than can have a run under way
_PATIENCE = 10.0  # seconds a load waits for the model that made way to be let go of


class _MadeWay(Exception):
    """The model was let go of while its run waited in line."""


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


@dataclass
class _Held:
    """Something that is kept, with its bytes, and the readers whose it is (none: anybody's)."""

    model_name: str | None  # None: not of one model, and stays when a model goes
    value: Any
    nbytes: int
    readers: set[str] = field(default_factory=set)


class Store:
    """Models (a few), captures, and what was worked out from them (together a bound in bytes),
    each made once and shared by all readers.

    Loads run in a thread of their own, one at a time: a reader who clicks elsewhere meanwhile
    does not undo a download, and ten readers who want one model cause one load. Work on captures
    is done one piece at a time, in the order it was asked for, in a line of its own, so that a
    download of minutes holds nobody up. What failed is not kept.

    Whoever asks may say which reader it is for. `leave` lets go of what was that reader's alone.
    """

    def __init__(
        self,
        load: Callable[[str, Tell], Any],
        capture: Callable[..., Any],
        *,
        max_models: int,
        max_bytes: int,
        max_entries: int = 512,
        size: Callable[..., int] = lambda model, options: 0,
        admit: Callable[..., None] = lambda model, options, freed: None,
        during: Callable[[Any], AbstractContextManager[None]] = nullcontext,
        idle: Callable[[list[Any]], None] = lambda models: None,
    ) -> None:
        """
        Args:
            load: takes a name and a Tell; calls `make_room` before weights are read into memory.
            capture: takes a model and options.
            max_models, max_bytes, max_entries: of models; of captures and results.
            size: bytes that a capture of a model on these options will take.
            admit: takes a model, options and bytes that could be freed for such a run; raises
                TooLarge where there is no memory for it even so.
            during: takes a model, and gives what is to surround each of its runs.
            idle: takes the models that are held; called after a run that nobody waits behind,
                while nothing loads.
        """
        self._load, self._capture, self._size = load, capture, size
        self._admit, self._during, self._idle = admit, during, idle
        self._max_models, self._max_bytes, self._max_entries = max_models, max_bytes, max_entries
        self._models: OrderedDict[str, Any] = OrderedDict()
        self._held: OrderedDict[Hashable, _Held] = OrderedDict()
        # Captures that somebody still draws from, kept here or not: a page that is half drawn
        # when its model has to go is drawn to its end without another run.
        self._drawn: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()
        self._jobs: dict[str, Job] = {}
        self._left: OrderedDict[str, None] = OrderedDict()  # readers, the last of them
        self._books = threading.RLock()  # guards all of the above; never held during work
        self._loads = Turns()
        self.turns = Turns()

    # Models

    def model(self, name: str, tell: Tell) -> Any:
        """The model of that name; loads it if need be, telling how far it is. Raises what the
        load raised."""
        with self._books:
            if name in self._models:
                self._models.move_to_end(name)
                return self._models[name]
            job = self._jobs.get(name)
            if job is None or job.cancelled:  # another's stop is not this reader's
                job = self._start(name)
            job.watchers += 1
        try:
            while not job.done.wait(POLL):
                tell(job.words, job.fraction)
        finally:
            with self._books:
                job.watchers -= 1
        if job.error is not None:
            raise job.error.with_traceback(None)
        return job.model

    def holds(self, name: str) -> bool:
        with self._books:
            return name in self._models

    def cancel(self, name: str) -> None:
        """Stop a load that nobody watches any more; others' loads go on."""
        with self._books:
            job = self._jobs.get(name)
            if job is not None and job.watchers == 0:
                job.cancelled = True

    def release(self, name: str) -> None:
        """Let go of a model and of everything made with it."""
        with self._books:
            self._models.pop(name, None)
            self._drop(key for key, held in self._held.items() if held.model_name == name)
        gc.collect()  # a model is full of reference cycles; its memory should go back now
        heap.give_back()

    def _start(self, name: str) -> Job:
        job = self._jobs[name] = Job(name)
        threading.Thread(target=self._work, args=(job,), name=f"load {name}", daemon=True).start()
        return job

    def _work(self, job: Job) -> None:
        try:
            with self._loads.turn(lambda words, fraction: job.report(_OTHER_LOAD, None)):
                with self._books:  # one that was stopped too late to notice may have brought it
                    job.model = self._models.get(job.name)
                if job.model is None:
                    job.model = self._load(job.name, job.report)
                    self.make_room()  # a load may not have called it
                    with self._books:
                        self._models[job.name] = job.model
        except BaseException as error:  # handed to whoever waits
            job.error = error
        finally:
            with self._books:
                if self._jobs.get(job.name) is job:
                    del self._jobs[job.name]
            job.done.set()

    def making_way(self) -> list[Any]:
        """The models that another load would let go of."""
        with self._books:
            return list(self._models.values())[: len(self._models) - self._max_models + 1]

    def make_room(self) -> None:
        """Before weights are read, so that the peak is the bound and not one model more."""
        while True:
            with self._books:
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

    # Captures and what is worked out from them

    def capture(
        self, model_name: str, options: Hashable, tell: Tell, reader: str | None = None
    ) -> Any:
        """The capture of one text under some options, by the names of both, never by arrays."""

        found = self.held(model_name, options, reader)
        if found is None:
            found = self._run(
                model_name,
                ("capture", options),
                lambda model: self._captured(model, options),
                tell,
                reader,
            )
        with self._books:
            self._drawn[model_name, "capture", options] = found
        return found

    def _captured(self, model: Any, options: Hashable) -> Any:
        self._admitted(model, options)
        self._clear(self._size(model, options))
        return self._capture(model, options)

    def held(self, model_name: str, options: Hashable, reader: str | None = None) -> Any:
        """The capture if it is here, else None."""
        key = (model_name, "capture", options)
        held = self._look_up(key, reader)
        return held.value if held is not None else self._drawn.get(key)

    def result(
        self,
        model_name: str,
        options: Hashable,
        name: Hashable,
        make: Callable[[Any, Any], Any],
        tell: Tell,
        reader: str | None = None,
    ) -> Any:
        """What is worked out, once and in turn, by runs of a model, and from its capture of a
        text."""

        def work(model: Any) -> Any:
            capture = self.held(model_name, options, reader)
            if capture is None:
                capture = self._captured(model, options)
                self._keep_value(model_name, ("capture", options), capture, reader)
            self._admitted(model, options)
            return make(model, capture)

        return self._run(model_name, ("result", options, name), work, tell, reader)

    def extra(
        self,
        model_name: str,
        options: Hashable,
        name: Hashable,
        make: Callable[[Any], Any],
        tell: Tell,
        reader: str | None = None,
    ) -> Any:
        """What is worked out, once and in turn, from a capture of a text alone."""
        capture = self.capture(model_name, options, tell, reader)

        def work() -> Any:
            return make(capture)

        return self._once(model_name, ("result", options, name), work, tell, reader)

    def probe(self, model_name: str, name: Hashable, make: Callable[[Any], Any], tell: Tell) -> Any:
        """What is worked out, once and in turn, from a model alone."""

        return self._run(model_name, ("probe", name), make, tell, None)

    def has_capture(self, model_name: str, options: Hashable) -> bool:
        return self.held(model_name, options) is not None

    def has_result(self, model_name: str, options: Hashable, name: Hashable) -> bool:
        return self._look_up((model_name, "result", options, name), None) is not None

    def aside(
        self,
        key: Hashable,
        make: Callable[[], Any],
        own: Callable[[Any], Any],
        reader: str | None = None,
    ) -> Any:
        """What is laid aside under a key that says all that it depends on, so that it outlasts its
        model; made in no turn, where it is not there. None is not kept. own: makes what was made
        stand alone, with nothing of a capture behind it."""
        name = (None, "aside", key)
        if (held := self._look_up(name, reader)) is not None:
            return held.value
        made = make()
        if made is None:
            return None
        value = own(made)
        self._keep_value(None, ("aside", key), value, reader)
        return value

    def come(self, reader: str) -> None:
        """The reader is here, perhaps again after a lost connection."""
        with self._books:
            self._left.pop(reader, None)

    def leave(self, reader: str) -> None:
        """The reader is gone: let go of what was nobody else's, now and when it comes of a run
        that is under way."""
        with self._books:
            self._left[reader] = None
            self._left.move_to_end(reader)
            while len(self._left) > _LEFT:
                self._left.popitem(last=False)
            mine = [key for key, held in self._held.items() if reader in held.readers]
            for key in mine:
                self._held[key].readers.discard(reader)
            self._drop(key for key in mine if not self._held[key].readers)
        if mine:
            heap.give_back()

    @property
    def nbytes(self) -> int:
        """Bytes of all that is kept, the models aside."""
        with self._books:
            return sum(held.nbytes for held in self._held.values())

    def _once(
        self,
        model_name: str,
        name: tuple[Hashable, ...],
        make: Callable[[], Any],
        tell: Tell,
        reader: str | None,
        back: bool = False,
    ) -> Any:
        key = (model_name, *name)
        if (held := self._look_up(key, reader)) is not None:
            return held.value
        with self.turns.turn(tell, back=back):
            if (held := self._look_up(key, reader)) is not None:  # made while we waited
                return held.value
            value = make()
            self._keep_value(model_name, name, value, reader)
            self._rest()
            return value

    def _run(
        self,
        model_name: str,
        name: tuple[Hashable, ...],
        make: Callable[[Any], Any],
        tell: Tell,
        reader: str | None,
    ) -> Any:
        """What is made of a model, once and in turn. The model is loaded out of turn: a download
        holds up nobody, and nobody who waits in line keeps a model alive. Where it has made way by
        the time that the turn comes, the turn is given up for another load; whoever comes back
        from that is next, and does keep the model, or two models would push each other out for
        ever."""
        mine: list[Any] = []

        def work() -> Any:
            with self._books:
                model = mine.pop() if mine else self._models.get(model_name)
            if model is None:
                raise _MadeWay
            with self._during(model):
                return make(model)

        back = False
        while True:
            if self._look_up((model_name, *name), reader) is None:
                mine[:] = [self.model(model_name, tell)][: int(back)]
            try:
                return self._once(model_name, name, work, tell, reader, back)
            except _MadeWay:
                back = True

    def _keep_value(
        self, model_name: str | None, name: tuple[Hashable, ...], value: Any, reader: str | None
    ) -> None:
        held = _Held(model_name, value, nbytes(value), set() if reader is None else {reader})
        self._keep((model_name, *name), held)

    def _rest(self) -> None:
        """After the last run of a row of them, give back what can be had again."""
        heap.give_back()
        with self._books:
            models = list(self._models.values())  # held until the call ends
            loading = bool(self._jobs)
        if len(self.turns) <= 1 and not loading:
            self._idle(models)

    def _clear(self, coming: int) -> None:
        """Let go of the oldest before a run, so that the peak is the bound too."""
        with self._books:
            while self._held and self.nbytes + coming > self._max_bytes:
                self._held.popitem(last=False)

    def _admitted(self, model: Any, options: Hashable) -> None:
        """Make room for a run, the oldest first. Raises where an empty store would leave too
        little, and drops nothing then: it would be others' work, for nothing."""
        self._admit(model, options, self.nbytes)
        while True:
            try:
                return self._admit(model, options, 0)
            except TooLarge:
                with self._books:
                    if not self._held:
                        raise
                    self._held.popitem(last=False)
                heap.give_back()

    def _look_up(self, key: Hashable, reader: str | None) -> _Held | None:
        with self._books:
            held = self._held.get(key)
            if held is not None:
                self._held.move_to_end(key)
                if reader is not None and reader not in self._left:
                    held.readers.add(reader)
            return held

    def _keep(self, key: Hashable, held: _Held) -> None:
        with self._books:
            gone = held.model_name is not None and held.model_name not in self._models
            if gone:  # released while the run lasted
                return
            if held.readers and held.readers <= self._left.keys():
                return
            self._held[key] = held
            # The newest always stays, even alone over the bound: it is on someone's screen.
            while len(self._held) > 1 and (
                self.nbytes > self._max_bytes or len(self._held) > self._max_entries
            ):
                self._held.popitem(last=False)

    def _drop(self, keys: Any) -> None:
        for key in list(keys):
            del self._held[key]


def _watch(model: Any) -> Callable[[], Any]:
    """A look at whether anybody still holds a model."""
    try:
        return weakref.ref(model)
    except TypeError:
        return lambda: None
