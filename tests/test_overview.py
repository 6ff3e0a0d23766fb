"""A head from afar, and some of its rows, against the whole head."""

import numpy as np
import pytest

import attnviz
from attnviz.charts.overview_chart import overview_map
from attnviz.charts.row_profile import row_profile
from attnviz.charts.scene import scene, window_of
from attnviz.heads import head as head_module
from attnviz.heads import overview as module
from attnviz.heads.head import Head
from attnviz.heads.overview import Cell, overview
from tests import tiny


def random_head(queries, keys, *, seed=0, **options):
    draw = np.random.default_rng(seed)
    q, k, v = (draw.normal(size=(n, 6)) for n in (queries, keys, keys))
    return Head(q, k, v, scaling=1.0, **options)


def causal(count):
    return np.tri(count, dtype=bool)


GROUPED = {"num_key_value_heads": 2}
FAMILIES = {
    "LlamaForCausalLM": GROUPED,
    "BertModel": {},
    "MistralForCausalLM": {**GROUPED, "sliding_window": 3},
    "Gemma2ForCausalLM": {**GROUPED, "head_dim": 8, "sliding_window": 3},
    "GptOssForCausalLM": {
        **GROUPED,
        "head_dim": 8,
        "num_local_experts": 2,
        "num_experts_per_tok": 1,
        "sliding_window": 3,
    },
    "T5ForConditionalGeneration": {},
}


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_alone_are_as_in_the_whole_head(family):
    model = attnviz.wrap(tiny.hf(family, **FAMILIES[family]), None)
    ids = {"input_ids": [5, 6, 7, 8, 5, 6, 7, 9]}
    if model.info.kind == "encoder-decoder":
        ids["decoder_input_ids"] = [2, 5, 6, 7]
    capture = attnviz.capture(model, **ids)
    for stack in capture.stacks:
        whole = capture.head(0, 1, stack)
        part = whole.rows(2, 4)
        for name in ("weights", "sink", "attends", "mask_reason", "output", "allowed"):
            np.testing.assert_allclose(
                getattr(part, name), getattr(whole, name)[2:4], atol=1e-6, err_msg=name
            )
        assert part.panel_names and part.query_tokens == whole.query_tokens[2:4]
        row = part.contributions(3)
        np.testing.assert_allclose(row["weight"], whole.weights[3], atol=1e-6)
        assert list(whole.panels) == whole.panel_names


def test_rows_of_rows_and_rows_that_are_not_there():
    head = random_head(9, 9, allowed=causal(9))
    again = head.rows(2, 8).rows(4, 6)
    np.testing.assert_allclose(again.weights, head.weights[4:6], atol=1e-6)
    with pytest.raises(attnviz.BadInput, match="2 to 7"):
        head.rows(2, 8).contributions(1)
    with pytest.raises(attnviz.BadInput, match="0 to 8"):
        head.rows(4, 10)


def test_the_reason_of_a_cell_is_the_whole_heads():
    """Behind a prefix that is read both ways a row sees nothing later; yet a cell it may not see
    is blocked by the model, as in the whole head, and not in a future that the head would see."""
    allowed = causal(8)
    allowed[:3, :3] = True
    head = random_head(8, 8, allowed=allowed)
    part = head.rows(4, 8).rows(5, 7)
    assert not head.causal and not part.causal
    assert (part.mask_reason == head.mask_reason[5:7]).all()


@pytest.mark.parametrize("at", [(0, 1), (3, 5), (299, 300), (255, 256), (256, 299), (2, 299)])
def test_one_cell_that_looks_ahead_is_found_wherever_it_is(at):
    allowed = causal(301)
    assert random_head(301, 301, allowed=allowed).causal
    allowed[at] = True
    assert not random_head(301, 301, allowed=allowed).causal


def test_padding_and_what_ifs_stay_with_their_rows():
    removed = np.zeros((6, 6), bool)
    removed[4, 1] = True
    padding = np.array([1, 0, 0, 0, 0, 1], bool)
    allowed = ~removed & ~padding[None, :]
    head = random_head(6, 6, allowed=allowed, padding=padding, removed=removed)
    part = head.rows(3, 6)
    assert (part.mask_reason == head.mask_reason[3:6]).all()
    assert part.mask_reason[1, 1] == attnviz.MASK_REASONS.index("removed by you")


