"""Fifty readers of one hosted server with the models of the catalog, each with texts of its own:
what they wait, what the server takes, and whether each sees what is his.

    python -m tests.bench.readers 50
"""

import os
import random
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import attnviz
from attnviz.models.catalog import CATALOG
from tests.browser import serving
from tests.readers import AGENTS, Place, Reader, memory_of, right

PAGES = ("", "heads", "what-if", "how-it-works")
WORDS = CATALOG["smollm2-135m"].default_text.split()


def main(count: int) -> None:
    loaded = {name: attnviz.load(name) for name in CATALOG}
    server, address = serving.start("dashboard/app.py", **AGENTS, ATTNVIZ_HOSTED="1")
    try:
        Reader(count, address).ask()  # imports torch, for all
        done, anonymous = threading.Event(), [0]
        threading.Thread(target=_watch, args=(server.pid, done, anonymous), daemon=True).start()
        started = time.perf_counter()
        with ThreadPoolExecutor(count) as pool:
            reads = pool.map(lambda number: _read(Reader(number, address), loaded), range(count))
            waits = [wait for waited in reads for wait in waited]
        done.set()
        taken = memory_of(server.pid)
        print(f"{count} readers, {len(waits)} pictures, all right: "
              f"{time.perf_counter() - started:.0f} s")  # fmt: skip
        print(f"a picture, in the longest wait to the median: "
              f"{max(waits) / statistics.median(waits):.1f} x")  # fmt: skip
        print(
            f"server: {taken['VmRSS'] / 1e6:,.0f} MB now, {taken['VmHWM'] / 1e6:,.0f} MB at most, "
            f"{max(anonymous) / 1e6:,.0f} MB of it its own"
        )
    finally:
        serving.stop(server)


def _watch(pid: int, done: threading.Event, anonymous: list[int]) -> None:
    """Note what of a process's memory is its own, and no file that the system can take back."""
    while not done.wait(0.2):
        anonymous.append(memory_of(pid)["RssAnon"])


def _read(reader: Reader, loaded: dict[str, attnviz.LoadedModel]) -> list[float]:
    """Four texts on one model, on four pages; seconds until each picture."""
    chance, waits = random.Random(reader.number), []
    name = list(CATALOG)[reader.number % len(CATALOG)]
    info = loaded[name].info
    for page in PAGES:
        text = " ".join(["the", *chance.choices(WORDS, k=chance.randint(4, 60))])
        here = Place(name, text, chance.randrange(info.layers), chance.randrange(info.heads), 3)
        started = time.perf_counter()
        if page:
            reader.ask(page=page, query_params=here.link)
        else:
            reader.open(here)
            assert reader.sentence() == right(here, loaded[name]).sentence, here
        waits.append(time.perf_counter() - started)
    return waits


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
