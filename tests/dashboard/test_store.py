"""The store of models and captures: made once, bounded in bytes, nothing kept of what failed."""

import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from attnviz.errors import BadInput, ModelNotFound, TooLarge
from dashboard.server.model_holder import Job, Stopped
from dashboard.server.store import Store


def has_capture(store, model_name, options):
    return store.held(model_name, options) is not None


@dataclass(eq=False)
class FakeModel:
    name: str


@dataclass(eq=False)
class FakeCapture:
    model: FakeModel
    nbytes: int = 10


def quiet(words, fraction):
    pass


def make(load=None, capture=None, *, max_models=2, max_bytes=100):
    return Store(
        load or (lambda name, tell: FakeModel(name)),
        capture or (lambda model, options: FakeCapture(model)),
        max_models=max_models,
        max_bytes=max_bytes,
    )


def in_line(turns, count):
    deadline = time.monotonic() + 10
    while len(turns) < count and time.monotonic() < deadline:
        time.sleep(0.002)
    assert len(turns) == count


def test_ten_readers_of_one_model_cause_one_load():
    """streamlit/streamlit#8009: after a restart many visitors each loaded their own copy."""
    loads = []

    def load(name, tell):
        loads.append(name)
        time.sleep(0.3)
        return FakeModel(name)

    store = make(load)
    with ThreadPoolExecutor(10) as pool:
        models = list(pool.map(lambda _: store.model("m", quiet), range(10)))
    assert loads == ["m"]
    assert all(model is models[0] for model in models)


def test_a_failed_load_reaches_every_reader_and_is_not_kept():
    """streamlit/streamlit#8009: a failed load is not cached for the others."""
    answers, asked = [ModelNotFound("gone"), FakeModel("m")], threading.Event()

    def load(name, tell):
        answer = answers.pop(0)
        asked.wait(10)  # for all three
        if isinstance(answer, Exception):
            raise answer
        return answer

    def ask(_):
        try:
            return store.model("m", quiet)
        except ModelNotFound as error:
            return error.what

    store = make(load)
    with ThreadPoolExecutor(3) as pool:
        asks = [pool.submit(ask, number) for number in range(3)]
        deadline = time.monotonic() + 10
        while store.models.jobs.get("m", Job("m")).watchers < 3 and time.monotonic() < deadline:
            time.sleep(0.002)
        asked.set()
        assert [one.result(10) for one in asks] == ["gone"] * 3
    assert isinstance(store.model("m", quiet), FakeModel)


def test_a_reader_is_told_how_far_the_load_is():
    told = []

    def load(name, tell):
        tell("Fetching", 0.25)
        time.sleep(0.5)
        return FakeModel(name)

    make(load).model("m", lambda *news: told.append(news))
    assert ("Fetching", 0.25) in told


def test_a_load_goes_on_when_its_reader_leaves_and_the_next_one_finds_it():
    loads = []

    def load(name, tell):
        loads.append(name)
        time.sleep(0.5)
        return FakeModel(name)

    def leave(words, fraction):
        raise KeyboardInterrupt

    store = make(load)
    with pytest.raises(KeyboardInterrupt):
        store.model("m", leave)
    assert store.model("m", quiet).name == "m"
    assert loads == ["m"]


def test_a_load_nobody_watches_can_be_stopped_and_others_cannot():
    started, go_on = threading.Event(), threading.Event()

    def load(name, tell):
        started.set()
        for step in range(500):
            tell("Fetching", step / 500)
            go_on.wait(0.01)
        return FakeModel(name)

    store = make(load)
    outcome = []

    def watch():
        try:
            outcome.append(store.model("m", quiet))
        except Stopped as error:
            outcome.append(error)

    watcher = threading.Thread(target=watch)
    watcher.start()
    started.wait(5)
    store.models.cancel("m")
    go_on.set()
    watcher.join(20)
    assert isinstance(outcome[0], FakeModel)  # watched, so it went on

    started.clear()
    go_on.clear()

    def leave(words, fraction):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.model("n", leave)
    stopped = store.models.jobs["n"]
    store.models.cancel("n")
    assert stopped.done.wait(10) and isinstance(stopped.error, Stopped)
    assert not store.models.holds("n")


