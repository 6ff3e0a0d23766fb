"""The machine that the bench ran on, in general words, and how much of it others used."""

import os
import platform
import resource
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("torch", "transformers", "numpy", "altair", "streamlit")

_STAT = Path("/proc/stat")
_MEMORY = Path("/proc/meminfo")


def described(threads: int) -> list[str]:
    """Two sentences: the machine, and what ran on it."""
    memory = total_memory()
    room = "" if memory is None else f", {memory / 2**30:.0f} GB of memory"
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return [
        f"A machine with {cores()} {platform.machine()} cores{room}, {platform.system()}; torch "
        f"ran on {threads} {'thread' if threads == 1 else 'threads'}, in float32, without a GPU.",
        f"Python {platform.python_version()}, {packages}.",
    ]


def cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def total_memory() -> int | None:
    """Bytes, or None where the system does not say."""
    return _of_memory("MemTotal")


def free_memory() -> int | None:
    """Bytes that could be had without swapping, or None where the system does not say."""
    return _of_memory("MemAvailable")


def _of_memory(name: str) -> int | None:
    if not _MEMORY.exists():
        return None
    for line in _MEMORY.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return None


@dataclass(frozen=True)
class Busy:
    """Processor seconds so far: of the whole machine, and of this process and its children."""

    machine: float
    ours: float


def busy() -> Busy | None:
    """None where the system does not say."""
    if not _STAT.exists():
        return None
    user, nice, system, _, _, interrupts, soft, stolen = map(
        int, _STAT.read_text().splitlines()[0].split()[1:9]
    )
    ticks = user + nice + system + interrupts + soft + stolen
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Busy(ticks / os.sysconf("SC_CLK_TCK"), sum(one.ru_utime + one.ru_stime for one in used))


def others(start: Busy | None) -> str:
    """How much of the machine's work since then was not the bench's, in a sentence."""
    now = busy()
    if start is None or now is None:
        return "What else ran on the machine is not known."
    machine, ours = now.machine - start.machine, now.ours - start.ours
    share = min(1.0, max(0.0, 1 - ours / machine)) if machine > 0 else 0.0
    if share < 0.1:
        return f"Hardly anything else ran on the machine ({share:.0%} of its processor time)."
    return (
        f"Other work ran on the machine, and took {share:.0%} of the processor time spent: times "
        "are longer and wider spread than on a quiet one. Ratios are of rounds in which the two "
        "ways took turns, so that it fell on both."
    )
