"""What kind of head this is: numbers by hand, planted heads, nulls, ceilings, all heads at once."""

import numpy as np
import pytest
import torch

import attnviz
from attnviz.capture import row_chunks
from attnviz.capture.block import Block, Projection
from attnviz.capture.result import Capture
from attnviz.capture.row_chunks import BlockRows
from attnviz.detectors import HEAD_MEASURES, effect, head_grid, profile, repeated, thumbnails
from attnviz.detectors.measures import HeadMeasure, RowNumbers
from attnviz.detectors.row_sums import PERMUTATIONS, permute_tokens
from attnviz.heads import head as head_module
from attnviz.heads.softmax import weigh
from attnviz.interventions import Ablate, HideKeys, Permute
from attnviz.tokens import Token
from tests import tiny
from tests.planted_heads import PLANTED

KINDS = {
    "previous_token": "previous-token",
    "duplicate_token": "duplicate-token",
    "induction": "induction",
    "first_token": "first-token",
}


@pytest.fixture(scope="module")
def planted():
    return attnviz.load("planted-circuit")


@pytest.fixture(scope="module")
def capture(planted):
    return attnviz.capture(planted, "the cat sat on the mat the cat sat on the mat")


@pytest.fixture(scope="module")
def sinks():
    sizes = {"head_dim": 8, "num_key_value_heads": 2, "num_local_experts": 4}
    model = attnviz.wrap(tiny.hf("GptOssForCausalLM", **sizes))
    return attnviz.capture(model, input_ids=tiny.ids(12)[0])


def by_hand(scores, words, *, causal=True, mask=None, v=None, w_o=None, special=(), padding=None):
    """A capture of one head with these scores: the queries are the scores, the keys a unit matrix.

    v: (key, d_v); w_o: (d_v, d_model)."""
    scores = torch.tensor(np.asarray(scores, np.float32))
    queries, keys = scores.shape
    v = torch.tensor(np.asarray(np.zeros((keys, 1)) if v is None else v, np.float32))
    tokens = [
        Token(sorted(set(words)).index(word), word, word, place, None, None, place in special)
        for place, word in enumerate(words)
    ]
    weight = torch.ones(v.shape[1], v.shape[1]) if w_o is None else torch.tensor(w_o).float().T
    block = Block(
        "decoder",
        0,
        "by hand",
        q=scores[None],
        k=torch.eye(keys)[None],
        v=v[None],
        scaling=1.0,
        mask=None if mask is None else torch.tensor(np.asarray(mask, bool))[None],
        causal=causal and mask is None,
        projection=Projection(weight, None),
    )
    padded = {} if padding is None else {"decoder": np.asarray(padding, bool)}
    return Capture([block], {"decoder": tokens}, receipt=None, info=None, padding=padded)


def logs(weights):
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(np.asarray(weights, float)), -60)


def one(grids, name):
    return float(grids[name][0, 0])


# Numbers by hand


def test_entropy_of_a_row():
    row = by_hand(logs([[0.5, 0.25, 0.25]] * 3), "abc", causal=False)
    assert one(profile(row).values, "entropy") == pytest.approx(1.03972, abs=1e-5)
    assert one(profile(row).values, "focus") == pytest.approx(1 - 0.946395, abs=1e-5)


def test_even_attention_of_64_tokens():
    found = profile(by_hand(np.zeros((64, 64)), [str(n) for n in range(64)]))
    assert one(found.values, "entropy") == pytest.approx(3.205753, abs=1e-5)
    assert one(found.even, "entropy") == one(found.ceilings, "entropy")
    rows = np.arange(1, 64)
    assert one(found.values, "first_token") == pytest.approx(np.mean(1 / (rows + 1)), abs=1e-6)
    assert one(found.values, "previous_token") == pytest.approx(np.mean(1 / (rows + 1)), abs=1e-6)
    assert one(found.values, "distance") == pytest.approx(np.mean(np.arange(64) / 2), abs=1e-4)
    assert np.isnan(one(found.values, "induction")), "no token occurs twice"


def test_even_attention_on_five_tokens_said_twice():
    """TransformerLensOrg/TransformerLens: its head_detector with error measure "mul" gives half of
    this, because it shares the mean with rows in which nothing is to be found."""
    found = profile(by_hand(np.zeros((10, 10)), "abcdeabcde"))
    assert one(found.values, "induction") == pytest.approx(0.129127, abs=1e-5)
    assert one(found.counted, "induction") == 5


