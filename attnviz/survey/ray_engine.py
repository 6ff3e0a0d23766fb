"""Ray engine: the parts of a survey on Ray's workers, a few at once for each, none of them twice.

A part is a fixed run of texts, and its file is the same whoever makes it; so a worker that is
lost costs the part in its hands, which goes to another. Parts are handed out as they are asked
for: the driver never holds the corpus, and Ray's object store holds a few parts of text.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnviz.errors import AttnvizError, BadInput
from attnviz.models import load
from attnviz.survey.corpus import Text
from attnviz.survey.examination import examine
from attnviz.survey.model_facts import model_facts
from attnviz.survey.survey_part import Part, part_path

if TYPE_CHECKING:
    from attnviz.detectors.row_sums import Lengths
    from attnviz.models import LoadedModel

UnfinishedParts = Iterator[tuple[int, list[Text]]]
"""Numbers of parts and their texts."""
AHEAD = 2
"""Parts that each worker has at once: the next is there when one is through."""
TRIES = 3
"""How many workers may be lost over one part before it is the part that is to blame."""


@dataclass(frozen=True)
class Staff:
    """The workers of a survey, and what each is given.

    workers: how many. gpus: of each; parts of one, where several share it. loading: options of
    `attnviz.load`. address: of a running cluster; None starts one on this machine.
    """

    workers: int
    gpus: float
    loading: Mapping[str, Any]
    address: str | None


class Worker:
    """A model in a process of its own."""

    def __init__(self, model: str, facts: Mapping[str, Any], loading: Mapping[str, Any]) -> None:
        """`facts` are what the driver knows of the model: numbers of another revision, or from
        other versions of the packages, are not mixed with these."""
        import torch

        torch.set_num_threads(1)
        self._lengths: Lengths = {}
        self._refused: AttnvizError | None = None
        try:
            self._model = self._loaded(model, facts, loading)
        except AttnvizError as error:  # said when it is asked: Ray tells of no error before
            self._refused = error

    def _loaded(
        self, model: str, facts: Mapping[str, Any], loading: Mapping[str, Any]
    ) -> "LoadedModel":
        loaded = load(model, **loading)
        own = model_facts(loaded)
        if differ := [name for name in facts if own[name] != facts[name]]:
            raise BadInput(
                what="A worker has another model, or other packages, than the driver.",
                why=f"They differ in: {', '.join(differ)}.",
                todo="Install the same versions, and give the same model, on every machine.",
            )
        return loaded

    def examine(self, texts: list[Text], options: Mapping[str, Any]) -> Part:
        if self._refused is not None:
            raise self._refused
        return examine(self._model, texts, **options, lengths=self._lengths)


def run_on_ray(
    model: str,
    facts: Mapping[str, Any],
    waiting: UnfinishedParts,
    folder: Path,
    options: Mapping[str, Any],
    staff: Staff,
) -> Iterator[int]:
    """Have the waiting parts examined and keep them; yields how many texts each part had.

    `facts` are those of the driver's model, which every worker's must have.

    Raises:
        BadInput: Ray is not installed, or no worker can be started.
    """
    ray = _ray()
    ours = not ray.is_initialized()
    if ours:
        ray.init(address=staff.address, include_dashboard=False, log_to_driver=False)
    try:
        yield from _Crew(ray, model, facts, staff).work(waiting, folder, options)
    finally:
        if ours:
            ray.shutdown()


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
    try:
        import ray
    except ImportError as error:
        raise BadInput(
            what="Ray is not installed.",
            why="The engine 'ray' runs on its workers.",
            todo='Install it with pip install "attnviz[ray]", or use the local engine.',
        ) from error
    return ray


@dataclass(frozen=True)
class _Task:
    """A part in the hands of a worker.

    place: which of the crew's places the worker has. left: how often it may yet be given away.
    """

    worker: Any
    place: int
    number: int
    texts: list[Text]
    left: int = TRIES


class _Crew:
    """Workers, and the parts in their hands."""

    def __init__(self, ray: Any, model: str, facts: Mapping[str, Any], staff: Staff) -> None:
        self._ray, self._given = ray, (model, dict(facts), dict(staff.loading))
        there = ray.cluster_resources()
        for kind, name, each in (("CPU", "core", 1), ("GPU", "GPU", staff.gpus)):
            if staff.workers * each > there.get(kind, 0):
                raise _no_room(staff.workers, name, each, there.get(kind, 0))
        self._class = ray.remote(num_cpus=1, num_gpus=staff.gpus)(Worker)
        self._workers = [self._hire() for _ in range(staff.workers)]
        self._hands: dict[Any, _Task] = {}

    def _hire(self) -> Any:
        return self._class.remote(*self._given)

    def work(
        self, waiting: UnfinishedParts, folder: Path, options: Mapping[str, Any]
    ) -> Iterator[int]:
        for place in [*range(len(self._workers))] * AHEAD:
            self._next(place, waiting, options)
        while self._hands:
            (ticket,), _ = self._ray.wait(list(self._hands), num_returns=1)
            task = self._hands.pop(ticket)
            try:
                part = self._ray.get(ticket)
            except self._ray.exceptions.RayActorError as error:
                self._give(self._again(task, error), options)
                continue
            except self._ray.exceptions.RayTaskError as error:
                raise (_refusal(error) or error) from error
            part.save(part_path(folder, task.number), task.texts)
            yield len(task.texts)
            self._next(task.place, waiting, options)

    def _next(self, place: int, waiting: UnfinishedParts, options: Mapping[str, Any]) -> None:
        if part := next(waiting, None):
            self._give(_Task(self._workers[place], place, *part), options)

    def _give(self, task: _Task, options: Mapping[str, Any]) -> None:
        ticket = task.worker.examine.remote(task.texts, dict(options))
        self._hands[ticket] = task

    def _again(self, task: _Task, error: Exception) -> _Task:
        """The task of a worker that is gone, for the one that is put in its place."""
        if task.left <= 1:
            raise BadInput(
                what=f"Texts {task.texts[0].number} to {task.texts[-1].number} were not examined.",
                why=f"{TRIES} workers were lost over them; they may lack memory.",
                todo="Give workers more memory, or lower max_tokens.",
            ) from error
        if self._workers[task.place] is task.worker:
            self._workers[task.place] = self._hire()
        return replace(task, worker=self._workers[task.place], left=task.left - 1)


def _no_room(workers: int, name: str, each: float, there: float) -> BadInput:
    """Workers that find no core or GPU would be waited for without end."""
    return BadInput(
        what=f"There is no room for {workers} workers.",
        why=f"Each takes {each:g} {name}, and this cluster has {there:g}.",
        todo="Ask for fewer, or for a larger cluster.",
    )


def _refusal(error: BaseException) -> AttnvizError | None:
    """What attnviz itself said in a worker, where that is what went wrong there."""
    cause = getattr(error, "cause", None) or error.__cause__
    return cause if isinstance(cause, AttnvizError) else None
