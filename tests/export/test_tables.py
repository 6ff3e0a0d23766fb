"""Tables: what a spreadsheet, a browser and pandas make of a view."""

import csv
import io
import json
import math

import numpy as np
import pandas as pd
import pytest

import attnviz
from attnviz import export
from attnviz.heads.head import Head
from attnviz.tokens import Token
from tests import tiny
from tests.export.numbers_in_files import read_csv, read_numbers

RISKY = "=1+1 +x -5 @SUM(1)"


def tokens(*texts):
    return [Token(i, t, t, i, None, None, special=False) for i, t in enumerate(texts)]


def bare(texts, scores=None):
    """A view of a head of these tokens."""
    from attnviz.export.one_head_view import bare_view

    count = len(texts)
    given = np.arange(count * count, dtype=np.float32).reshape(count, count) - 3.73
    scores = given if scores is None else scores
    allowed = np.tril(np.ones((count, count), bool))
    head = Head(
        None,
        None,
        np.ones((count, 2)),
        given={"watched": scores},
        allowed=allowed,
        query_tokens=tokens(*texts),
        key_tokens=tokens(*texts),
    )
    return bare_view(head)


def table_of(data):
    lines = data.decode("utf-8-sig").split("\n", 4)
    return list(csv.DictReader(io.StringIO(lines[4], newline="")))


FORMULAS = ["=1+1", "+x", "-5", "@SUM(1)", "\ttab", "\rreturn", "\nline", " =2", "＝3", "'tis", "a"]


def test_no_cell_of_text_is_a_formula_and_every_number_stays_one():
    """gregnb/mui-datatables#529, hhurz/tableExport.jquery.plugin#230, brightdata/sdk-python#52"""
    view = bare(FORMULAS)
    data = view.data("csv")
    text = data.decode("utf-8-sig")
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    for cell in cells:
        if cell.lstrip().startswith(("=", "+", "-", "@", "＝")) or cell.startswith(("\t", "\r")):
            float(cell)  # a negative number, and nothing else
    assert "take one off to undo it" in text.splitlines()[2]
    table = table_of(data)
    assert [row["key_token"] for row in table[: len(FORMULAS)]] == [
        "'=1+1", "'+x", "'-5", "'@SUM(1)", "'\ttab", "'\rreturn", "'\nline", "' =2", "'＝3",
        "''tis", "a",
    ]  # fmt: skip
    assert table[0]["scores"] == "-3.73"


def test_the_exact_text_comes_back_from_every_kind():
    view = bare(FORMULAS)
    assert view.kinds == ["svg", "png", "csv", "parquet", "npz", "json", "html"]  # no script
    with pytest.raises(attnviz.BadInput, match="no Python of this view"):
        view.data("py")
    cells = [row["key_token"] for row in table_of(view.data("csv"))[: len(FORMULAS)]]
    assert [cell[1:] if cell.startswith("'") else cell for cell in cells] == FORMULAS
    for kind in view.kinds:
        found = export.from_bytes(view.data(kind), kind).provenance
        assert found["axes"]["key"]["key_token"] == FORMULAS
    import pyarrow.parquet as parquet

    table = parquet.read_table(io.BytesIO(view.data("parquet")))
    assert table.column("key_token").to_pylist()[: len(FORMULAS)] == FORMULAS


def test_the_text_of_the_trial_is_neutral_in_the_file_and_whole_in_the_arrays(bpe):
    model = attnviz.wrap(tiny.hf("GPT2LMHeadModel", vocab_size=len(bpe)), bpe, name="tiny")
    view = export.head_view(attnviz.capture(model, RISKY), layer=1, head=2)
    assert "".join(view.frame["key_token"][: len(view.axes[1].places)]) == RISKY
    negative = [row for row in table_of(view.data("csv")) if row["scores"].startswith("-")]
    assert negative and all(float(row["scores"]) < 0 for row in negative)


def test_pandas_reads_the_table_as_its_first_line_says(tmp_path):
    view = bare(["the", "NA", "null", "#x", '"', "a,b"])
    path = view.save(tmp_path / "head.csv")
    assert "skiprows=4, keep_default_na=False" in path.read_text("utf-8-sig").splitlines()[0]
    frame = read_csv(path.read_bytes())
    assert frame["key_token"].tolist()[:6] == ["the", "NA", "null", "#x", '"', "a,b"]
    assert frame["mask"].tolist()[:3] == ["", "future", "future"]
    assert frame["scores"].dtype == float and frame["scores"].isna().tolist()[:2] == [False, True]


@pytest.mark.parametrize("kind", ["json", "csv", "parquet", "npz", "html"])
def test_masked_undefined_zero_and_tiny_are_four_things(kind):
    """getsentry/sentry#1979, apify/apify-client-python#87, vega/vega-lite#3481"""
    scores = np.array([[0, 9, 9], [np.nan, 1e-12, 9], [-1, 2, 3]], np.float32)
    view = bare(["a", "b", "c"], scores)
    found = read_numbers(view.data(kind), kind)
    assert np.isneginf(found["scores"][0, 1]) and found["mask_reason"][0, 1] == 1
    assert np.isnan(found["scores"][1, 0]) and found["mask_reason"][1, 0] == 0
    assert found["scores"][0, 0] == 0 and found["scores"][1, 1] == np.float32(1e-12)


