"""A process that has torch and transformers ready, and gives each run of pytest a fork of itself:
importing them anew for every mistake would take most of the time.

It is run as a script, knows nothing of attnviz, and answers a line [folder, tests] with the exit
status of pytest; what pytest says is in the folder.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

SAID = "said.txt"
HANGS = 900  # seconds
OPTIONS = ["-x", "-q", "--no-header", "--tb=line", "--disable-warnings", "-p", "no:cacheprovider"]


class Worker:
    """The process, from outside."""

    def __init__(self) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__],  # -P: none of our folders is on its path
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def run(self, folder: Path, tests: Iterable[str]) -> tuple[int, str]:
        """Run some tests of a copy, to the first failure: pytest's exit status, and its words."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(folder), list(tests)]) + "\n")
        self._process.stdin.flush()
        status = self._process.stdout.readline()
        assert status, "a worker has died"
        return int(status), (folder / SAID).read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        self._process.communicate()


def _work() -> None:
    import hypothesis  # noqa: F401
    import pytest  # noqa: F401
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.PreTrainedModel, transformers.PreTrainedTokenizerFast  # noqa: B018  # loads them
    for line in sys.stdin:
        folder, tests = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _run(folder, tests)
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _run(folder: str, tests: list[str]) -> NoReturn:
    """In the fork: what pytest says goes to a file, and its status is how the fork ends."""
    import pytest

    signal.alarm(HANGS)
    os.chdir(folder)
    said = os.open(SAID, os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(said, stream)
    status = 70  # where pytest itself falls over
    try:
        status = int(pytest.main([*OPTIONS, *tests]))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _work()
