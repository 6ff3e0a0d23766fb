"""The suite notices when the library is wrong: every mistake in the lists is made in a copy, and
the tests named beside it turn red there.

TransformerLensOrg/TransformerLens#520, lablup/mlxcel#928: errors of shape were mended, wrong
numbers stayed, and the tests were green.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import pytest

from tests.mutation import captures, comparisons, detectors, files, pictures, runs, surveys
from tests.mutation.trial import Mutation, broken, copy_to
from tests.mutation.worker import Worker

MUTATIONS = (
    *pictures.MUTATIONS,
    *captures.MUTATIONS,
    *comparisons.MUTATIONS,
    *detectors.MUTATIONS,
    *files.MUTATIONS,
    *runs.MUTATIONS,
    *surveys.MUTATIONS,
)
TRIALS: dict[str, Mutation | None] = {
    "nothing is wrong": None,
    **{mutation.name: mutation for mutation in MUTATIONS},
}
AT_ONCE = 2
PASSED, FAILED = 0, 1  # pytest's exit status; above that, tests could not be run at all

Outcomes = dict[str, "Future[tuple[int, str]]"]


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Outcomes]:
    """What comes of each trial that this session asks for. Two run at once."""
    asked = [
        item.callspec.params["name"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.function is test_the_suite_notices_that
    ]
    folder = tmp_path_factory.mktemp("mutations")
    pool, workers = ThreadPoolExecutor(AT_ONCE), [Worker() for _ in range(AT_ONCE)]
    idle: Queue[Worker] = Queue()
    for worker in workers:
        idle.put(worker)
    yield {
        name: pool.submit(_try, TRIALS[name], folder / str(number), idle)
        for number, name in enumerate(asked)
    }
    pool.shutdown(cancel_futures=True)
    for worker in workers:
        worker.close()


def _try(mutation: Mutation | None, folder: Path, idle: "Queue[Worker]") -> tuple[int, str]:
    copy_to(folder)
    if mutation is not None:
        mutation.apply(folder)
    concerned = MUTATIONS if mutation is None else (mutation,)
    worker = idle.get()
    try:
        return worker.run(folder, dict.fromkeys(test for one in concerned for test in one.tests))
    finally:
        idle.put(worker)


@pytest.mark.parametrize("name", TRIALS)
def test_the_suite_notices_that(name, outcomes):
    status, words = outcomes[name].result()
    expected = PASSED if TRIALS[name] is None else FAILED
    assert status == expected, f"pytest ended with {status}, not {expected}:\n{words}"


def test_every_mistake_has_a_name_of_its_own():
    assert len(TRIALS) == len(MUTATIONS) + 1


@pytest.mark.parametrize(
    ("file", "old"), [("softmax.py", "no such line"), ("head.py", "self"), ("gone.py", "x")]
)
def test_a_list_that_no_longer_fits_the_source_says_so(file, old, tmp_path):
    stale = broken("nothing in particular", file, old, "", "tests/test_head.py")
    with pytest.raises(AssertionError, match="stale.*nothing in particular"):
        stale.apply(copy_to(tmp_path))


def test_a_mistake_must_still_be_a_program(tmp_path):
    slip = broken("a slip of the pen", "softmax.py", "def weigh(", "def weigh((", "tests")
    with pytest.raises(SyntaxError):
        slip.apply(copy_to(tmp_path))
