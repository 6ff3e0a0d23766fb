"""Memory as the system's books give it, made up here as files."""

import mmap
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dashboard.server import heap, mapped_weights, memory
from dashboard.server.value_size import nbytes
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
    now = memory.read(root=books(tmp_path, BASE))
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
    now = memory.read(root=books(tmp_path, BASE | version))
    assert now.limit == 1_500 * MB
    assert now.used == 700 * MB + 200_000 * KB
    assert now.free == 1_500 * MB - now.used - 75 * MB


def test_a_group_without_a_limit_is_none(tmp_path):
    unlimited = VERSION_1 | {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}
    assert memory.read(root=books(tmp_path, BASE | unlimited)).limit == 16_000_000 * KB


def test_a_limit_known_from_elsewhere_counts_where_it_is_lower(tmp_path):
    root = books(tmp_path, BASE | VERSION_2)
    assert memory.read(1_000 * MB, root).limit == 1_000 * MB
    assert memory.read(2_700 * MB, root).limit == 1_500 * MB
    assert memory.read(100 * MB, root).free == 0


def test_a_system_without_such_books_says_nothing(tmp_path):
    assert memory.read(root=tmp_path) is None


@reads_proc
def test_this_process_is_read_and_its_arrays_are_seen(tmp_path):
    assert memory.read() is not None
    # Without its container: others of it take and free memory meanwhile.
    (tmp_path / "proc/self").mkdir(parents=True)
    for name in ("proc/self/status", "proc/meminfo"):
        (tmp_path / name).symlink_to(f"/{name}")
    before = memory.read(root=tmp_path)
    held = np.ones(200 * MB // 8)
    assert 190 * MB < memory.read(root=tmp_path).used - before.used < 260 * MB
    assert held.nbytes == nbytes(held)


def test_a_refusal_gives_its_numbers():
    error = memory.too_little(
        "for this run", 1_200 * MB, memory.Memory(600 * MB, 900 * MB, 255 * MB)
    )
    assert (
        "1,200 MB" in error.why and "900 MB" in error.why and "255 MB" in error.why and error.todo
    )


# Weights files that are mapped


MIB = 2**20


def model_of(*tensors) -> SimpleNamespace:
    """A model as far as its weights go."""
    return SimpleNamespace(hf=torch.nn.ParameterList(tensors))


@pytest.fixture
def blob(tmp_path):
    """A file of 8 MiB under such a name as the Hub's cache gives it."""
    path = tmp_path / "blobs" / "5f0c1e"
    path.parent.mkdir()
    path.write_bytes(np.arange(8 * MIB // 4, dtype=np.float32).tobytes())
    return path


def weights_of(path: Path) -> torch.Tensor:
    return torch.from_file(str(path), shared=False, size=8 * MIB // 4)


def test_mapped_weights_are_let_go_of_and_come_in_again(blob):
    model = model_of(weights_of(blob))
    assert mapped_weights.absent([model]) > 7 * MIB
    (held,) = model.hf.parameters()
    total = held.double().sum().item()  # touches every page
    assert mapped_weights.absent([model]) < MIB and mapped_weights.present([model]) > 7 * MIB
    mapped_weights.give_back([model])
    assert mapped_weights.absent([model]) > 7 * MIB and mapped_weights.present([model]) < MIB
    assert held.double().sum().item() == total


def test_a_mapping_that_was_written_to_is_kept(blob):
    held = weights_of(blob)
    held[:2] = torch.tensor([7.0, 8.0])
    mapped_weights.give_back([model_of(held)])
    assert held[:2].tolist() == [7.0, 8.0]


def test_weights_that_were_read_are_all_there_and_are_left_alone(blob):
    read = weights_of(blob).clone()
    model = model_of(read, read.view(-1, 2))  # the same memory, once
    assert mapped_weights.absent([model]) == 0 and mapped_weights.present([model]) == read.nbytes
    mapped_weights.give_back([model])
    assert read[-1] == 8 * MIB // 4 - 1


def test_only_whole_pages_of_a_weights_own_memory_are_given_back(blob, monkeypatch):
    """Whole mappings went, read line by line: one that was unmapped and taken anew between two
    lines was another thread's memory by then, and was emptied under it."""
    given = []
    whole = weights_of(blob)
    whole.sum()
    monkeypatch.setattr(
        heap,
        "library_function",
        lambda name: lambda at, size, advice: given.append((at.value, size.value)),
    )
    page = mmap.PAGESIZE
    weight, small = whole[10:5000], whole[6000:6010]
    mapped_weights.give_back([model_of(weight, small)])
    ((start, size),) = given
    assert start % page == size % page == 0
    assert weight.data_ptr() <= start < weight.data_ptr() + page
    end = weight.data_ptr() + weight.nbytes
    assert end - page < start + size <= end


def test_the_books_are_read_to_their_end_before_anything_goes(blob, monkeypatch):
    steps = []
    mappings = mapped_weights._mappings

    def reading():
        yield from mappings()
        steps.append("read")

    model = model_of(weights_of(blob))
    model.hf[0].sum()
    monkeypatch.setattr(mapped_weights, "_mappings", reading)
    monkeypatch.setattr(heap, "library_function", lambda name: lambda *_: steps.append("given"))
    mapped_weights.give_back([model])
    assert steps == ["read", "given"]


def test_during_a_run_a_part_of_the_weights_is_in_memory_at_a_time(blob):
    model = model_of(weights_of(blob))
    (held,) = model.hf.parameters()
    pieces = held.view(8, -1)
    most, total = 0, 0.0
    with mapped_weights.sparing([model]):
        for piece in pieces:
            total += piece.double().sum().item()
            most = max(most, mapped_weights.present([model]))
            time.sleep(0.1)
        names = [thread.name for thread in threading.enumerate()]
        assert "sparing" in names
    assert most < 3 * MIB and total == held.double().sum().item()
    assert "sparing" not in [thread.name for thread in threading.enumerate()]
    assert mapped_weights.present([model]) > 7 * MIB, "after the run nothing is taken any more"


def test_a_run_that_fails_ends_the_letting_go_too(blob):
    with pytest.raises(ValueError), mapped_weights.sparing([model_of(weights_of(blob))]):
        raise ValueError
    assert "sparing" not in [thread.name for thread in threading.enumerate()]
    with mapped_weights.sparing([model_of(torch.zeros(10))]):  # read, not mapped
        assert "sparing" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize("line", ["Anonymous:        4 kB", "Swap:             4 kB"])
def test_a_changed_page_keeps_its_mapping_wherever_the_page_is(blob, tmp_path, monkeypatch, line):
    model, given = model_of(weights_of(blob)), []
    start = model.hf[0].data_ptr()
    book = tmp_path / "smaps"
    monkeypatch.setattr(mapped_weights, "_SMAPS", book)
    monkeypatch.setattr(heap, "library_function", lambda name: lambda *_: given.append(1))
    for said, expected in ((line[:-4] + "0 kB", [1]), (line, [])):
        given.clear()
        range_ = f"{start:x}-{start + 8 * MIB:x} rw-p 00000000 08:01 12   {blob}"
        book.write_text(f"{range_}\nRss:  8192 kB\n{said}\nVmFlags: rd wr mr\n")
        mapped_weights.give_back([model])
        assert given == expected


# What a value takes


def test_arrays_are_counted_once_wherever_they_are():
    base = np.zeros(1000)
    assert nbytes({"a": [base, base], "b": (base[:10], base[5:])}) == base.nbytes
    assert nbytes(["text", 1, 2.0, None, True]) == 0
