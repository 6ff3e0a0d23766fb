"""The line of readers: first come, first served, and whoever leaves is out of it."""

import threading
import time

import pytest

from dashboard.server.turns import Turns


def quiet(words, fraction):
    pass


def in_line(turns: Turns, count: int) -> None:
    deadline = time.monotonic() + 10
    while len(turns) < count and time.monotonic() < deadline:
        time.sleep(0.002)
    assert len(turns) == count


def test_turns_come_in_the_order_they_were_asked_for():
    turns, order, threads = Turns(), [], []

    def work(number):
        with turns.turn(quiet):
            order.append(number)
            time.sleep(0.005)

    with turns.turn(quiet):
        for number in range(20):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            in_line(turns, number + 2)
    for thread in threads:
        thread.join(10)
    assert order == list(range(20)) and len(turns) == 0


def test_a_reader_in_line_is_told_how_many_are_ahead():
    turns, told = Turns(), []
    two, one = threading.Event(), threading.Event()

    def tell(words, fraction):
        told.append(words)
        (two if "2 runs" in words else one).set()

    def third():
        with turns.turn(tell):
            pass

    def second():
        with turns.turn(quiet):
            one.wait(10)

    threads = [threading.Thread(target=second), threading.Thread(target=third)]
    with turns.turn(quiet):
        for count, thread in enumerate(threads, 2):
            thread.start()
            in_line(turns, count)
        two.wait(10)
    for thread in threads:
        thread.join(10)
    ahead = list(dict.fromkeys(told))
    assert ahead == [
        "Waiting for 2 runs of other readers to end",
        "Waiting for 1 run of other readers to end",
    ]


def test_whoever_leaves_the_line_holds_nobody_up():
    turns, done = Turns(), threading.Event()

    def leave(words, fraction):
        raise KeyboardInterrupt

    def wait():
        with turns.turn(quiet):
            done.set()

    with turns.turn(quiet):
        with pytest.raises(KeyboardInterrupt):
            other = threading.Thread(target=wait)
            _ask_from_another_thread(turns, leave)
        other.start()
        in_line(turns, 2)
    other.join(10)
    assert done.is_set() and len(turns) == 0


def _ask_from_another_thread(turns, tell):
    failed = []

    def ask():
        try:
            with turns.turn(tell):
                failed.append(None)
        except KeyboardInterrupt as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join(10)
    if failed[0] is not None:
        raise failed[0]


def test_work_that_fails_ends_its_turn_and_work_inside_work_is_of_the_same_turn():
    turns = Turns()
    with pytest.raises(ValueError), turns.turn(quiet), turns.turn(quiet):
        raise ValueError
    assert len(turns) == 0
    with turns.turn(quiet):
        assert len(turns) == 1


def test_whoever_is_back_waits_for_the_one_at_work_and_others_who_are_back():
    turns, order, threads = Turns(), [], []

    def work(name, back):
        with turns.turn(quiet, back=back):
            order.append(name)

    with turns.turn(quiet):
        for name, back in (("a", False), ("b", True), ("c", False), ("d", True)):
            threads.append(threading.Thread(target=work, args=(name, back)))
            threads[-1].start()
            in_line(turns, len(threads) + 1)
    for thread in threads:
        thread.join(10)
    assert order == ["b", "d", "a", "c"] and not turns._back


def test_whoever_leaves_the_line_takes_no_turn_from_the_one_at_work():
    turns, left = Turns(), []

    def leave(words, fraction):
        raise RuntimeError

    def other():
        with pytest.raises(RuntimeError), turns.turn(leave):
            pass
        left.append(1)

    def nested():
        with turns.turn(quiet):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join(10)
            with turns.turn(quiet):  # of the same turn: it would wait for itself
                left.append(2)

    worker = threading.Thread(target=nested, daemon=True)
    worker.start()
    worker.join(10)
    assert left == [1, 2]


def test_whoever_waits_has_one_run_ahead_at_least():
    turns = Turns()
    with turns.turn(quiet):  # the turn came between a look at it and the words
        assert turns._ahead(turns._line[0]) == 1
