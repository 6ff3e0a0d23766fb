"""What a reader in line is told goes to the page when it is new, not ten times a second."""

from types import SimpleNamespace

import pytest

from dashboard.session import page_capture, waiting


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(waiting.time, "monotonic", lambda: now.seconds)
    return now


def test_the_same_words_are_written_once_a_second_and_new_ones_at_once(clock, monkeypatch):
    written = []
    slot = SimpleNamespace(text=written.append, empty=lambda: None)
    monkeypatch.setattr(waiting, "st", SimpleNamespace(empty=lambda: slot))
    with waiting.line() as tell:
        for step in range(30):  # three seconds, the first half of one without a word
            clock.seconds = 100 + step / 10
            tell("two ahead" if step < 20 else "one ahead", None)
    assert written == ["two ahead"] * 2 + ["one ahead"]


def test_a_bar_that_stands_still_is_not_drawn_again(clock, monkeypatch):
    drawn = []
    monkeypatch.setattr(page_capture, "st", SimpleNamespace(empty=lambda: None))
    progress = page_capture._Progress("m", "stop")
    progress._bar = lambda fraction, text: drawn.append((fraction, text))
    for fraction in (0.1, 0.1, 0.2, 0.2):
        progress.tell("Reading", fraction)
    clock.seconds += 1
    progress.tell("Reading", 0.2)
    assert drawn == [(0.1, "Reading"), (0.2, "Reading"), (0.2, "Reading")]
