"""What is measured on a model: against single runs and plain loops on the planted circuit."""

import numpy as np
import pandas as pd
import pytest

import attnviz
from attnviz import faithfulness
from attnviz.detectors import SHARES, effect, profile, repeated
from attnviz.experiments.averaged_heads import average_heads, find_evenest_head, roll_out
from attnviz.experiments.changed_rows import (
    SAID,
    TAKEN,
    measure_changes,
    permute_row,
    remove_keys,
    seek_weights,
)
from attnviz.experiments.every_head import (
    HeadGrids,
    measure_effect,
    measure_on_controls,
    read_profile,
    read_survey,
    sweep_heads,
)
from attnviz.experiments.output_tokens import (
    compare_outputs,
    compare_temperatures,
    find_output_row,
    has_output,
)
from attnviz.experiments.two_texts import compare_texts
from attnviz.heads.distances import softmax, total_variation
from attnviz.interventions import Ablate, Flatten, HideKeys, Permute, Temper
from tests import tiny
from tests.fixtures_tokenizers import wordpiece

TEXT = "red fox ran home red fox ran"
LAST = 7


@pytest.fixture(scope="module")
def planted():
    model = attnviz.load("planted-circuit")
    return model, attnviz.capture(model, TEXT)


@pytest.fixture(scope="module")
def filler():
    """(model that fills masks, capture of a text with one, capture of one without)."""
    words = wordpiece()
    model = attnviz.wrap(tiny.hf("BertForMaskedLM", vocab_size=len(words)), words, name="tiny")
    return model, attnviz.capture(model, "the [MASK] sat"), attnviz.capture(model, "the cat sat")


def run(planted, *changes):
    model, capture = planted
    return attnviz.run(model, interventions=list(changes), baseline=capture)


def test_changes_are_those_of_single_runs(planted):
    whatifs = [[Ablate(1, 0)], [Flatten(1, 0, "decoder", query=LAST), Temper(0, 0, temperature=3)]]
    found = measure_changes(*planted, whatifs, LAST)
    expected = [run(planted, *whatif).total_variation for whatif in whatifs]
    assert found == pytest.approx(expected, abs=1e-6) and found[0] > 0.5


def test_keys_taken_away_have_titles_and_ranks(planted):
    head = planted[1].head(1, 0)
    found = remove_keys(*planted, head, LAST, erase=True)
    own = faithfulness.agreement(*planted, 1, 0, LAST)
    titles = SAID | TAKEN
    assert found.table.columns.tolist() == ["position", "key", *titles.values()]
    for name, title in titles.items():
        assert found.table[title].tolist() == own.table[name].tolist(), name
        assert found.ranks[title].tolist() == own.ranks[name].tolist(), name
    for key, moved in zip(found.table["position"], found.table[TAKEN["key_hiding"]], strict=True):
        hidden = HideKeys(1, 0, "decoder", keys=(key,), queries=(LAST,))
        assert moved == pytest.approx(run(planted, hidden).total_variation, abs=1e-6)
    less = remove_keys(*planted, head, LAST).table
    assert TAKEN["token_erasure"] not in less, "not asked for"


@pytest.mark.parametrize("whole_layer", [False, True])
def test_a_row_is_permuted_made_even_and_erased(planted, whole_layer):
    found = permute_row(*planted, planted[1].head(1, 0), LAST, whole_layer=whole_layer, count=4)
    which = None if whole_layer else 0
    permuted = [run(planted, Permute(1, which, "decoder", query=LAST, seed=s)) for s in range(4)]
    expected = [one.total_variation for one in permuted]
    assert found.table["Change"].tolist() == pytest.approx(expected, abs=1e-6)
    assert found.table["Deal"].tolist() == [0, 1, 2, 3]
    flat = run(planted, Flatten(1, which, "decoder", query=LAST))
    assert found.even == pytest.approx(flat.total_variation, abs=1e-6)
    own = faithfulness.erasure(*planted, 1, 0, LAST)
    assert found.heaviest_beats == own.heaviest_beats


