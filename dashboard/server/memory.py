"""How much memory this process has, of how much it may take, read from the system's own books.

A container's limit is in its control group (version 1 or 2); the machine's own is in
/proc/meminfo. Where neither can be read, nothing is known and nothing is refused.
"""

from dataclasses import dataclass
from pathlib import Path

from attnviz.errors import TooLarge

_NO_LIMIT = 2**60  # version 1 writes a number near the largest there is
_SPARE = 0.05  # of the limit, left alone


@dataclass(frozen=True)
class Memory:
    """Bytes: `used` by this process and its container's others, of `limit`; `free` for more.
    `files`: those of `used` that are files mapped into memory, such as a model's weights, which
    the system takes out where room is short."""

    used: int
    limit: int
    free: int
    files: int = 0


def read_memory(said: int | None = None, root: Path = Path("/")) -> Memory | None:
    """What there is now; None where the system does not say.

    What counts as used is the anonymous memory of the container, and the files that this process
    has mapped.

    Args:
        said: a limit known from elsewhere, bytes.
        root: of the file system.
    """
    own = _table(root / "proc/self/status")
    machine = _table(root / "proc/meminfo")
    if "RssAnon" not in own or "MemTotal" not in machine:
        return None
    group_limit, group_used = _control_group(root)
    limits = [machine["MemTotal"], *(limit for limit in (said, group_limit) if limit)]
    files = own.get("RssFile", 0)
    used = max(own["RssAnon"], group_used) + files + own.get("RssShmem", 0)
    limit = min(limits)
    free = limit - used - int(limit * _SPARE)
    if "MemAvailable" in machine:
        free = min(free, machine["MemAvailable"])
    return Memory(used, limit, free, files)


def check_fits(what: str, needed: int, now: Memory, freed: int = 0) -> None:
    """Raise TooLarge, with its numbers, where so many bytes do not fit: not even without the files
    that the system can take out, and if `freed` bytes of what is held made way."""
    free = now.free + now.files
    if needed > free + freed:
        raise TooLarge(
            what=f"There is not enough memory on this server {what}.",
            why=f"It takes about {needed / 1e6:,.0f} MB; of {now.limit / 1e6:,.0f} MB, "
            f"{max(free, 0) / 1e6:,.0f} MB are free.",
            todo="Give a shorter text or choose a smaller model, or try again in a minute.",
        )


def _control_group(root: Path) -> tuple[int | None, int]:
    """The lowest limit of the groups that this process is in, and what that group uses."""
    lowest, used = None, 0
    for folder, limit_name, use_name in _groups(root):
        limit = _number(folder / limit_name)
        if limit is not None and limit < min(lowest or _NO_LIMIT, _NO_LIMIT):
            lowest, used = limit, _table(folder / "memory.stat").get(use_name, 0)
    return lowest, used


def _groups(root: Path) -> list[tuple[Path, str, str]]:
    """The folders of this process's groups and of those they lie in, with the names of their
    limit and of the anonymous memory in their statistics."""
    found = []
    top = root / "sys/fs/cgroup"
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        number, names, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" and not names:
            found += [(f, "memory.max", "anon") for f in _upwards(top, path)]
        elif "memory" in names.split(","):
            files = ("memory.limit_in_bytes", "total_rss")
            found += [(f, *files) for f in _upwards(top / "memory", path)]
    return found


def _upwards(top: Path, path: str) -> list[Path]:
    """A group's folder and all above it. Inside a container the path may be the machine's, which
    is not there; the top is."""
    parts = [part for part in path.split("/") if part and part != ".."]
    return [top.joinpath(*parts[:count]) for count in range(len(parts), -1, -1)]


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # not there, or "max"
        return None


def _table(path: Path) -> dict[str, int]:
    """Names and bytes of a file of /proc or of a group's statistics."""
    found = {}
    try:
        for line in path.read_text().splitlines():
            name, _, rest = line.replace(":", " ", 1).partition(" ")
            value, _, unit = rest.strip().partition(" ")
            if value.isdigit():
                found[name] = int(value) * (1024 if unit.strip() == "kB" else 1)
    except OSError:
        pass
    return found
