"""Local: the parts of a survey in this process, as many texts at once as torch has threads.

A text on a thread of its own keeps a core busier than all threads on one text: much of what is
measured is small, and threads that share it wait for one another.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from attnviz.capture.cost import estimate
from attnviz.errors import UnsupportedModel
from attnviz.survey.corpus import Text
from attnviz.survey.examination import collect_part, examine_text, longest_first
from attnviz.survey.survey_part import Part

if TYPE_CHECKING:
    from attnviz.detectors.row_sums import Lengths
    from attnviz.models import LoadedModel

ROOM = 2**31
"""Bytes that captures may take at once; one alone may take more."""


def examine_parts(
    model: "LoadedModel",
    waiting: Iterator[tuple[int, list[Text]]],
    *,
    max_tokens: int,
    most: int,
    done: Callable[[], None] = lambda: None,
) -> Generator[tuple[int, list[Text], Part], None, None]:
    """(number, texts, what was found on them) of the waiting parts, in their order.

    `done` is called in the caller's thread, once for each text that is through and whose turn has
    come.
    """
    lengths: Lengths = {}
    options: dict[str, Any] = {"max_tokens": max_tokens, "most": most, "lengths": lengths}
    whole = _threads_of(model)
    at_once = min(whole, _count_fitting(model, max_tokens))
    with limit_threads(whole // at_once), _pool(at_once) as pool:
        under_way: deque[tuple[int, list[Text], list[Future[Any]]]] = deque()
        for number, texts in waiting:
            each = [
                pool.submit(examine_text, model, text, **options) for text in longest_first(texts)
            ]
            under_way.append((number, texts, each))
            behind = sum(len(texts) for _, texts, _ in islice(under_way, 1, None))
            if behind >= at_once:  # no thread is idle while the first part is waited for
                yield _finish_part(*under_way.popleft(), done)
        while under_way:
            yield _finish_part(*under_way.popleft(), done)


def _finish_part(
    number: int, texts: list[Text], each: list[Future[Any]], done: Callable[[], None]
) -> tuple[int, list[Text], Part]:
    found = []
    for one in each:
        found.append(one.result())
        done()
    return number, texts, collect_part(found)


def _threads_of(model: "LoadedModel") -> int:
    """How many threads there are to share; one where weights are on a GPU, or are brought and taken
    away layer by layer: such a model reads one text at a time."""
    import torch

    from attnviz.models.placement import is_spread

    here = all(parameter.device.type == "cpu" for parameter in model.hf.parameters())
    return torch.get_num_threads() if here and not is_spread(model.hf) else 1


def _count_fitting(model: "LoadedModel", max_tokens: int) -> int:
    """How many captures fit into `ROOM`."""
    try:
        return max(1, ROOM // estimate(model, max_tokens).bytes)
    except UnsupportedModel:  # its config does not tell
        return 1


@contextmanager
def _pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that a survey which is stopped waits for no longer than for the texts in hand."""
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def limit_threads(each: int) -> Iterator[None]:
    """So many threads for each product, in the whole process, of torch and of numpy."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    with threadpool_limits(each, user_api="blas"):
        torch.set_num_threads(each)
        try:
            yield
        finally:
            torch.set_num_threads(before)