def test_json_is_strict():
    """getsentry/sentry#1979: Infinity and NaN are no JSON."""
    scores = np.array([[0, 9], [np.nan, np.inf]], np.float32)

    def refuse(constant):
        raise ValueError(constant)

    whole = json.loads(bare(["a", "b"], scores).data("json"), parse_constant=refuse)
    assert whole["arrays"]["scores"] == [[0, None], ["NaN", "Infinity"]]
    assert whole["arrays"]["mask_reason"] == [[0, 1], [0, 0]]
    assert whole["arrays"]["weights"][0] == [1, 0]


def test_masked_is_empty_in_csv_and_null_in_parquet():
    import pyarrow.parquet as parquet

    scores = np.array([[0, 9], [np.nan, 1]], np.float32)
    view = bare(["a", "b"], scores)
    assert [row["scores"] for row in table_of(view.data("csv"))] == ["0.0", "", "NaN", "1.0"]
    column = parquet.read_table(io.BytesIO(view.data("parquet"))).column("scores")
    assert column.is_null().to_pylist() == [False, True, False, False]
    assert math.isnan(column.to_pylist()[2])


def test_equal_tokens_stay_apart_in_every_table(tmp_path):
    """streamlit/streamlit#10932, d6t/d6tflow#28: two columns of one name are refused."""
    view = bare(["the", "cat", "the", "cat"])
    wide = view.wide("weights")
    assert list(wide.columns) == ["0:the", "1:cat", "2:the", "3:cat"] == list(wide.index)
    assert (wide.index.name, wide.columns.name) == ("query", "key")
    assert wide.to_numpy().tolist() == view.arrays["weights"].tolist()
    wide.to_parquet(tmp_path / "wide.parquet")
    assert list(pd.read_parquet(tmp_path / "wide.parquet").columns) == list(wide.columns)
    wide.to_csv(tmp_path / "wide.csv")
    assert list(pd.read_csv(tmp_path / "wide.csv", index_col=0).columns) == list(wide.columns)
    frame = view.frame
    assert frame.columns.is_unique and len(frame) == 16
    assert frame[["query", "key"]].iloc[6].tolist() == [1, 2]
    with pytest.raises(attnviz.BadInput, match="no matrix 'nothing'"):
        view.wide("nothing")


def test_the_header_says_who_asks_and_who_answers():
    """poloclub/transformer-explainer#19, jessevig/bertviz#5: cell (2, 0) is 2 looking at 0."""
    view = bare(["a", "b", "c", "d"])
    row = next(r for r in table_of(view.data("csv")) if (r["query"], r["key"]) == ("2", "0"))
    assert (row["query_token"], row["key_token"]) == ("c", "a")
    assert float(row["weights"]) == pytest.approx(view.arrays["weights"][2, 0])
    assert view.provenance["axis_order"] == ["query", "key"]


def test_without_pyarrow_parquet_says_what_to_do(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(attnviz.AttnvizError, match="pyarrow.*use CSV or NPZ"):
        bare(["a", "b"]).data("parquet")


def test_a_table_of_a_page_is_a_view_too():
    table = pd.DataFrame({"Key": ["=0 the", "1 the"], "Before": [0.75, 0.25], "N": [1, 2]})
    view = export.table_view(table, lambda: None, title="A row", finding="the most")
    saved = export.from_bytes(view.data("csv"), "csv")
    arrays = read_numbers(view.data("csv"), "csv")
    assert arrays["Before"].tolist() == [0.75, 0.25]
    assert arrays["N"].tolist() == [1, 2]
    assert saved.provenance["axes"]["row"]["Key"] == ["=0 the", "1 the"]
    with pytest.raises(attnviz.BadInput, match="cannot be run again"):
        saved.again()


def test_a_matrix_comes_back_with_its_verdict():
    matrix = np.array([[0.75, 0.25], [np.nan, 1.0]])
    view = export.matrix_view(matrix, verdict="These are weights.")
    for kind in ("csv", "parquet", "npz", "json"):
        saved = export.from_bytes(view.data(kind), kind)
        found = read_numbers(view.data(kind), kind)
        assert np.array_equal(found["matrix"], matrix, equal_nan=True)
        assert saved.provenance["place"]["verdict"] == "These are weights."
    names: dict[str, object] = {}
    exec(view.script.replace("print(", "str("), names)
    assert np.array_equal(names["matrix"], matrix, equal_nan=True)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_truths_large_integers_and_no_rows_come_back(kind):
    table = pd.DataFrame({"Large": [2**53 + 1, -5], "True": [True, False], "Name": ["a", "b"]})
    for rows in (table, table[:0]):
        view = export.table_view(rows, title="t", finding="")
        arrays = read_numbers(view.data(kind), kind)
        for name in ("Large", "True"):
            assert arrays[name].dtype == rows[name].dtype
            assert arrays[name].tolist() == rows[name].tolist()