def test_whoever_asks_for_a_model_that_another_has_stopped_gets_it():
    """The stop is noticed at the loader's next word, which may be a while away."""
    loads, loading, go_on = [], threading.Event(), threading.Event()

    def load(name, tell):
        loads.append(name)
        if len(loads) == 1:
            loading.set()
            go_on.wait(10)
        tell("Fetching", 0.5)
        return FakeModel(name)

    def leave(words, fraction):
        loading.wait(10)
        raise KeyboardInterrupt

    store = make(load)
    with pytest.raises(KeyboardInterrupt):
        store.model("m", leave)
    stopped = store.models.jobs["m"]
    store.models.cancel("m")
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(store.model, "m", quiet) for _ in range(2)]
        in_line(store.models._loads, 2)
        go_on.set()
        first, second = (ask.result(10) for ask in asked)
    assert isinstance(stopped.error, Stopped)
    assert (
        first is second
        and store.models.holds("m")
        and loads == ["m", "m"]
        and not store.models.jobs
    )


def test_a_load_that_was_stopped_too_late_is_not_done_twice():
    loads, loading, go_on = [], threading.Event(), threading.Event()

    def load(name, tell):
        loads.append(name)
        loading.set()
        go_on.wait(10)
        return FakeModel(name)

    def leave(words, fraction):
        loading.wait(10)
        raise KeyboardInterrupt

    store = make(load)
    with pytest.raises(KeyboardInterrupt):
        store.model("m", leave)
    store.models.cancel("m")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(store.model, "m", quiet)
        in_line(store.models._loads, 2)
        go_on.set()
        assert isinstance(asked.result(10), FakeModel)
    assert loads == ["m"]


def test_models_are_released_before_another_is_loaded():
    held_at_load = []

    def load(name, tell):
        store.models.make_room()
        held_at_load.append([n for n in "abc" if store.models.holds(n)])
        return FakeModel(name)

    store = make(load)
    for name in ("a", "b", "a", "c"):
        store.model(name, quiet)
    assert held_at_load == [[], ["a"], ["a"]]  # "b" was the one used longest ago
    assert store.models.holds("a") and store.models.holds("c") and not store.models.holds("b")


def test_an_evicted_model_and_its_captures_are_free_to_go():
    store = make(max_models=1)
    model = store.model("a", quiet)
    capture = store.capture("a", "text", quiet)
    gone = [weakref.ref(model), weakref.ref(capture)]
    del model, capture
    gc.collect()
    assert all(ref() is not None for ref in gone)
    store.model("b", quiet)
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert store.nbytes == 0


def test_captures_are_bounded_in_bytes_and_the_newest_always_stays():
    sizes = {"a": 40, "b": 40, "c": 40, "huge": 500}
    runs = []

    def capture(model, options):
        runs.append(options)
        return FakeCapture(model, sizes[options])

    store = make(capture=capture)
    store.model("m", quiet)

    def ask(options):
        return store.capture("m", options, quiet)

    for options in ("a", "b", "a", "c"):
        ask(options)
    assert store.nbytes == 80
    ask("a")
    ask("c")
    assert runs == ["a", "b", "c"]  # "b" was used longest ago, so it went
    ask("b")
    assert runs[-1] == "b"
    ask("huge")
    ask("huge")
    assert runs.count("huge") == 1 and store.nbytes == 500


def test_a_failed_run_is_not_kept():
    answers = [BadInput("no tokens"), None]

    def capture(model, options):
        if (answer := answers.pop(0)) is not None:
            raise answer
        return FakeCapture(model)

    store = make(capture=capture)
    store.model("m", quiet)
    with pytest.raises(BadInput):
        store.capture("m", "x", quiet)
    assert isinstance(store.capture("m", "x", quiet), FakeCapture)


def test_runs_happen_one_at_a_time_and_a_waiting_reader_is_told():
    at_once, most, told = [], [], []

    def capture(model, options):
        at_once.append(1)
        most.append(len(at_once))
        time.sleep(0.25)
        at_once.pop()
        return FakeCapture(model)

    store = make(capture=capture)
    store.model("m", quiet)

    def ask(options):
        return store.capture("m", options, lambda *news: told.append(news))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(ask, "xyz"))
    assert max(most) == 1 and len(most) == 3
    assert any("Waiting" in words for words, _ in told)


def test_a_small_result_is_worked_out_once_and_goes_with_its_capture():
    made = []

    def work(capture):
        made.append(capture)
        return len(made)

    store = make(max_models=1)
    store.model("a", quiet)
    assert [store.extra("a", "x", "grid", work, quiet) for _ in range(3)] == [1, 1, 1]
    store.models.release("a")
    store.model("a", quiet)
    assert store.extra("a", "x", "grid", work, quiet) == 2


