"""What is worked out from heads alone, against numbers by hand and against plain loops."""

import numpy as np
import pytest

from attnviz.experiments.before_after import (
    compare_contributions,
    compare_rows,
    list_changed_cells,
    tabulate_added,
)
from attnviz.experiments.invented_head import follow_keys, invent_head
from attnviz.experiments.one_row import LOWS, decompose_output, mask_key, share_row, shift_scores
from attnviz.experiments.shifted_scores import shift_rows
from attnviz.heads.head import Head
from attnviz.interventions import HideKeys

WORDS = ("Soup", "simmers", "the")


@pytest.fixture(params=[None, 0.7], ids=["no sink", "a sink"])
def head(request):
    """A causal head of four tokens with random numbers, whose scores are far from 0."""
    rng = np.random.default_rng(3)
    q, k, v = (rng.normal(size=(4, 3)) for _ in range(3))
    allowed = np.tri(4, dtype=bool)
    options = {"w_o": rng.normal(size=(3, 5)), "allowed": allowed, "sink_logit": request.param}
    return Head(3 * q, k, v, scaling=1.0, **options)


def softmax(scores, sink=None):
    """Weights of a row, and what a sink takes."""
    every = np.exp([*scores, *([] if sink is None else [sink])])
    return (every / every.sum())[: len(scores)]


def test_a_shift_moves_no_weight_and_a_factor_does(head):
    scores = head.scores[2, :3].astype(float)
    sink = head.sink_logit
    table = shift_scores(head, 2, shift=3, factor=2)
    assert table["Key"].tolist() == ["0", "1", "2"]
    own = softmax(scores, sink)
    assert table["as they are"].tolist() == pytest.approx(own, abs=1e-6)
    assert table["all +3"].tolist() == pytest.approx(own, abs=1e-6), "a sink is shifted too"
    scaled = softmax(2 * scores, None if sink is None else 2 * sink)
    assert table["all times 2"].tolist() == pytest.approx(scaled, abs=1e-6)
    shown = shift_scores(head, 2, shift=3, factor=2, of="scores")
    assert shown["all +3"].tolist() == pytest.approx(scores + 3, abs=1e-5)
    assert shown["all times 2"].tolist() == pytest.approx(2 * scores, abs=1e-5)


def test_a_masked_key_gets_nothing_and_a_low_score_a_share(head):
    table = mask_key(head, 2, key=1)
    for low in LOWS:
        scores = head.scores[2, :3].astype(float)
        scores[1] = low
        expected = softmax(scores, head.sink_logit)
        assert table[f"at a score of {low:,.0f}"].tolist() == pytest.approx(expected, abs=1e-6)
    others = softmax(head.scores[2, [0, 2]].astype(float), head.sink_logit)
    assert table["masked"].tolist() == pytest.approx([others[0], 0, others[1]], abs=1e-6)
    assert table["masked"][1] == 0


def test_the_parts_of_an_output_are_those_of_a_loop_over_keys(head):
    weights, lengths, shares = head.weights[3], [], []
    output = sum(weights[k] * head.v[k] @ head.w_o for k in range(4))
    for k in range(4):
        part = weights[k] * head.v[k] @ head.w_o
        lengths.append(np.linalg.norm(part))
        shares.append(part @ output / (output @ output))
    table = decompose_output(head, 3)
    assert table["Length"].tolist() == pytest.approx(lengths, rel=1e-4)
    assert table["Signed share"].tolist() == pytest.approx(shares, rel=1e-4)
    added = share_row(head, 3)
    assert added["share of the weight"].tolist() == weights.tolist()
    expected = np.array(lengths) / sum(lengths)
    assert added["share of the lengths added"].tolist() == pytest.approx(expected, rel=1e-4)


def test_shares_of_nothing_are_undefined():
    head = Head(q=[[1]], k=[[1], [0]], v=[[0], [0]], scaling=1.0)
    assert share_row(head, 0)["share of the lengths added"].isna().all()


