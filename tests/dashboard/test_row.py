"""The row as a table, and the words beside it, for heads made by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from attnviz.heads.head import Head
from attnviz.heads.row_frame import frame_contributions as table
from attnviz.tokens import Token
from dashboard.explore import heading
from dashboard.explore.words import describe_sum
from dashboard.session.selection import Selection
from dashboard.widgets import text_place


def tokens(count):
    names = ["the", "␣cat", "␣<b>", "␣$x$"]
    return tuple(Token(i, names[i], names[i], i, None, None, False) for i in range(count))


def head(**options):
    options = {
        "scaling": 1.0,
        "allowed": np.tril(np.ones((3, 3), bool)),
        "w_o": [[1.0, 0.0], [0.0, 2.0]],
        "query_tokens": tokens(3),
        "key_tokens": tokens(3),
    } | options
    return Head(
        q=[[0.0], [1.0], [2.0]], k=[[1.0], [0.0], [1.0]], v=[[1, 0], [0, 1], [2, 2]], **options
    )


def test_a_masked_key_says_so_and_has_no_number():
    frame = table(head(), 1)
    assert frame["Mask"].tolist()[:2] == ["", ""]
    assert frame["Mask"][2].startswith("masked: ")
    assert frame["Score"].tolist()[:2] == [1.0, 0.0]
    assert frame.loc[2].drop(["Position", "Token", "Mask"]).isna().all()
    assert frame["Weight"][:2].sum() == pytest.approx(1)
    assert frame["Norm through W_O"][1] == pytest.approx(2 * frame["Weight"][1])


def test_a_row_that_sees_everything_has_no_mask_column():
    assert "Mask" not in table(head(), 2)
    assert table(head(), 2)["Token"].tolist() == ["the", "␣cat", "␣<b>"]


def test_a_sink_has_a_row_of_its_own_and_the_weights_add_up_with_it():
    frame = table(head(sink_logit=1.0), 2)
    assert frame["Token"].iloc[-1] == "(sink: no token)"
    assert frame["Weight"].sum() == pytest.approx(1)
    assert frame["Weight"].iloc[-1] == pytest.approx(np.e / (2 * np.e**2 + 1 + np.e))


def test_columns_out_of_reach_are_left_out():
    frame = table(head(w_o=None), 2)
    assert "Norm through W_O" not in frame and "Signed share" not in frame
    assert "Weight x value norm" in frame


def test_the_check_is_a_number_where_there_is_one():
    assert float(describe_sum(head()).rsplit(" ", 1)[1].rstrip(".")) < 1e-6
    assert "out of reach" in describe_sum(head(w_o=None))


def test_the_facts_of_a_head_name_its_key_value_head_cap_and_window():
    block = SimpleNamespace(scaling=0.125, heads=8, kv_heads=2, softcap=50.0, window=4)
    capture = SimpleNamespace(
        block=lambda layer, stack: block,
        query_tokens=lambda stack: tokens(3),
        key_tokens=lambda stack: tokens(4),
        receipt=SimpleNamespace(dtype="bfloat16", attention="eager"),
    )
    facts = text_place.list_facts(Selection(layer=0, head=5, stack="cross"), capture)
    for part in ("3 x 4 tokens", "bfloat16", "scale 0.125", "reads number 1", "capped at 50"):
        assert part in facts
    assert "window of 4 tokens" in facts and "eager attention" in facts


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("smollm2-135m", "SmolLM2 135M"),
        ("owner/a__b__c", r"a\_\_b\_\_c"),
        ("/data/*my* $model$/", r"\*my\* \$model\$"),
        ("owner/:red[x]", r"\:red\[x\]"),
    ],
)
def test_a_models_name_in_a_heading_is_no_markup(name, shown):
    """streamlit/streamlit#8726, #8099: names lose their underscores in Markdown."""
    assert heading._name(name) == shown
