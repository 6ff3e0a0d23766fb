"""The other end of `tests.bench.worker`: start one, ask it, stop it."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class WorkerFailed(Exception):
    """A way could not be started or broke off; the words say why."""


@dataclass(frozen=True)
class Took:
    """What one doing of a way took: seconds, seconds of the processor, bytes kept or sent, and
    bytes of memory at most: above the process with its model, and of the whole process."""

    seconds: float
    work: float
    bytes: int
    peak: int
    process: int


class Worker:
    """A process that does ways on one model whenever it is asked; for a with statement.

    way: a name of `tests.bench.worker.WAYS`, which the model is loaded for. python: of the
    environment that it runs in.
    """

    def __init__(
        self, way: str, folder: str | Path, *, python: str | Path = sys.executable
    ) -> None:
        self._way = way
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self._process = subprocess.Popen(
            [str(python), "-m", "tests.bench.worker", way, str(folder)],
            cwd=ROOT,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def __enter__(self) -> "Worker":
        try:
            self._answer()
        except WorkerFailed:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()

    def do(self, ids: Sequence[int], way: str | None = None) -> Took:
        """Do its way once, or another that needs the model in the same form.

        Raises:
            WorkerFailed: it raised, or the process ended.
        """
        assert self._process.stdin is not None
        asked = json.dumps({"way": way or self._way, "ids": list(ids)})
        with suppress(BrokenPipeError):  # it ended before it was asked; its answer says why
            self._process.stdin.write(asked + "\n")
            self._process.stdin.flush()
        answer = self._answer()
        if "error" in answer:
            raise WorkerFailed(answer["error"])
        return Took(**answer)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            return json.loads(line)
        code = self._process.wait()
        self._errors.seek(0)
        said = [text for text in self._errors.read().splitlines() if text.strip()]
        why = "it was killed, as for want of memory" if code < 0 else f"it ended with code {code}"
        raise WorkerFailed(f"{why}: {said[-1][:200]}" if said else why)
