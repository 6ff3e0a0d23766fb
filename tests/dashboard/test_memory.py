"""Memory as the system's books give it, made up here as files."""

from pathlib import Path

import numpy as np
import pytest

from attnviz.errors import TooLarge
from dashboard.server import memory
from dashboard.server.value_size import count_bytes
from tests.readers import reads_proc

MB = 1_000_000


def books(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


STATUS = "Name:\tpython\nVmRSS:\t 600000 kB\nRssAnon:\t 400000 kB\nRssFile:\t 200000 kB\n"
MACHINE = "MemTotal:\t 16000000 kB\nMemFree:\t 100 kB\nMemAvailable:\t 9000000 kB\n"
BASE = {"proc/self/status": STATUS, "proc/meminfo": MACHINE}
KB = 1024


def test_without_a_container_the_machine_is_the_limit(tmp_path):
    now = memory.read_memory(root=books(tmp_path, BASE))
    assert (now.used, now.limit) == (600_000 * KB, 16_000_000 * KB)
    assert now.free == 9_000_000 * KB  # no more than the machine has left


VERSION_2 = {
    "proc/self/cgroup": "0::/app/web\n",
    "sys/fs/cgroup/app/web/memory.max": "max\n",
    "sys/fs/cgroup/app/memory.max": "1500000000\n",
    "sys/fs/cgroup/app/memory.stat": "anon 700000000\nfile 400000000\n",
}
VERSION_1 = {
    "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "1500000000\n",
    "sys/fs/cgroup/memory/memory.stat": "cache 1\nrss 2\ntotal_rss 700000000\n",
}


@pytest.mark.parametrize("version", [VERSION_1, VERSION_2])
def test_the_lowest_limit_of_a_container_counts_and_what_its_others_use(tmp_path, version):
    now = memory.read_memory(root=books(tmp_path, BASE | version))
    assert now.limit == 1_500 * MB
    assert now.used == 700 * MB + 200_000 * KB and now.files == 200_000 * KB
    assert now.free == 1_500 * MB - now.used - 75 * MB


def test_a_group_without_a_limit_is_none(tmp_path):
    unlimited = VERSION_1 | {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}
    assert memory.read_memory(root=books(tmp_path, BASE | unlimited)).limit == 16_000_000 * KB


def test_a_limit_known_from_elsewhere_counts_where_it_is_lower(tmp_path):
    root = books(tmp_path, BASE | VERSION_2)
    assert memory.read_memory(1_000 * MB, root).limit == 1_000 * MB
    assert memory.read_memory(2_700 * MB, root).limit == 1_500 * MB
    assert memory.read_memory(100 * MB, root).free < 0


def test_a_system_without_such_books_says_nothing(tmp_path):
    assert memory.read_memory(root=tmp_path) is None


@reads_proc
def test_this_process_is_read_and_its_arrays_are_seen(tmp_path):
    assert memory.read_memory() is not None
    # Without its container: others of it take and free memory meanwhile.
    (tmp_path / "proc/self").mkdir(parents=True)
    for name in ("proc/self/status", "proc/meminfo"):
        (tmp_path / name).symlink_to(f"/{name}")
    before = memory.read_memory(root=tmp_path)
    held = np.ones(200 * MB // 8)
    assert 190 * MB < memory.read_memory(root=tmp_path).used - before.used < 260 * MB
    assert held.nbytes == count_bytes(held)


def test_a_refusal_gives_its_numbers_and_what_just_fits_is_none():
    now = memory.Memory(used=845 * MB, limit=900 * MB, free=10 * MB, files=245 * MB)
    memory.check_fits("for this run", 255 * MB, now)
    memory.check_fits("for this run", 256 * MB, now, freed=MB)
    with pytest.raises(TooLarge) as refused:
        memory.check_fits("for this run", 256 * MB, now)
    error = refused.value
    assert "256 MB" in error.why and "900 MB" in error.why and "255 MB" in error.why and error.todo


# What a value takes


def test_arrays_are_counted_once_wherever_they_are():
    base = np.zeros(1000)
    assert count_bytes({"a": [base, base], "b": (base[:10], base[5:])}) == base.nbytes
    assert count_bytes(["text", 1, 2.0, None, True]) == 0
