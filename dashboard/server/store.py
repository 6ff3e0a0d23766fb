"""The models and captures that this process holds for all its readers. No Streamlit in here."""

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any

from attnviz.errors import TooLarge
from dashboard.server import heap
from dashboard.server.model_holder import ModelHolder
from dashboard.server.result_cache import ResultCache
from dashboard.server.turns import Tell, Turns


class _MadeWay(Exception):
    """The model was let go of while its run waited in line."""


class Store:
    """Models (a few), captures, and what was worked out from them (together a bound in bytes),
    each made once and shared by all readers.

    Loads run in threads of their own, see `ModelHolder`. Work on captures is done one piece at a
    time, in the order it was asked for, in a line of its own, so that a download of minutes holds
    nobody up. What failed is not kept.

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
    ) -> None:
        """
        Args:
            load: takes a name and a Tell; calls `make_room` before weights are read into memory.
            capture: takes a model and options.
            max_models, max_bytes, max_entries: of models; of captures and results.
            size: bytes that a capture of a model on these options will take.
            admit: takes a model, options and bytes that could be freed for such a run; raises
                TooLarge where there is no memory for it even so.
        """
        self._capture, self._size, self._admit = capture, size, admit
        lock = threading.RLock()  # guards models and results; never held during work
        self.models = ModelHolder(
            load, max_models, lock, lambda name: self.results.drop_model(name)
        )
        self.results = ResultCache(max_bytes, max_entries, lock, self.models.holds)
        # Captures that somebody still draws from, kept here or not: a page that is half drawn
        # when its model has to go is drawn to its end without another run.
        self._drawn: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()
        self.turns = Turns()

    # Models

    def model(self, name: str, tell: Tell) -> Any:
        """The model of that name; loads it if need be, telling how far it is. Raises what the
        load raised."""
        return self.models.get(name, tell)

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
        self._drawn[model_name, "capture", options] = found
        return found

    def _captured(self, model: Any, options: Hashable) -> Any:
        self._admitted(model, options)
        self.results.make_room(self._size(model, options))
        return self._capture(model, options)

    def held(self, model_name: str, options: Hashable, reader: str | None = None) -> Any:
        """The capture if it is here, else None."""
        key = (model_name, "capture", options)
        held = self.results.find(key, reader)
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
                self.results.keep(model_name, ("capture", options), capture, reader)
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

    def has_result(self, model_name: str, options: Hashable, name: Hashable) -> bool:
        return self.results.find((model_name, "result", options, name), None) is not None

    def cached(
        self,
        key: Hashable,
        make: Callable[[], Any],
        own: Callable[[Any], Any],
        reader: str | None = None,
    ) -> Any:
        """What is cached under a key that says all that it depends on, so that it outlasts its
        model; made in no turn, where it is not there. None is not kept. own: makes what was made
        stand alone, with nothing of a capture behind it."""
        if (entry := self.results.find((None, "cached", key), reader)) is not None:
            return entry.value
        made = make()
        if made is None:
            return None
        value = own(made)
        self.results.keep(None, ("cached", key), value, reader)
        return value

    def leave(self, reader: str) -> None:
        """The reader is gone: let go of what was nobody else's."""
        if self.results.drop_reader(reader):
            heap.give_back()

    @property
    def nbytes(self) -> int:
        """Bytes of all that is kept, the models aside."""
        return self.results.nbytes

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
        if (held := self.results.find(key, reader)) is not None:
            return held.value
        with self.turns.turn(tell, back=back):
            if (held := self.results.find(key, reader)) is not None:  # made while we waited
                return held.value
            value = make()
            self.results.keep(model_name, name, value, reader)
            heap.give_back()
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
            model = mine.pop() if mine else self.models.peek(model_name)
            if model is None:
                raise _MadeWay
            return make(model)

        back = False
        while True:
            if self.results.find((model_name, *name), reader) is None:
                mine[:] = [self.model(model_name, tell)][: int(back)]
            try:
                return self._once(model_name, name, work, tell, reader, back)
            except _MadeWay:
                back = True

    def _admitted(self, model: Any, options: Hashable) -> None:
        """Make room for a run, the oldest first. Raises where an empty store would leave too
        little, and drops nothing then: it would be others' work, for nothing."""
        self._admit(model, options, self.nbytes)
        while True:
            try:
                return self._admit(model, options, 0)
            except TooLarge:
                if not self.results.drop_oldest():
                    raise
                heap.give_back()
