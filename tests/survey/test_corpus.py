"""Reading a corpus: every kind of source, in order, again and again, problems and all."""

import json

import pandas as pd
import pytest

import attnviz
from attnviz.survey import read_corpus
from attnviz.survey.rule_corpus import probe_texts

ROWS = ["the cat sat", "on the mat", "=1+1, a cell", 'say "hello"\nand go']


def texts(source, **options):
    return [text.text for text in read_corpus(source, **options)]


def test_a_text_file_is_a_text_a_line_and_blank_lines_are_none(tmp_path):
    file = tmp_path / "some.txt"
    file.write_bytes("the cat\r\n\n  \nsat \u2028 down\nlast".encode())
    corpus = read_corpus(file)
    assert [(t.number, t.name, t.text) for t in corpus] == [
        (0, "some.txt:1", "the cat"),
        (1, "some.txt:4", "sat \u2028 down"),
        (2, "some.txt:5", "last"),
    ]
    assert list(corpus) == list(corpus), "a corpus can be gone through again"


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_tables_are_a_text_a_row(tmp_path, suffix):
    file = tmp_path / f"some.{suffix}"
    frame = pd.DataFrame({"id": range(len(ROWS)), "body": ROWS})
    if suffix == "jsonl":
        frame.to_json(file, orient="records", lines=True)
    elif suffix == "csv":
        frame.to_csv(file, index=False)
    else:
        frame.to_parquet(file)
    assert texts(file, column="body") == ROWS


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_missing_column_is_named_beside_those_there_are(tmp_path, suffix):
    file = tmp_path / f"some.{suffix}"
    frame = pd.DataFrame({"body": ROWS})
    frame.to_csv(file, index=False) if suffix == "csv" else frame.to_parquet(file)
    with pytest.raises(attnviz.BadInput, match="no column 'text'.*body"):
        texts(file)


def test_a_line_that_cannot_be_read_keeps_its_number_and_its_reason(tmp_path):
    file = tmp_path / "some.jsonl"
    lines = [json.dumps({"text": "one"}), "{broken", json.dumps({"text": 3}), json.dumps(["text"])]
    file.write_text("\n".join([*lines, json.dumps({"text": "two"})]))
    found = list(read_corpus(file))
    assert [(t.number, t.text) for t in found] == [
        (0, "one"),
        (1, ""),
        (2, ""),
        (3, ""),
        (4, "two"),
    ]
    assert "not JSON" in found[1].problem
    assert all("no text in 'text'" in found[n].problem for n in (2, 3))


def test_a_byte_order_mark_is_no_part_of_a_text(tmp_path):
    for name, line in (("a.txt", "one"), ("b.jsonl", '{"text": "one"}'), ("c.csv", "text\none")):
        (tmp_path / name).write_text(line, encoding="utf-8-sig")
        (text,) = read_corpus(tmp_path / name)
        assert (text.text, text.problem) == ("one", "")


def test_a_number_without_end_and_a_damaged_table_are_said_in_words(tmp_path):
    file = tmp_path / "some.jsonl"
    file.write_text(f'{{"text": "one", "n": {"9" * 5000}}}\n{{"text": "two"}}')
    assert [text.text for text in read_corpus(file)] == ["", "two"]
    hurt = tmp_path / "some.parquet"
    hurt.write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(attnviz.BadInput, match="damaged"):
        list(read_corpus(hurt))


def test_a_folder_is_its_files_in_order_of_their_names_and_a_text_file_in_it_is_one_text(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.txt").write_text("two\nlines")
    (tmp_path / "a.jsonl").write_text('{"text": "row one"}\n{"text": "row two"}')
    (tmp_path / "sub" / "c.md").write_text("deep")
    (tmp_path / "left out.bin").write_bytes(b"\0")
    found = [(text.name, text.text) for text in read_corpus(tmp_path)]
    assert found == [
        ("a.jsonl:1", "row one"),
        ("a.jsonl:2", "row two"),
        ("b.txt", "two\nlines"),
        ("sub/c.md", "deep"),
    ]


def test_lists_of_texts_and_of_names_and_texts():
    assert texts(["one", " ", "two"]) == ["one", "two"]
    (text,) = read_corpus([("first", "one")])
    assert (text.name, text.text) == ("first", "one")


def test_what_is_not_there_or_cannot_be_read_is_refused_without_a_path(tmp_path):
    (tmp_path / "picture.png").write_bytes(b"\0")
    for place, words in (
        (tmp_path / "gone.txt", "There is no corpus 'gone.txt'"),
        (tmp_path / "picture.png", "'picture.png' cannot be read"),
        (tmp_path, "holds no texts"),
    ):
        with pytest.raises(attnviz.BadInput, match=words) as refusal:
            read_corpus(place)
        assert str(tmp_path.parent) not in str(refusal.value)


def test_probe_texts_are_the_same_every_time_and_no_two_alike():
    found = probe_texts(60)
    assert found == probe_texts(60) and len(set(found)) == 60
    assert texts("probes")[:60] == [text for _, text in found]
