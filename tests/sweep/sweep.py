"""All architectures through `check.try_row`, on two worker processes that survive a crash."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from queue import Empty, Queue

from tests.sweep.check import CRASH, Verdict, try_row
from tests.sweep.configs import Row, rows

WORKERS = 2
SECONDS = 120  # for one architecture; most take less than one


def sweep(
    only: Sequence[str] = (), progress: Callable[[int, int, Verdict], None] | None = None
) -> list[Verdict]:
    """The verdicts on every row, or on those whose model type or class is named, in table order."""
    wanted = [row for row in rows() if not only or row.model_type in only or row.name in only]
    waiting: Queue[Row] = Queue()
    for row in wanted:
        waiting.put(row)
    found: dict[Row, Verdict] = {}
    lock = threading.Lock()

    def report(row: Row, verdict: Verdict) -> None:
        with lock:
            found[row] = verdict
            if progress:
                progress(len(found), len(wanted), verdict)

    threads = [
        threading.Thread(target=_feed, args=(waiting, report))
        for _ in range(min(WORKERS, len(wanted)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[row] for row in wanted]


def _feed(waiting: "Queue[Row]", report: Callable[[Row, Verdict], None]) -> None:
    """Give one worker row after row; a worker that dies or hangs is replaced."""
    worker = None
    while True:
        try:
            row = waiting.get_nowait()
        except Empty:
            break
        worker = worker or _start()
        answer = _ask(worker, row)
        if answer is None:
            worker.kill()
            worker = None
            answer = Verdict(row.model_type, row.name, CRASH, "the process died or hung")
        report(row, answer)
    if worker is not None:
        assert worker.stdin is not None
        worker.stdin.close()
        worker.wait()


def _start() -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.sweep.sweep"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )


def _ask(worker: "subprocess.Popen[str]", row: Row) -> Verdict | None:
    assert worker.stdin is not None and worker.stdout is not None
    timer = threading.Timer(SECONDS, worker.kill)
    timer.start()
    try:
        worker.stdin.write(json.dumps(row) + "\n")
        worker.stdin.flush()
        line = worker.stdout.readline()
    except OSError:
        return None
    finally:
        timer.cancel()
    return Verdict(**json.loads(line)) if line else None


def _work() -> None:
    """Answer rows from standard input with verdicts on standard output."""
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a model file prints must not mix with the answers
    for line in sys.stdin:
        verdict = try_row(Row(*json.loads(line)))
        answers.write(json.dumps(asdict(verdict)) + "\n")
        answers.flush()


if __name__ == "__main__":
    _work()