def test_what_was_one_readers_alone_goes_when_the_reader_leaves():
    store = make()
    gone = {}
    for text, readers in {"mine": "a", "ours": "ab", "anybody's": [None]}.items():
        for reader in readers:
            gone[text] = weakref.ref(store.capture("m", text, quiet, reader))
            store.extra("m", text, "grid", lambda capture: 1, quiet, reader)
    store.leave("a")
    gc.collect()
    assert gone["mine"]() is None and not store.has_result("m", "mine", "grid")
    assert has_capture(store, "m", "ours") and has_capture(store, "m", "anybody's")
    store.leave("b")
    assert not has_capture(store, "m", "ours") and not store.has_result("m", "ours", "grid")
    assert store.nbytes == 10


def test_a_run_that_does_not_fit_makes_room_first_and_is_refused_last():
    """Lin-jun-xiang/docGPT-langchain#2: one reader's text took the app down for everybody."""
    room, runs = [25], []

    def admit(model, options, freed):
        held = sum(10 for _ in runs if has_capture(store, "m", _))
        if options > room[0] - held + freed:
            raise TooLarge("full")

    def capture(model, options):
        runs.append(options)
        return FakeCapture(model)

    store = Store(
        lambda name, tell: FakeModel(name), capture, max_models=1, max_bytes=100, admit=admit
    )
    for size in (5, 6, 20):
        store.capture("m", size, quiet)
    assert [size for size in (5, 6, 20) if has_capture(store, "m", size)] == [20]
    with pytest.raises(TooLarge):
        store.capture("m", 30, quiet)
    assert runs == [5, 6, 20] and has_capture(store, "m", 20)
    assert isinstance(store.capture("m", 8, quiet), FakeCapture)  # the refusal holds nobody up


def test_a_run_that_is_refused_takes_nothing_from_others():
    """Lin-jun-xiang/docGPT-langchain#2: nor does it where the bound of captures is in its way."""

    def admit(model, options, freed):
        if options == "huge" and freed < 100:
            raise TooLarge("full")

    store = Store(
        lambda name, tell: FakeModel(name),
        lambda model, options: FakeCapture(model),
        max_models=1, max_bytes=100, admit=admit, size=lambda model, options: 90,
    )  # fmt: skip
    store.capture("m", "a", quiet, "reader")
    store.capture("m", "b", quiet)
    with pytest.raises(TooLarge):
        store.capture("m", "huge", quiet)
    assert has_capture(store, "m", "b") and store.nbytes == 10 * len(store.results.entries)


def test_a_run_of_a_model_that_was_released_meanwhile_is_kept_for_nobody():
    """What was made of a model that is gone would stay, and nothing would ever ask for it."""
    running, go_on = threading.Event(), threading.Event()

    def capture(model, options):
        running.set()
        go_on.wait(10)
        return FakeCapture(model)

    store = make(capture=capture)
    run = threading.Thread(target=store.capture, args=("m", "x", quiet))
    run.start()
    running.wait(10)
    store.models.release("m")
    go_on.set()
    run.join(10)
    gc.collect()
    assert store.nbytes == 0 and not store.results.entries


def test_a_run_of_a_reader_who_left_meanwhile_is_kept_for_nobody():
    """statgarten/playdoh#7: memory that only ever grows."""
    running, go_on = threading.Event(), threading.Event()

    def capture(model, options):
        running.set()
        go_on.wait(10)
        return FakeCapture(model)

    store = make(capture=capture)
    run = threading.Thread(target=store.capture, args=("m", "x", quiet, "a"))
    run.start()
    running.wait(10)
    store.leave("a")
    go_on.set()
    run.join(10)
    gc.collect()
    assert store.nbytes == 0 and not has_capture(store, "m", "x")
    store.capture("m", "ours", quiet, "b")
    assert store.held("m", "ours", "a") is not None  # a's page, drawn to its end
    store.leave("b")
    assert store.nbytes == 0
    store.results.welcome("a")  # back after a lost connection
    store.capture("m", "x", quiet, "a")
    assert store.nbytes == 10


def test_only_the_last_readers_who_left_are_remembered():
    store = make()
    for number in range(3_000):
        store.leave(str(number))
    assert len(store.results._left) == 1_000 and "2999" in store.results._left