def test_heads_that_are_perfect_have_one_at_any_length():
    words = "abcdabcdabcd"
    far = 60.0
    for name, of in {
        "previous_token": lambda i: i - 1,
        "duplicate_token": lambda i: i - 4,
        "induction": lambda i: i - 3,
        "first_token": lambda i: 0,
    }.items():
        scores = np.zeros((12, 12))
        for i in range(12):
            scores[i, max(of(i), 0)] = far
        found = profile(by_hand(scores, words))
        assert one(found.values, name) == pytest.approx(1, abs=1e-6)
        assert found.found(name) == [(0, 0)]
        others = set(KINDS) - {name}
        assert all(not found.found(other) for other in others)


def test_a_query_is_no_duplicate_of_itself_and_no_induction_to_itself():
    """TransformerLensOrg/TransformerLens: its duplicate-token pattern leaves the query out."""
    itself = by_hand(60 * np.eye(4), "aaaa")
    found = profile(itself)
    for name in ("same_token", "duplicate_token", "induction"):
        assert one(found.values, name) == pytest.approx(0, abs=1e-6)
    assert one(found.counted, "duplicate_token") == 3
    assert one(found.counted, "induction") == 2, "after the first 'a' comes the second, itself"


def test_same_token_looks_both_ways_and_duplicate_token_back_only():
    found = profile(by_hand(np.zeros((3, 3)), "aba", causal=False))
    assert one(found.values, "same_token") == pytest.approx(1 / 3)
    assert one(found.counted, "same_token") == 2
    assert one(found.counted, "duplicate_token") == 1


def test_lengths_go_through_the_output_projection():
    """Kobayashi et al. 2020: the token with nine tenths of the weight adds 2 hundredths."""
    scores = np.broadcast_to(logs([0.9, 0.1]), (2, 2))
    values, w_o = [[0.01, 0], [3, 4]], [[0.0, 2.0, 0.0], [2.0, 0.0, 0.0]]
    head = by_hand(scores, "ab", causal=False, v=values, w_o=w_o)
    found = profile(head)
    length = 2 * np.hypot(0.9 * 0.01 + 0.3, 0.4)
    assert one(found.values, "output_norm") == pytest.approx(length, rel=1e-5)
    assert one(found.even, "output_norm") == pytest.approx(2 * np.hypot(1.505, 2), rel=1e-5)
    assert one(found.ceilings, "output_norm") == pytest.approx(10, rel=1e-5)


def test_lengths_are_right_where_the_projection_leaves_directions_out():
    head = by_hand(np.zeros((1, 1)), "a", v=[[3.0, 4.0]], w_o=[[1.0], [0.0]])
    assert one(profile(head).values, "output_norm") == pytest.approx(3, rel=1e-5)
    nothing = by_hand(np.zeros((1, 1)), "a", v=[[3.0, 4.0]], w_o=[[0.0], [0.0]])
    assert one(profile(nothing).values, "output_norm") == pytest.approx(0, abs=1e-6)


def test_entropy_and_focus_leave_a_sink_out(sinks):
    """Both are of what goes to tokens: a row less its sink, made a distribution again."""
    found = profile(sinks)
    places = list(np.ndindex(found.values["entropy"].shape))
    assert sum(sinks.head(*place).sink.max() > 0.5 for place in places) > 3
    for layer, head in places:
        shown = sinks.head(layer, head)
        entropy, focus = [], []
        for query, row in enumerate(shown.weights.astype(float)):
            seen = row[row > 0] / row.sum()
            entropy.append(-(seen * np.log(seen)).sum())
            keys = shown.allowed[query].sum()
            focus += [1 - entropy[-1] / np.log(keys)] if keys > 1 else []
        assert found.values["entropy"][layer, head] == pytest.approx(np.mean(entropy), abs=1e-5)
        assert found.values["focus"][layer, head] == pytest.approx(np.mean(focus), abs=1e-5)


# Nulls and ceilings