@pytest.mark.parametrize("count", [5, 64, 68, 129, 300])
@pytest.mark.parametrize("masked", [True, False])
def test_each_block_has_the_largest_weight_of_its_cells(count, masked, monkeypatch):
    monkeypatch.setattr(head_module, "CELLS", 4_000)  # several pieces
    head = random_head(count, count, allowed=causal(count) if masked else None)
    view = overview(head, blocks=16)
    blocks = len(range(0, count, view.step))  # the last of them may be a part of a block
    assert view.step == -(-count // 16) and view.weights.shape == (blocks, blocks)
    for q, k in np.ndindex(blocks, blocks):
        rows, keys = (slice(at * view.step, (at + 1) * view.step) for at in (q, k))
        seen = head.weights[rows, keys][head.allowed[rows, keys]]
        expected = seen.max() if seen.size else np.nan
        np.testing.assert_allclose(view.weights[q, k], expected, atol=1e-6)


def test_the_largest_cells_leave_out_the_first_key(monkeypatch):
    monkeypatch.setattr(head_module, "CELLS", 500)
    head = random_head(40, 30)
    found = overview(head).cells
    weights = head.weights.copy()
    weights[:, 0] = 0
    order = np.argsort(-weights, axis=None, kind="stable")[: module.LARGEST]
    best = [tuple(int(i) for i in np.unravel_index(at, weights.shape)) for at in order]
    assert [(cell.query, cell.key) for cell in found] == best
    assert found[0] == Cell(*best[0], pytest.approx(weights[best[0]]))


def test_progress_goes_from_the_first_rows_to_the_last(monkeypatch):
    monkeypatch.setattr(head_module, "CELLS", 500)
    heard = []
    overview(random_head(40, 40), blocks=8, tell=heard.append)
    assert heard == sorted(heard) and len(heard) > 1 and heard[-1] == 1


def test_a_head_of_one_key_has_no_other_cells():
    assert overview(random_head(3, 1)).cells == ()


def test_a_window_of_a_long_text_is_cut_out_of_the_whole():
    head = random_head(400, 400, allowed=causal(400))
    drawn = scene(head, query=390, stage=None, measure="weight", padding="hide", near=50)
    assert (drawn.rows[0], drawn.rows[-1]) == window_of(390, 400) == (144, 399)
    assert (drawn.keys[0], drawn.keys[-1]) == window_of(50, 400) == (0, 255)
    cut = np.ix_(drawn.rows, drawn.keys)
    np.testing.assert_allclose(drawn.weights, head.weights[cut], atol=1e-6)
    assert (drawn.reason == head.mask_reason[cut]).all()
    outside = head.weights[drawn.rows].sum(axis=1) - head.weights[cut].sum(axis=1)
    np.testing.assert_allclose(drawn.outside, outside, atol=1e-5)


def test_drawing_a_window_works_out_its_rows_alone(monkeypatch):
    head = random_head(2_000, 2_000, allowed=causal(2_000))
    scene(head, query=1_500, stage="dot", measure="contribution_norm", padding="hide").parts  # noqa: B018
    assert not {"stages", "panels", "_softmax", "output", "mask_reason"} & set(vars(head))


def test_the_frame_stands_where_the_cells_are_drawn():
    view = overview(random_head(400, 400, allowed=causal(400)))
    spec = overview_map(view, query=390, near=50).to_dict()
    (window,) = [param for param in spec["params"] if param["name"] == "window"]
    assert window["value"] == {"x": [0, 256], "y": [144, 400]}
    x = spec["layer"][1]["encoding"]["x"]
    assert x["scale"]["domain"] == [0, 400] and x["axis"]["title"] == "to (key), position"


def test_the_profile_of_a_row_adds_up():
    row = random_head(900, 900, allowed=causal(900)).rows(700, 701)
    data = row_profile(row).data
    assert len(data) <= 256
    np.testing.assert_allclose(data["together"].sum(), 1, atol=1e-5)
    np.testing.assert_allclose(data["largest"].max(), row.weights.max())


@pytest.mark.parametrize("queries", [1, 3, 19, 20, 45])
def test_few_rows_of_many_keys_have_all_their_large_cells(queries, monkeypatch):
    monkeypatch.setattr(head_module, "CELLS", 25 * 400)
    head = random_head(queries, 400)
    weights = head.weights[:, 1:]
    largest = np.sort(weights, axis=None)[::-1][: module.LARGEST]
    found = [cell.weight for cell in overview(head, blocks=400).cells]
    np.testing.assert_allclose(found, largest, rtol=1e-5)


def test_an_undefined_cell_does_not_hide_its_block():
    head = random_head(40, 40)
    q = head.q.copy()
    q[3] = np.nan
    view = overview(Head(q, head.k, head.v, scaling=1.0), blocks=4)
    assert np.isfinite(view.weights).all() and len(view.cells) == module.LARGEST


def test_rows_in_no_order_are_refused():
    with pytest.raises(attnviz.BadInput, match="no rows from 3 up to 3"):
        random_head(9, 9).rows(3, 3)