def test_whoever_waits_in_line_keeps_no_model_alive():
    """docGPT-langchain#2, playdoh#7: memory climbs with every model, here with every reader."""
    go_on, alive, most = threading.Event(), weakref.WeakSet(), []

    def load(name, tell):
        store.models.make_room()
        model = FakeModel(name)
        alive.add(model)
        most.append(len(alive))
        return model

    def capture(model, options):
        go_on.wait(0.01)
        return FakeCapture(None)

    store = make(load, capture, max_models=1)
    names = [f"m{number % 3}" for number in range(30)]
    with ThreadPoolExecutor(30) as pool:
        list(pool.map(lambda name: store.capture(name, name, quiet), names))
    gc.collect()
    assert max(most) == 1 and len(alive) == 1


def test_what_is_kept_has_a_bound_in_number_too():
    store = Store(
        lambda name, tell: FakeModel(name),
        lambda model, options: FakeCapture(model, 0),
        max_models=1, max_bytes=100, max_entries=5,
    )  # fmt: skip
    for number in range(20):
        store.capture("m", number, quiet)
    assert sum(has_capture(store, "m", number) for number in range(20)) == 5


def test_a_model_that_made_way_is_loaded_again_out_of_turn():
    """A download of minutes would hold up everybody."""
    loads, go_on = [], threading.Event()

    def load(name, tell):
        loads.append(name)
        if loads.count("a") == 2 and name == "a":
            go_on.wait(10)
        store.models.make_room()
        return FakeModel(name)

    store = make(load, max_models=1)
    with ThreadPoolExecutor(3) as pool:
        with store.turns.turn(quiet):
            first = pool.submit(store.capture, "a", "text", quiet)
            in_line(store.turns, 2)
            store.model("b", quiet)  # a makes way
            result = pool.submit(store.result, "a", "text", "x", lambda m, c: m.name, quiet)
            probe = pool.submit(store.probe, "b", "x", lambda model: model.name, quiet)
            in_line(store.turns, 3)
        assert probe.result(10) == "b" and not first.done()
        go_on.set()
        assert first.result(10) and result.result(10) == "a"
    assert loads[:3] == ["a", "b", "a"]


def test_a_load_waits_until_a_run_lets_go_of_the_model_that_makes_way():
    """statgarten/playdoh#7: two models at once, where there was room for one."""
    running, alive, others = threading.Event(), weakref.WeakSet(), []

    def load(name, tell):
        store.models.make_room()
        others.append(len(alive))
        model = FakeModel(name)
        alive.add(model)
        return model

    def capture(model, options):
        running.set()
        time.sleep(0.4)
        return FakeCapture(None)

    store = make(load, capture, max_models=1)
    run = threading.Thread(target=store.capture, args=("a", "text", quiet))
    run.start()
    running.wait(5)
    store.model("b", quiet)
    run.join(5)
    assert others == [0, 0]


def test_what_is_laid_aside_outlasts_its_model_within_the_bound_and_goes_with_its_reader():
    made = []

    def aside(key, size, reader=None):
        def one():
            made.append(key)
            return FakeCapture(None, size)

        return store.cached(key, one, lambda value: value, reader)

    store = make(max_models=1)
    first = aside("x", 30, "ann")
    store.capture("m", "text", quiet)
    store.models.release("m")
    assert aside("x", 30) is first and made == ["x"] and store.nbytes == 30
    store.leave("ann")
    assert store.nbytes == 0
    for number in range(10):
        aside(number, 30)
        assert store.nbytes <= 100
    assert store.cached("none", lambda: None, lambda value: value) is None
    assert store.cached("none", lambda: FakeCapture(None, 1), lambda value: value) is not None
    alone = store.cached("own", lambda: "with all the rest", lambda value: value[:4])
    assert alone == "with"


# Bounds and turns, each of which one changed word breaks


def small(captured=None, **options):
    """A store whose captures take the bytes that their options say."""
    return Store(
        lambda name, tell: FakeModel(name),
        captured or (lambda model, options: FakeCapture(model, options[1])),
        max_models=1, max_bytes=100, **options,
    )  # fmt: skip


def test_room_is_made_before_a_run_by_the_oldest_and_by_no_more_than_it_takes():
    held = []

    def capture(model, options):
        held.append(store.nbytes)
        return FakeCapture(model, options[1])

    store = small(capture, size=lambda model, options: options[1])
    for number in range(3):
        store.capture("m", (number, 30), quiet)
    store.capture("m", (9, 60), quiet)
    assert held == [0, 30, 60, 30]
    assert [has_capture(store, "m", (n, 30)) for n in range(3)] == [False, False, True]