def test_weights_that_were_sought_stand_beside_the_real_ones(planted):
    head = planted[1].head(1, 2)
    found = seek_weights(*planted, head, 5, steps=5, restarts=1)
    own = faithfulness.adversary(*planted, 1, 2, 5, steps=5, restarts=1)
    assert found.search.divergence == own.divergence
    assert found.table["real"].tolist() == head.weights[5, :6].tolist()
    assert found.table["found"].tolist() == own.weights[:6].tolist()


def test_the_sweep_takes_every_head_away(planted):
    told = []
    table = sweep_heads(*planted, "decoder", LAST, how="mean", progress=lambda *at: told.append(at))
    assert len(table) == 6 and table["Change"].is_monotonic_decreasing
    for layer, head, moved in table.itertuples(index=False):
        gone = Ablate(int(layer), int(head), "decoder", how="mean", queries=(LAST,))
        assert moved == pytest.approx(run(planted, gone).total_variation, abs=1e-6)
    assert told[-1] == (6, 6)


def test_one_measure_of_all_heads_from_each_source(planted):
    model, capture = planted
    values = np.array([[0.1, 0.2], [0.3, np.nan]])
    table = HeadGrids(values, values / 2, values * 2).table("Mine")
    assert table.columns.tolist() == ["Layer", "Head", "Mine", "Null", "Ceiling"]
    assert table.iloc[2].tolist() == [1, 0, 0.3, 0.15, 0.6]
    moved = measure_effect(model, capture, "decoder", LAST)
    assert np.array_equal(moved.values, effect(model, capture, "decoder", query=LAST))
    assert np.isnan(moved.ceiling).all() and not moved.null.any()
    found = profile(repeated(model), measures=["induction"])
    grids = read_profile(found, "induction")
    assert np.array_equal(grids.null, found.null("induction"))
    assert np.array_equal(grids.ceiling, found.ceilings["induction"])


def test_a_survey_is_filled_up_to_the_shape_of_the_page():
    class Survey:
        def grid(self, measure, statistic, stack):
            return np.full((1, 2), {"mean": 1.0, "null": 2.0, "ceiling": 3.0}[statistic])

    grids = read_survey(Survey(), "focus", "decoder", (2, 2))
    nan = pytest.approx(np.nan, nan_ok=True)
    assert grids.values.tolist() == [[1, 1], [nan, nan]]
    assert (grids.null[0, 0], grids.ceiling[0, 0]) == (2, 3)
    assert read_survey(Survey(), "focus", "decoder").values.shape == (1, 2)


def test_an_effect_on_states_has_a_ceiling(filler):
    words = wordpiece()
    model = attnviz.wrap(tiny.hf("BertModel", vocab_size=len(words)), words, name="tiny")
    capture = attnviz.capture(model, "the cat sat")
    assert (measure_effect(model, capture, "encoder", 1).ceiling == 2).all()
    table = compare_outputs(model, attnviz.run(model, "the cat sat", interventions=[Ablate(0, 0)]))
    assert table.columns.tolist() == ["Token", "1 - cosine"]
    assert len(table) == len(capture.query_tokens()) and table["1 - cosine"].max() > 0


def test_controls_have_a_table_a_head_and_one_a_measure(planted):
    found = measure_on_controls(*planted, "decoder", draws=1)
    own = found.of_head(0, 1)
    grids = found.grids
    assert own["your text"].tolist() == [grids["text"][name][0, 1] for name in SHARES]
    expected = [grids["random"][name][0, 1] for name in SHARES]
    assert np.array_equal(own["random tokens"], expected, equal_nan=True)
    every = found.of_measure("previous_token")
    assert every["Head"].tolist() == [f"layer {la}, head {h}" for la in (0, 1) for h in range(3)]
    assert every["Shuffled"].tolist() == grids["shuffled"]["previous_token"].ravel().tolist()
    grids["text"]["previous_token"][0, 0] = np.nan
    assert len(found.of_measure("previous_token")) == 5, "heads without a number are left out"


