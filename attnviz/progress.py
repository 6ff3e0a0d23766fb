"""Progress: how long work tells how far it has come."""

from collections.abc import Callable

Step = Callable[[int, int], None]
"""Called with what is done and the total: texts, rows, heads or runs."""
Progress = Callable[[str, float | None], None]
"""Called with plain words and a fraction from 0 to 1, None where the length is not known."""


def ignore_progress(message: str, fraction: float | None) -> None:
    """The progress of whoever does not ask for any."""


def ignore_step(done: int, total: int) -> None:
    """The steps of whoever does not ask for any."""


def scale_progress(report: Progress, start: float, end: float) -> Progress:
    """Progress of one step, which is this part of the whole."""

    def step(message: str, fraction: float | None) -> None:
        report(message, None if fraction is None else start + (end - start) * fraction)

    return step