def test_every_row_is_shifted_and_no_weight_moves(head):
    found = shift_rows(head)
    assert found.error < 1e-6
    by = found.shifted - found.scores
    for row, seen in zip(by, head.allowed, strict=True):
        assert np.ptp(row[seen]) < 1e-5 and not row[~seen].any()
    assert len({round(float(row[0]), 5) for row in by}) == 4, "each row by a number of its own"
    tops = [head.scores[q, : q + 1].max() for q in range(4)]
    assert found.table["Largest score"].tolist() == pytest.approx(tops)


def test_rows_and_contributions_stand_beside_those_before(head):
    after = HideKeys(keys=(1,), queries=(3,)).apply(head)
    table = compare_rows(head, after, 3)
    assert table["Before"].tolist() == head.weights[3].tolist()
    assert table["After"].tolist() == after.weights[3].tolist() and table["After"][1] == 0
    assert table["Difference"].tolist() == (after.weights[3] - head.weights[3]).tolist()
    part = [one.rows(3, 4) for one in (head, after)]
    alone = compare_rows(*part, 3)["After"].tolist()
    assert alone == pytest.approx(table["After"].tolist(), rel=1e-5)
    added = compare_contributions(head, after, 2, "contribution_norm")
    assert len(added) == 3 and added["Difference"].tolist() == [0, 0, 0]


def test_the_cells_that_changed_come_by_size(head):
    after = HideKeys(keys=(1,), queries=(2, 3)).apply(head)
    difference = after.weights - head.weights
    table = list_changed_cells(head, after, rows=(0, 4), keys=(0, 4))
    assert len(table) == np.count_nonzero(difference)
    assert table["Difference"].abs().is_monotonic_decreasing
    for query, key, before, now, by in table.itertuples(index=False):
        at = int(query), int(key)
        assert (before, now, by) == (head.weights[at], after.weights[at], difference[at])
    hidden = table[table["To"] == "1"]
    assert len(hidden) == 2 and not hidden["After"].any()
    scores = list_changed_cells(head, after, "scores", rows=(0, 4), keys=(0, 4))
    assert scores.empty, "what is hidden has no score"
    part = list_changed_cells(head, after, rows=(2, 4), keys=(1, 3))
    assert set(part["From"]) == {"2", "3"} and set(part["To"]) == {"1", "2"}
    assert len(list_changed_cells(head, after, rows=(0, 4), keys=(0, 4), most=2)) == 2


def test_two_heads_over_the_same_keys_share_a_table(head):
    other = head.temper(3.0)
    table = tabulate_added({"A": head, "B": other}, [1, 3], "contribution_norm")
    assert table["A"].isna().tolist() == [False, False, True, True], "masked for A, not for B"
    assert table["B"].tolist() == pytest.approx(other.contribution_matrix()[3].tolist())
    assert table["B \u2212 A"][0] == pytest.approx(table["B"][0] - table["A"][0])
    alone = tabulate_added({"A": head}, [1], "contribution_norm")
    assert alone.columns.tolist() == ["Key", "A"] and len(alone) == 2


def test_scores_of_the_invented_head_come_out_of_its_vectors():
    head = invent_head((1.5, -2.0, 0.3), WORDS, "stove", added=1, temperature=2, masked=(1,))
    scaled = (head.q @ head.k.T / 2)[0]
    assert scaled.tolist() == pytest.approx([2.5, -1.0, 1.3], abs=1e-6)
    assert head.weights[0].tolist() == pytest.approx(
        [softmax([1.25, 0.65])[0], 0, softmax([1.25, 0.65])[1]], abs=1e-6
    )
    table = follow_keys(head, 0, [0, 1])
    assert table["Token"].tolist() == ["Soup", "simmers"]
    assert np.isnan(table["Score"][1]) and table["Weight"][1] == 0
