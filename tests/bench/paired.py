"""Timing two ways of doing a thing against each other, in one run."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Spent:
    """What one doing took: seconds by the clock, and of the processor, all threads together."""

    seconds: float
    work: float

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.seconds + other.seconds, self.work + other.work)

    def __mul__(self, times: float) -> "Spent":
        return Spent(self.seconds * times, self.work * times)


@dataclass(frozen=True)
class Paired:
    """What each way took, round by round, and the ratio of the rounds."""

    first: list[Spent]
    second: list[Spent]

    @property
    def ratio(self) -> float:
        """The median over the rounds of second / first by the clock: what else the machine did in
        a round, it did to both."""
        return statistics.median(self._ratios("seconds"))

    @property
    def work(self) -> float:
        """The same of the processor's seconds, which other work on the machine hardly lengthens;
        where a way leaves cores idle, the clock says more."""
        return statistics.median(self._ratios("work"))

    @property
    def spread(self) -> tuple[float, float]:
        """The quartiles of the ratios by the clock."""
        low, _, high = statistics.quantiles(self._ratios("seconds"), n=4)
        return low, high

    def _ratios(self, of: str) -> list[float]:
        return [
            getattr(b, of) / getattr(a, of) for a, b in zip(self.first, self.second, strict=True)
        ]


def paired(
    first: Callable[[], object], second: Callable[[], object], *, rounds: int, warm: int = 1
) -> Paired:
    """Time both in every round, each in turn going first."""
    for _ in range(warm):
        first()
        second()
    times: dict[Callable[[], object], list[Spent]] = {first: [], second: []}
    for turn in range(rounds):
        for way in (first, second) if turn % 2 else (second, first):
            times[way].append(spent(way))
    return Paired(times[first], times[second])


def spent(way: Callable[[], object]) -> Spent:
    """Do it once in this process."""
    start, work = time.perf_counter(), time.process_time()
    way()
    return Spent(time.perf_counter() - start, time.process_time() - work)