def test_a_ceiling_is_the_share_of_rows_that_can_get_there():
    band = np.tril(np.ones((4, 4)), 0) * np.triu(np.ones((4, 4)), -1)  # a window of two
    found = profile(by_hand(np.zeros((4, 4)), "abcd", mask=band))
    assert one(found.ceilings, "first_token") == pytest.approx(1 / 3)
    assert one(found.ceilings, "previous_token") == 1
    assert one(found.ceilings, "distance") == pytest.approx(3 / 4)
    blocked = np.tril(np.ones((4, 4)))
    blocked[2, 1] = 0
    found = profile(by_hand(np.zeros((4, 4)), "abcd", mask=blocked))
    assert one(found.ceilings, "previous_token") == pytest.approx(2 / 3)


def test_no_head_is_above_its_ceiling(capture):
    found = profile(capture)
    for name in HEAD_MEASURES:
        assert np.all(found.values[name] <= found.ceilings[name] + 1e-5)


@pytest.mark.parametrize("name", HEAD_MEASURES)
def test_the_uniform_head_is_its_own_null(capture, name):
    found = profile(capture)
    for place, kind in PLANTED.items():
        if kind == "uniform":
            assert found.values[name][place] == pytest.approx(found.even[name][place], abs=1e-3)
            assert place not in found.found(name)


def test_tokens_dealt_out_anew_leave_a_habit_of_position():
    """A head that looks back by one has induction to show on "a a", and by habit only."""
    scores = 60 * np.eye(8, k=-1)
    words = "xaabbccd"
    found = profile(by_hand(scores, words, special=(0,)))
    ids = np.array([sorted(set(words)).index(word) for word in words])
    fixed = np.arange(8) == 0
    weights = weigh(np.where(np.tril(np.ones((8, 8))) > 0, scores, -np.inf).astype(np.float32))[0]
    met, total = 0, 0.0
    for seed in range(PERMUTATIONS):
        dealt = permute_tokens(ids, fixed, seed)
        assert dealt[0] == ids[0] and sorted(dealt) == sorted(ids)
        for i in range(8):
            keys = [j for j in range(i) if dealt[j] == dealt[i]]
            met, total = met + bool(keys), total + sum(weights[i, j] for j in keys)
    assert one(found.values, "duplicate_token") == pytest.approx(1, abs=1e-6)
    assert one(found.permuted, "duplicate_token") == pytest.approx(total / met, abs=1e-5)
    assert float(found.null("duplicate_token")[0, 0]) == pytest.approx(
        max(total / met, one(found.even, "duplicate_token")), abs=1e-5
    )


def test_entropy_stands_out_by_falling():
    pointed = by_hand(60 * np.eye(4), "abcd")
    assert profile(pointed).found("entropy") == [(0, 0)]
    assert profile(by_hand(np.zeros((4, 4)), "abcd")).found("entropy") == []


def test_a_row_that_attends_to_nothing_does_not_count():
    """pytorch/pytorch#103749: a row that attends to nothing is no row of zeros to be averaged."""
    scores = logs([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]])
    found = profile(by_hand(scores, "abc", mask=[[1, 0], [0, 0], [1, 1]]))
    assert one(found.counted, "first_token") == 1
    assert one(found.values, "first_token") == pytest.approx(0.9)


def test_rows_of_padding_do_not_count():
    """A padded query of an encoder attends like any other, and is no token of the text."""
    mask = [[1, 1, 0]] * 3
    found = profile(by_hand(np.zeros((3, 3)), "abp", mask=mask, padding=[0, 0, 1]))
    assert one(found.counted, "entropy") == 2
    assert one(found.counted, "first_token") == 1