def test_the_bound_itself_is_within_the_bound():
    store = small()
    store.capture("m", (1, 50), quiet)
    store.capture("m", (2, 50), quiet)
    assert store.nbytes == 100


def test_the_oldest_makes_way_for_a_run_that_does_not_fit(monkeypatch):
    given = []
    monkeypatch.setattr("dashboard.server.heap.give_back", lambda: given.append(store.nbytes))

    def admit(model, options, freed):
        if options[0] == "large" and store.nbytes - freed > 30:
            raise TooLarge("It does not fit.", "", "")

    store = small(admit=admit)
    for number in range(3):
        store.capture("m", (number, 30), quiet)
    given.clear()
    store.capture("m", ("large", 10), quiet)
    assert [has_capture(store, "m", (n, 30)) for n in range(3)] == [False, False, True]
    assert given[:2] == [60, 30], "memory goes back before it is asked for again"


def test_an_experiment_is_admitted_too_and_keeps_its_capture():
    asked = []
    store = small(admit=lambda model, options, freed: asked.append(options))
    text = ("text", 10)
    store.result("m", text, "x", lambda model, capture: asked.append("made"), quiet)
    assert asked.index("made") == 4 and has_capture(store, "m", text)
    store.result("m", text, "y", lambda model, capture: asked.append("made"), quiet)
    assert len(asked) == 8, "two looks at the memory before each run"


def test_memory_goes_back_when_a_model_or_a_reader_goes(monkeypatch):
    given = []
    monkeypatch.setattr("dashboard.server.heap.give_back", lambda: given.append(1))
    store = small()
    store.capture("m", (1, 10), quiet, "ann")
    given.clear()
    store.leave("bob")
    assert not given
    store.leave("ann")
    assert given == [1]
    store.models.release("m")
    assert given == [1, 1]


def test_a_reader_who_leaves_again_is_remembered_from_then_on():
    store = make()
    for number in range(1_000):
        store.leave(str(number))
    store.leave("0")
    store.leave("new")
    assert "0" in store.results._left and "1" not in store.results._left


def test_only_a_model_that_has_to_go_is_making_way():
    store = make(max_models=2)
    assert store.models.making_way() == []
    first = store.model("a", quiet)
    assert store.models.making_way() == []
    store.model("b", quiet)
    assert store.models.making_way() == [first]


def test_readers_in_line_for_one_text_cause_one_run():
    runs = []

    def capture(model, options):
        runs.append(options)
        return FakeCapture(model)

    store = make(capture=capture)
    store.model("m", quiet)
    with ThreadPoolExecutor(5) as pool:
        with store.turns.turn(quiet):
            asked = [pool.submit(store.capture, "m", "text", quiet) for _ in range(5)]
            in_line(store.turns, 6)
        found = {id(one.result(10)) for one in asked}
    assert runs == ["text"] and len(found) == 1


def test_what_somebody_still_draws_is_found_without_another_run():
    store = make(max_models=1)
    drawn = store.capture("m", "text", quiet)
    store.models.release("m")
    assert store.held("m", "text") is drawn
    del drawn
    gc.collect()
    assert store.held("m", "text") is None


def test_whoever_comes_back_with_a_model_is_next_and_keeps_it():
    """Two models that push each other out would never run."""
    loads, order = [], []
    load_again, end_first = threading.Event(), threading.Event()

    def load(name, tell):
        loads.append(name)
        if loads.count("a") == 2:
            load_again.wait(10)
        return FakeModel(name)

    def probe(name, wait=None):
        def run(model):
            order.append(name)
            if wait is not None:
                wait.wait(10)

        return pool.submit(store.probe, "b", name, run, quiet)

    store = make(load, lambda model, options: order.append("a") or FakeCapture(None))
    store.model("b", quiet)
    with ThreadPoolExecutor(3) as pool:
        with store.turns.turn(quiet):
            runs = [pool.submit(store.capture, "a", "text", quiet)]
            in_line(store.turns, 2)
            runs.append(probe("first", end_first))
            in_line(store.turns, 3)
            runs.append(probe("second"))
            in_line(store.turns, 4)
            store.models.release("a")
        deadline = time.monotonic() + 10
        while loads.count("a") < 2 and time.monotonic() < deadline:
            time.sleep(0.002)
        load_again.set()
        in_line(store.turns, 3)
        store.models.release("a")  # once more: now it is held by the one who waits
        end_first.set()
        for run in runs:
            run.result(10)
    assert order == ["first", "a", "second"] and loads.count("a") == 2
