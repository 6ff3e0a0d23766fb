"""Experiments that the store keeps: made once, in turn, within a bound, and gone with the model."""

import threading

import pytest

from dashboard.server.store import Store


def tell(words, fraction):
    pass


class _Capture:
    nbytes = 1


@pytest.fixture
def store():
    store = Store(
        lambda name, tell: name, lambda model, ask: _Capture(), max_models=1, max_bytes=9,
        max_entries=3,
    )  # fmt: skip
    store.model("a", tell)
    return store


def test_a_result_is_made_once_for_each_name(store):
    made = []
    for name in ("x", "x", "y"):
        store.result("a", "text", name, lambda model, capture: made.append(1) or len(made), tell)
    assert len(made) == 2
    assert store.result("a", "text", "x", pytest.fail, tell) == 1
    assert not store.has_result("a", "another text", "x")


def test_nothing_as_a_result_is_kept_too(store):
    assert store.result("a", "text", "x", lambda model, capture: None, tell) is None
    assert store.result("a", "text", "x", pytest.fail, tell) is None


def test_the_latest_results_are_kept_and_all_go_with_their_model(store):
    for name in ("x", "y"):
        store.result("a", "text", name, lambda model, capture: 1, tell)
    store.held("a", "text")  # looked at, as every new result does
    store.has_result("a", "text", "x")  # looked at: now the latest
    store.result("a", "text", "z", lambda model, capture: 1, tell)
    kept = [name for name in ("x", "y", "z") if store.has_result("a", "text", name)]
    assert kept == ["x", "z"]
    store.model("b", tell)  # takes the place of a
    assert not store.has_result("a", "text", "x")


def test_what_was_stopped_is_not_kept_and_holds_nobody_up(store):
    with pytest.raises(KeyboardInterrupt):
        store.result("a", "text", "x", _stop, tell)
    assert not store.has_result("a", "text", "x")
    assert store.result("a", "text", "x", lambda model, capture: 2, tell) == 2


def test_two_experiments_take_turns(store):
    running, together = [], []

    def work(model, capture):
        running.append(1)
        together.append(len(running))
        threading.Event().wait(0.05)
        running.pop()

    threads = [
        threading.Thread(target=store.result, args=("a", "text", n, work, tell)) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [1, 1, 1, 1]


def _stop(model, capture):
    raise KeyboardInterrupt
