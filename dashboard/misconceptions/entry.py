"""One misconception: what is claimed, what is true, and how it is measured."""

from collections.abc import Callable
from dataclasses import dataclass

from dashboard.misconceptions.subject import Subject


@dataclass(frozen=True)
class Planted:
    """Where on the planted circuit the point shows most sharply, and what to look for there."""

    layer: int
    head: int
    look: str
    text: str = "red fox ran home red fox ran home"


@dataclass(frozen=True)
class Entry:
    """All of it fixed words but the measurement, which draws on the page.

    key names the entry in a link. title heads the measurement.
    """

    key: str
    claim: str
    believed: str
    true: str
    title: str
    measure: Callable[[Subject], None]
    carries: str
    sources: str
    planted: Planted | None = None
