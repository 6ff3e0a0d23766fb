"""200 generated matrices of every kind, judged; a doubt counts as right only where it is true.

"Cannot tell" is not taken on trust: for each doubt the matrix itself must show that it could
have been made in the other way, by a check that does not use the code under test.
"""

from collections import Counter
from functools import cache

import numpy as np
import pytest

from attnviz import matrix_check as mc
from attnviz.heads.softmax import weigh
from attnviz.matrix_check import MatrixVerdict
from tests.matrix_check.cases import MAKERS, Case

CASES = 200
WRONG, TOLD, DOUBT = "wrong", "told", "true doubt"


@cache
def judged(name: str) -> list[tuple[Case, MatrixVerdict, str]]:
    rng = np.random.default_rng([7, list(MAKERS).index(name)])
    out = []
    for _ in range(CASES):
        case = MAKERS[name](rng)
        verdict = mc.check_matrix(case.matrix)
        out.append((case, verdict, outcome(case, verdict)))
    return out


def outcome(case: Case, verdict: MatrixVerdict) -> str:
    m = case.matrix.astype(np.float64)
    if not axis_right(m, case, verdict):
        return WRONG
    if verdict.kind == case.kind:
        return TOLD
    if case.kind == mc.SINK_WEIGHTS and verdict.kind == mc.WEIGHTS:
        # A sink that takes next to nothing is under the error of float32 sums, and so it says.
        invisible = (1 - m.sum(axis=1)).max() < 1e-5
        return DOUBT if invisible and any("sink" in s for s in verdict.cannot_tell) else WRONG
    if case.kind not in verdict.could_be or not verdict.cannot_tell:
        return WRONG
    return DOUBT if could_be(verdict.kind, case.kind, m) else WRONG


def axis_right(m: np.ndarray, case: Case, verdict: MatrixVerdict) -> bool:
    if case.axis is None or verdict.axis == case.axis or verdict.kind in OF_NO_AXIS:
        return True
    if verdict.axis is not None:
        return False
    # Not told: then the other axis has to fit as well as the true one.
    sums = m.sum(axis=0 if case.axis == "rows" else 1)
    if case.kind == mc.SINK_WEIGHTS:
        return bool((sums <= 1 + 1e-5).all())
    if case.kind == mc.ROUNDED_WEIGHTS:
        return bool((np.abs(sums - 1) <= 0.005 * len(m) + 1e-5).all())
    if case.kind == mc.LOG_WEIGHTS:
        sums = np.exp(m).sum(axis=0)
    return bool((np.abs(sums - 1) <= 1e-5).all())


OF_NO_AXIS = (mc.POSITIVE_ROWS, mc.SCORES)


def could_be(claimed: str, truth: str, m: np.ndarray) -> bool:
    """Whether a matrix of one kind could be of the other, checked from the numbers."""
    sums = m.sum(axis=1)
    positive = m[m != 0].min() > 0
    if (claimed, truth) == (mc.WEIGHTS, mc.HEAD_MEAN):
        return one_head_can_make(m) and not low_rank_logs(m)
    if (claimed, truth) == (mc.WEIGHTS, mc.ROUNDED_WEIGHTS):
        return set(np.unique(m)) <= {0.0, 1.0}
    if (claimed, truth) == (mc.UNIFORM_WEIGHTS, mc.ROUNDED_WEIGHTS):
        return all(len(set(row[row > 0])) == 1 for row in m)
    if {claimed, truth} in ({mc.WEIGHTS, mc.SOFTMAX_TWICE}, {mc.HEAD_MEAN, mc.SOFTMAX_TWICE}):
        return mild_scores_fit(m)
    if (claimed, truth) == (mc.UNIFORM_WEIGHTS, mc.SOFTMAX_TWICE):
        return all(len(set(row[row > 0])) == 1 for row in m)
    if claimed == mc.SINK_WEIGHTS:
        return bool(positive and (sums <= 1 + 1e-5).all())
    if claimed in (mc.POSITIVE_ROWS, mc.ZERO_MASKED_SCORES):
        return bool(positive)
    return False


def one_head_can_make(m: np.ndarray) -> bool:
    """The logarithms are scores whose softmax is the matrix."""
    with np.errstate(divide="ignore"):
        return bool(np.abs(weigh(np.log(m))[0] - m).max() < 1e-6)


def low_rank_logs(m: np.ndarray) -> bool:
    """The lower left block of the logarithms has a row that the others make up: then one head of
    a small size made it, and a mean did not."""
    half = (len(m) + 1) // 2
    block = m[half - 1 :, :half]
    if (block <= 0).any() or min(block.shape) < 5:
        return False
    logs = np.log(block)
    sizes = np.linalg.svd(logs - logs.mean(axis=1, keepdims=True), compute_uv=False)
    return bool(sizes[-4] < 1e-6 * sizes[0])


def mild_scores_fit(m: np.ndarray, draws: int = 1000) -> bool:
    """Of normal scores with each row's own spread, one draw in a thousand can be undone to
    weights in all rows."""
    rng = np.random.default_rng(0)
    fits = np.ones(draws, bool)
    for row in m:
        logs = np.log(row[row > 0])
        if len(logs) > 1:
            scores = rng.normal(0, logs.std(ddof=1), (draws, len(logs)))
            undone = scores - scores.mean(axis=1, keepdims=True) + 1 / len(logs)
            fits &= undone.min(axis=1) >= -1e-6
    return bool(fits.any())


def table() -> str:
    lines = [f"{'made as':24}{'right':>7}{'told':>6}  judged"]
    for name in MAKERS:
        results = judged(name)
        counts = Counter(result for _, _, result in results)
        kinds = Counter(verdict.kind for _, verdict, _ in results)
        share = 1 - counts[WRONG] / CASES
        shown = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        lines.append(f"{name:24}{share:7.1%}{counts[TOLD] / CASES:6.0%}  {shown}")
    return "\n".join(lines)


@pytest.mark.parametrize("name", MAKERS)
def test_at_least_99_of_100_matrices_of_a_kind_are_judged_right(name: str) -> None:
    wrong = [
        (case.matrix.shape, verdict.kind, verdict.axis, verdict.could_be)
        for case, verdict, result in judged(name)
        if result == WRONG
    ]
    assert len(wrong) <= CASES // 100, f"{wrong}\n{table()}"


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("real scores", 0.97),
        ("real weights", 0.99),
        ("transposed weights", 0.99),
        ("sink rows", 0.97),
        ("rounded to 2 decimals", 0.95),
        ("log-weights", 0.99),
        ("zero-masked scores", 0.97),
        ("softmax twice", 0.75),
        ("uniform rows", 0.99),
        ("random positive rows", 0.70),
    ],
)
def test_doubt_is_the_exception(name: str, least: float) -> None:
    """A check that always doubted would be right and of no use. Head means are not in this list:
    nothing in a mean of a usual size gives it away."""
    told = sum(result == TOLD for _, _, result in judged(name))
    assert told >= least * CASES, table()


def test_a_head_mean_is_never_called_one_head() -> None:
    assert all(mc.HEAD_MEAN in verdict.could_be for _, verdict, _ in judged("head mean"))


def test_many_heads_are_told_from_a_mean_by_the_rank_of_their_logarithms() -> None:
    sure = [v for _, v, _ in judged("real weights") if mc.HEAD_MEAN not in v.could_be]
    assert len(sure) >= CASES // 4
    assert all(any(item.name == "Rank of the logarithms" for item in v.evidence) for v in sure)


if __name__ == "__main__":
    import sys

    sys.stdout.write(table() + "\n")