MASKS = {
    "causal": np.tril(np.ones((7, 7))),
    "window": np.tril(np.ones((7, 7))) * np.triu(np.ones((7, 7)), -2),
    "all": np.ones((7, 7)),
    "gap": np.tril(np.ones((7, 7))) * (np.arange(7) != 1),
    "nothing": np.tril(np.ones((7, 7)), -1),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_even_attention_and_the_longest_value_by_any_mask(mask):
    """Rows of one run of keys take a short way; both ways are the definition."""
    draw = np.random.default_rng(0)
    v, w_o = draw.normal(size=(7, 3)).astype(np.float32), draw.normal(size=(3, 5))
    w_o = w_o.astype(np.float32)
    found = profile(by_hand(draw.normal(size=(7, 7)), "abacaba", mask=mask, v=v, w_o=w_o))
    rows = [row for row in mask > 0 if row.any()]
    even = [np.linalg.norm(v[row].mean(axis=0) @ w_o) for row in rows]
    most = [np.linalg.norm(v[row] @ w_o, axis=1).max() for row in rows]
    assert one(found.counted, "output_norm") == len(rows)
    assert one(found.even, "output_norm") == pytest.approx(np.mean(even), rel=1e-5)
    assert one(found.ceilings, "output_norm") == pytest.approx(np.mean(most), rel=1e-5)


def test_what_is_known_of_one_text_of_a_model_serves_the_next(planted, capture):
    lengths = {}
    first = profile(capture, lengths=lengths)
    assert set(lengths) == {("decoder", 0), ("decoder", 1)}
    again = profile(capture, lengths=lengths)
    for name in HEAD_MEASURES:
        np.testing.assert_array_equal(first.values[name], again.values[name])
    lengths = {place: 2 * through for place, through in lengths.items()}
    doubled = profile(capture, lengths=lengths).values["output_norm"]
    np.testing.assert_allclose(doubled, 2 * first.values["output_norm"], rtol=1e-6)


# Planted heads


@pytest.mark.parametrize("measure", KINDS)
def test_each_planted_head_is_found_and_no_other(planted, measure):
    found = profile(repeated(planted))
    place = next(place for place, kind in PLANTED.items() if kind == KINDS[measure])
    assert found.found(measure) == [place]
    assert found.values[measure][place] > 0.99


def test_uniform_heads_are_those_with_the_entropy_of_even_attention(planted):
    found = profile(repeated(planted))
    share = found.values["entropy"] / found.ceilings["entropy"]
    uniform = {place for place, kind in PLANTED.items() if kind == "uniform"}
    assert {(int(la), int(h)) for la, h in np.argwhere(share > 0.99)} == uniform


def test_the_sink_head_has_a_large_weight_on_the_first_token_and_adds_little(planted):
    found = profile(repeated(planted))
    assert found.values["output_norm"][1, 1] < 0.05 * found.even["output_norm"][1, 1]


# All heads at once


def models():
    hot = {
        "grouped heads": tiny.hf("LlamaForCausalLM", num_key_value_heads=2),
        "one key/value head": tiny.hf("LlamaForCausalLM", num_key_value_heads=1),
        "an encoder": tiny.hf("BertModel"),
        "position bias, three stacks": tiny.hf("T5ForConditionalGeneration"),
        "softmax watched, windows": tiny.hf("GPTNeoForCausalLM"),
        "learned sinks": tiny.hf(
            "GptOssForCausalLM", head_dim=8, num_key_value_heads=2, num_local_experts=4
        ),
        "a soft cap": tiny.hf("Gemma2ForCausalLM", head_dim=8, num_key_value_heads=2),
    }
    return [pytest.param(hf, id=name) for name, hf in hot.items()]


@pytest.mark.parametrize("hf", models())
def test_all_heads_at_once_are_the_heads_one_by_one(hf, monkeypatch):
    model = attnviz.wrap(hf)
    more = {"decoder_input_ids": tiny.ids(6)[0]} if model.info.kind == "encoder-decoder" else {}
    capture = attnviz.capture(model, input_ids=tiny.ids(12)[0], **more)
    monkeypatch.setattr(row_chunks, "CELLS", 4 * 12 * 5)  # five rows at a time
    for block in capture.blocks:
        heads = BlockRows(block)
        for rows in row_chunks.split_rows(block.queries, block.heads, block.keys):
            piece = heads.chunk(list(range(block.queries))[rows])
            end = piece.weights.shape[-1]
            for number in range(block.heads):
                head = block.head(number)
                np.testing.assert_allclose(
                    piece.weights[number], head.weights[rows, :end], atol=1e-6
                )
                np.testing.assert_allclose(piece.output[number], head.output[rows], atol=1e-5)
                assert not head.weights[rows, end:].any()
        for number in range(block.heads if heads.projects else 0):
            head = block.head(number)
            lengths = np.linalg.norm(head.v @ head.w_o, axis=1)
            np.testing.assert_allclose(heads.value_norms[number], lengths, rtol=1e-4, atol=1e-6)
    for stack in capture.stacks:
        whole = profile(capture, stack)
        monkeypatch.setattr(row_chunks, "CELLS", 2**20)
        for name, grid in profile(capture, stack).values.items():
            np.testing.assert_allclose(grid, whole.values[name], atol=1e-5)


def test_a_padded_text_and_a_what_if_come_out_the_same():
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    padded = attnviz.capture(
        model, input_ids=[1, 1, 1, 5, 6, 7, 8, 9], attention_mask=[0, 0, 0, 1, 1, 1, 1, 1]
    )
    plain = attnviz.capture(model, input_ids=[5, 6, 7, 8, 9, 5, 6])
    changes = [Permute(1, 2), Ablate(1, 3, how="mean"), HideKeys(1, 0, keys=(2,))]
    changed = attnviz.run(model, interventions=changes, baseline=plain).capture
    for capture in (padded, changed):
        for block in capture.blocks:
            piece = BlockRows(block).chunk([4, 6])
            for number in range(block.heads):
                head = block.head(number)
                end = piece.weights.shape[-1]
                np.testing.assert_allclose(
                    piece.weights[number], head.weights[[4, 6], :end], atol=1e-6
                )
                np.testing.assert_allclose(piece.output[number], head.output[[4, 6]], atol=1e-5)


def test_of_a_what_if_only_the_rows_that_are_asked_for_are_weighed(monkeypatch):
    """All weights of eight thousand tokens are a quarter of a gigabyte a head."""
    model = attnviz.wrap(tiny.hf("LlamaForCausalLM", num_key_value_heads=2))
    plain = attnviz.capture(model, input_ids=tiny.ids(40)[0])
    changed = attnviz.run(model, interventions=[HideKeys(1, 0, keys=(2,))], baseline=plain)
    (block,) = (one for one in changed.capture.blocks if one.interventions)
    weighed = []

    def watch(scores, *args, **options):
        weighed.append(len(scores))
        return weigh(scores, *args, **options)

    monkeypatch.setattr(head_module, "weigh", watch)
    piece = BlockRows(block).chunk([4, 5, 30])
    assert weighed == [2, 1] * block.heads
    monkeypatch.undo()
    for number in range(block.heads):
        head = block.head(number)
        end = piece.weights.shape[-1]
        np.testing.assert_allclose(piece.weights[number], head.weights[[4, 5, 30], :end], atol=1e-6)
        np.testing.assert_allclose(
            piece.output[number], head.output[[4, 5, 30]], rtol=1e-6, atol=1e-6
        )


def brute(capture, measure, layer, head):
    """The same measures row by row, written the long way round."""
    shown = capture.head(layer, head)
    ids = [token.id for token in capture.key_tokens()]
    values = []
    for i, row in enumerate(shown.weights):
        entropy = -sum(w * np.log(w) for w in row if w > 0)
        earlier = [j for j in range(i) if ids[j] == ids[i]]
        after = [j + 1 for j in earlier if j + 1 < i]
        values += {
            "focus": [1 - entropy / np.log(i + 1)] if i else [],
            "first_token": [row[0]] if i else [],
            "previous_token": [row[i - 1]] if i else [],
            "same_token": [sum(row[j] for j in earlier)] if earlier else [],
            "duplicate_token": [sum(row[j] for j in earlier)] if earlier else [],
            "induction": [sum(row[j] for j in after)] if after else [],
            "entropy": [entropy],
            "distance": [sum(w * (i - j) for j, w in enumerate(row))],
            "output_norm": [np.linalg.norm(shown.output[i] @ shown.w_o)],
        }[measure]
    return np.mean(values)


@pytest.mark.parametrize("measure", HEAD_MEASURES)
def test_each_measure_is_its_definition(capture, measure):
    grid = head_grid(capture, measure)
    for layer, head in np.ndindex(grid.shape):
        assert grid[layer, head] == pytest.approx(brute(capture, measure, layer, head), abs=1e-4)


def test_measures_of_pairs_of_one_text_do_not_apply_across_two():
    model = attnviz.wrap(tiny.hf("T5ForConditionalGeneration"))
    ids = tiny.ids(7)[0]
    capture = attnviz.capture(model, input_ids=ids[:5], decoder_input_ids=ids)
    found = profile(capture, "cross")
    for name, measure in HEAD_MEASURES.items():
        assert np.isnan(found.values[name]).all() == measure.square


def test_the_rows_looked_at_are_spread_over_the_text():
    scores = np.zeros((101, 101))
    scores[:50, 0], scores[50:, 0] = 60, -60  # on the first token, then never
    head = by_hand(scores, [str(n) for n in range(101)])
    assert head_grid(head, "first_token", rows=21)[0, 0] == pytest.approx(9 / 20, abs=1e-5)


def test_a_measure_of_any_kind_is_one_entry(sinks, monkeypatch):
    """One of a row's weights, whose baselines all layers with one mask share; and one of what a
    row adds, whose baselines are each layer's own."""
    about = ("Title", "Definition.", "unit", "Ceiling.", "Null.", "several")
    largest = RowNumbers(
        values=lambda rows: rows.chunk.weights.max(axis=-1),
        even=lambda base, heads: base.weights.max(axis=-1),
        ceiling=lambda base, heads: 1.0,
    )
    added = RowNumbers(
        values=lambda rows: (
            rows.base.largest(rows.heads.value_norms) - rows.heads.norms(rows.output)
        ),
        even=lambda base, heads: base.largest(heads.value_norms) / 2,
        ceiling=lambda base, heads: base.largest(heads.value_norms),
        by_layer=True,
    )
    monkeypatch.setitem(HEAD_MEASURES, "largest", HeadMeasure(*about, numbers=largest))
    monkeypatch.setitem(HEAD_MEASURES, "added", HeadMeasure(*about, numbers=added, high=None))
    monkeypatch.setattr(row_chunks, "CELLS", 4 * 12 * 5)  # five rows at a time
    found = profile(sinks, measures=["largest", "added", "entropy"])
    assert list(found.values) == ["entropy", "largest", "added"]
    for place in np.ndindex(found.values["largest"].shape):
        shown = sinks.head(*place)
        rows = shown.allowed.sum(axis=1) > 1
        keys = shown.allowed.sum(axis=1)[rows]
        lengths = np.linalg.norm(shown.v @ shown.w_o, axis=1)
        longest = np.where(shown.allowed, lengths, 0).max(axis=1)[rows]
        own = np.linalg.norm(shown.output @ shown.w_o, axis=1)[rows]
        expected = {
            "largest": (shown.weights.max(axis=1)[rows], 1 / keys, np.ones(len(keys))),
            "added": (longest - own, longest / 2, longest),
        }
        for name, numbers in expected.items():
            grids = (found.values, found.even, found.ceilings)
            for grid, number in zip(grids, numbers, strict=True):
                assert grid[name][place] == pytest.approx(number.mean(), rel=1e-4)
            assert found.counted[name][place] == rows.sum()
    assert not np.isnan(found.rise("largest")).any()


def test_progress_ends_at_its_total_and_some_measures_are_fewer(capture):
    told = []
    found = profile(
        capture, measures=["focus"], progress=lambda done, total: told.append((done, total))
    )
    assert list(found.values) == ["focus"] and told == [(1, 2), (2, 2)]


def test_an_unknown_measure_is_refused_by_name(capture):
    with pytest.raises(attnviz.BadInput, match="focus"):
        head_grid(capture, "brilliance")


def test_the_table_has_a_row_a_head(capture):
    table = profile(capture).table()
    assert list(table.columns) == ["layer", "head", *HEAD_MEASURES]
    assert table[["layer", "head"]].to_numpy().tolist() == [list(place) for place in PLANTED]


# Small maps


@pytest.mark.parametrize("rows", [1, 3, 4, 9])
def test_a_pixel_is_the_largest_of_its_block_however_rows_are_taken(sinks, monkeypatch, rows):
    """12 tokens in blocks of 4: a block's rows come in several pieces, whole, or beside others."""
    monkeypatch.setattr(row_chunks, "CELLS", 4 * 12 * rows)
    maps = thumbnails(sinks, pixels=3)
    assert maps.block == 4 and maps.cells.shape == (3, 4, 3, 3)
    for layer, head, y, x in np.ndindex(maps.cells.shape):
        shown = sinks.head(layer, head)
        block = np.s_[4 * y : 4 * y + 4, 4 * x : 4 * x + 4]
        seen = shown.weights[block][shown.allowed[block]]
        expected = seen.max() if seen.size else np.nan
        assert maps.cells[layer, head, y, x] == pytest.approx(expected, abs=1e-3, nan_ok=True)


# Repeated random tokens


def test_repeated_tokens_are_ordinary_and_the_same_every_time(planted, bpe, wordpiece):
    capture = repeated(planted)
    ids = [token.id for token in capture.query_tokens()]
    assert ids[0] == planted.tokenizer.bos_token_id, "what the tokenizer puts there"
    body = ids[1:]
    assert body == body[:25] * 4 and len(set(body)) == 25
    assert all(token.text.strip().isalpha() for token in capture.query_tokens()[1:])
    assert [t.id for t in repeated(planted).query_tokens()] == ids
    assert [t.id for t in repeated(planted, seed=1).query_tokens()] != ids


def test_repeated_tokens_of_an_encoder_stand_between_its_marks(wordpiece):
    model = attnviz.wrap(tiny.hf("BertModel", vocab_size=len(wordpiece)), wordpiece)
    tokens = repeated(model, tokens=3, repeats=2).query_tokens()
    assert tokens[0].special and tokens[-1].special and len(tokens) == 8
    assert [t.id for t in tokens[1:4]] == [t.id for t in tokens[4:7]]


def test_a_model_of_few_positions_gets_fewer_tokens_or_none():
    model = attnviz.wrap(tiny.hf("GPT2LMHeadModel", n_positions=16))
    assert len(repeated(model).query_tokens()) == 12
    with pytest.raises(attnviz.BadInput, match="16 positions"):
        repeated(model, repeats=9)


def test_both_sides_of_a_model_with_two_read_the_same():
    model = attnviz.wrap(tiny.hf("T5ForConditionalGeneration"))
    capture = repeated(model, tokens=4, repeats=2)
    encoder, decoder = ([t.id for t in capture.query_tokens(s)] for s in ("encoder", "decoder"))
    assert decoder == [0, *encoder] and encoder[:4] == encoder[4:]


# Effect


def test_the_effect_of_a_head_is_that_of_its_ablation(planted, capture):
    told = []
    found = effect(planted, capture, progress=lambda done, total: told.append((done, total)))
    last = len(capture.query_tokens()) - 1
    for layer, head in PLANTED:
        gone = Ablate(layer, head, "decoder", queries=(last,))
        run = attnviz.run(planted, interventions=[gone], baseline=capture)
        assert found[layer, head] == pytest.approx(run.kl, abs=1e-5)
    assert found.argmax() == 3, "the induction head, which makes the prediction"
    assert told[-1] == (6, 6)


def test_a_model_without_logits_is_measured_by_its_states():
    model = attnviz.wrap(tiny.hf("BertModel"))
    capture = attnviz.capture(model, input_ids=tiny.ids(6)[0])
    found = effect(model, capture, query=2, layers=[1])
    gone = Ablate(1, 3, "encoder", queries=(2,))
    run = attnviz.run(model, interventions=[gone], baseline=capture)
    assert found[1, 3] == pytest.approx(run.state_change[2], abs=1e-5)
    assert np.isnan(found[0]).all() and not np.isnan(found[1]).any()


def test_a_masked_model_without_a_mask_in_the_text_says_so():
    model = attnviz.wrap(tiny.hf("BertForMaskedLM"))
    with pytest.raises(attnviz.BadInput, match="nothing|no output"):
        effect(model, attnviz.capture(model, input_ids=tiny.ids(6)[0]))


def test_the_effect_is_measured_where_a_masked_model_fills_the_mask(wordpiece):
    model = attnviz.wrap(tiny.hf("BertForMaskedLM", vocab_size=len(wordpiece)), wordpiece)
    mask = wordpiece.mask_token_id
    capture = attnviz.capture(model, input_ids=[[2, 7, mask, 8, 9, 3]])
    found = effect(model, capture, layers=[1])
    gone = Ablate(1, 2, "encoder", queries=(2,))
    run = attnviz.run(model, interventions=[gone], baseline=capture)
    assert found[1, 2] == pytest.approx(run.kl, abs=1e-5) and run.kl > 0