def test_the_mean_of_the_heads_and_the_rollout(planted):
    _, capture = planted
    head = capture.head(1, 0)
    table = average_heads(capture, head, 5)
    mean = sum(capture.head(1, h).weights[5, :6].astype(float) for h in range(3)) / 3
    assert table["average of the heads"].tolist() == pytest.approx(mean, abs=1e-6)
    assert table["this head"].tolist() == head.weights[5, :6].tolist()
    found = roll_out(capture, head, 5)
    rolled, even = np.eye(8), np.eye(8)
    for layer in (0, 1):
        weights = sum(capture.head(layer, h).weights.astype(float) for h in range(3)) / 3
        rolled = (weights + np.eye(8)) / 2 @ rolled
        even = (np.tri(8) / np.tri(8).sum(axis=1, keepdims=True) + np.eye(8)) / 2 @ even
    assert np.allclose(found.rolled, rolled, atol=1e-6) and np.allclose(found.even, even, atol=1e-6)
    lower = np.tri(8, dtype=bool)
    assert found.correlation == pytest.approx(
        np.corrcoef(rolled[lower], even[lower])[0, 1], abs=1e-5
    )
    apart = [total_variation(*rows) for rows in zip(rolled, even, strict=True)]
    assert found.distance == pytest.approx(np.mean(apart), abs=1e-6)
    assert found.table["this model"].tolist() == found.rolled[5].tolist()


def test_a_single_token_rolls_out_flat_and_correlates_with_nothing(planted):
    model, _ = planted
    capture = attnviz.capture(model, input_ids=[1])
    found = roll_out(capture, capture.head(0, 0), 0)
    assert found.even.tolist() == [[1]] and np.isnan(found.correlation) and found.distance == 0


def test_the_evenest_head_counts_the_second_half_alone(planted):
    _, capture = planted
    tops = [capture.head(1, h).weights[4:].max() for h in range(3)]
    number, largest, table = find_evenest_head(capture, capture.head(1, 0))
    assert (number, largest) == (int(np.argmin(tops)), min(tops))
    assert table["Largest weight"].tolist() == capture.head(1, 0).weights.max(axis=1).tolist()
    even = capture.head(1, number).weights.max(axis=1)
    assert table[f"Largest weight of head {number}"].tolist() == even.tolist()


def test_outputs_and_temperatures_are_those_of_plain_softmax(planted):
    model, capture = planted
    gone = run(planted, Ablate(1, 0))
    table = compare_outputs(model, gone)
    before, after = softmax(capture.logits[-1]), softmax(gone.logits[-1])
    assert table["Before"].is_monotonic_decreasing and table["Before"][0] == before.max()
    assert set(np.sort(after)[-6:]) <= set(table["After"])
    assert table["Token"].is_unique
    found = compare_temperatures(model, capture, capture.head(1, 0), 2.0)
    ways = {
        "as it is": before,
        "scores of this head": softmax(run(planted, Temper(1, 0, temperature=2.0)).logits[-1]),
        "scores of every head": softmax(run(planted, Temper(temperature=2.0)).logits[-1]),
        "sampling": softmax(capture.logits[-1] / 2),
    }
    for way, row in ways.items():
        assert found.entropy[way] == pytest.approx(-(row * np.log(row)).sum(), rel=1e-4)
        assert found.moved[way] == pytest.approx(total_variation(row, before), abs=1e-6)
        assert found.table[way][0] == pytest.approx(row[before.argmax()], abs=1e-6)


def test_what_puts_out_nothing_has_no_rows(filler):
    model, masked, plain = filler
    assert has_output(masked) and not has_output(plain)
    table = compare_outputs(model, attnviz.run(model, interventions=[Ablate(0, 0)], baseline=plain))
    assert table.empty and isinstance(table, pd.DataFrame)
    assert find_output_row(masked, "encoder", 0) == 2, "the place of the mask"
    assert find_output_row(plain, "encoder", 3) == 3


def test_another_text_leaves_every_parameter_and_changes_the_weights(planted):
    model, capture = planted
    head = capture.head(1, 0)
    found = compare_texts(model, capture, head, "the cat sat")
    assert len(set(found.checksums)) == 1 and len(found.checksums) == 3
    assert found.repeat_error == 0
    other = attnviz.capture(model, "the cat sat").head(1, 0)
    assert np.array_equal(found.other.weights, other.weights)
    top, first = found.table.iloc[1, 3:]
    assert top == other.weights[1:, 1:].max() and first == pytest.approx(
        other.weights[1:, 0].mean()
    )
