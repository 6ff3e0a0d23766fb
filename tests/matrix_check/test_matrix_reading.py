"""Reading matrices from pasted text and from files, sound and broken."""

import io
import json
import os
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attnviz import AttnvizError, BadInput, TooLarge
from attnviz.matrix_check import ManyMatrices, facts, matrix_file, read_matrix, read_matrix_file

NAN = float("nan")


@pytest.mark.parametrize(
    "text",
    [
        "0.5 0.25\n1 0",
        "0.5,0.25\n1,0\n",
        "0.5, 0.25,\n1, 0,",
        "0.5\t0.25\r\n1\t0\r\n",
        "0.5;0.25\n1;0",
        "0,5;0,25\n1;0",
        "  0.5   0.25\n\n  1   0  \n",
        "a,b\n0.5,0.25\n1,0",
        ",a,b\nx,0.5,0.25\ny,1,0",
        "\ta\tb\nx\t0.5\t0.25\ny\t1\t0",
        "a b\nx 0.5 0.25\ny 1 0",
        ",0,1\n0,0.5,0.25\n1,1,0",
        '"","the","\u00e9"\n"the",0.5,0.25\n"\u00e9",1,0',
        ',"a, b","c"\n"a, b",0.5,0.25\nc,1,0',
        "50% 25%\n100% 0%",
        "[[0.5, 0.25], [1, 0]]",
        '{"layer": 3, "tokens": ["a", "b"], "weights": [[0.5, 0.25], [1, 0]]}',
        "[[0.5  0.25]\n [1.   0.  ]]",
        "array([[0.5 , 0.25],\n       [1.  , 0.  ]], dtype=float32)",
        "tensor([[0.5000, 0.2500],\n        [1.0000, 0.0000]], device='cuda:0')",
        "tensor([[0.5000, 0.2500],\n        [1.0000, 0.0000]], grad_fn=<SoftmaxBackward0>)",
        "\ufeff0.5 0.25\n1 0",
        "5e-1 2.5E-01\n+1 -0",
    ],
)
def test_one_matrix_written_in_many_ways(text: str) -> None:
    expected = [[0.5, 0.25], [1, 0]]
    assert read_matrix(text).matrix.tolist() == expected
    assert read_matrix(text.encode("utf-8")).matrix.tolist() == expected


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("-inf -Infinity inf\n1 2 3", [-np.inf, -np.inf, np.inf]),
        ("nan NaN na\n1 2 3", [NAN, NAN, NAN]),
        ("1,,null\n1,2,3", [1, NAN, NAN]),
        ("[[1, null, -Infinity], [1, 2, 3]]", [1, NAN, -np.inf]),
        ("\u22121.5 2 3\n1 2 3", [-1.5, 2, 3]),
    ],
)
def test_blanks_and_infinities(text: str, row: list[float]) -> None:
    np.testing.assert_array_equal(read_matrix(text).matrix[0], row)


def test_labels_that_were_left_out_are_named() -> None:
    notes = read_matrix(",a,b\nx,0.5,0.25\ny,1,0").notes
    assert notes == [
        "The first row was read as labels.",
        "The first column was read as labels.",
    ]


def test_numbers_in_the_first_row_are_no_labels() -> None:
    assert read_matrix("2 1\n0.5 0.5").matrix.shape == (2, 2)


def test_a_label_of_three_dots_is_a_label() -> None:
    assert read_matrix("a ... c\nx .5 .4 .1\ny .3 .4 .3").matrix.shape == (2, 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no numbers"),
        (" \n\n", "no numbers"),
        ("hello", "not numbers"),
        ("1 2\n3", "different lengths"),
        ("1,2\n3", "different lengths"),
        ("1 2\n3 x4", "'x4', in row 1 and column 1"),
        ("[[0.1, ..., 0.2]]", "cut short with dots"),
        ("0.1 ... 0.2\n0.1 ... 0.2", "cut short with dots"),
        ("[[1, 2], [3]]", "no matrix"),
        ('{"a": "b"}', "no matrix"),
        ("[]", "no matrix"),
        ('[["a", "b"], ["c", "d"]]', "no matrix"),
        ("tensor([[[1., 2.]], [[3., 4.]]])", "more than one matrix"),
        ("1" * 5000 + "x 2\n3 4", "not numbers"),
        ("<table><tr><td>1</td></tr></table>", "not numbers"),
        ("__import__('os').system('true')", "not numbers"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        read_matrix(text)
    assert caught.value.what and caught.value.why and caught.value.todo


def saved(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def npy(array: np.ndarray, **options: bool) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


WEIGHTS = np.float32([[0.5, 0.5], [0.25, 0.75]])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "bool"])
def test_npy_and_npz(dtype: str) -> None:
    array = np.array([[1, 0], [0, 1]], dtype)
    assert read_matrix(npy(array)).matrix.tolist() == [[1, 0], [0, 1]]
    assert read_matrix(saved(anything=array)).matrix.tolist() == [[1, 0], [0, 1]]


def test_one_of_several_arrays_is_asked_for_by_name() -> None:
    data = saved(scores=WEIGHTS * 4, weights=WEIGHTS, length=np.array(3))
    with pytest.raises(ManyMatrices) as caught:
        read_matrix(data)
    assert caught.value.choices == ["scores", "weights"]
    assert read_matrix(data, "weights").matrix.tolist() == WEIGHTS.tolist()


def test_one_of_several_heads_is_asked_for_by_place_and_never_averaged() -> None:
    stack = np.arange(3 * 2 * 2).reshape(3, 2, 2)
    for data in (npy(stack), saved(a=stack), json.dumps(stack.tolist())):
        with pytest.raises(ManyMatrices, match="does not average") as caught:
            read_matrix(data)
        assert caught.value.choices == ["0", "1", "2"]
        assert read_matrix(data, "2").matrix.tolist() == [[8, 9], [10, 11]]
        with pytest.raises(ManyMatrices):
            read_matrix(data, "3")


def test_layer_and_head_are_chosen_together() -> None:
    four = np.arange(2 * 3 * 2 * 2).reshape(2, 3, 2, 2)
    data = saved(heads=four, other=WEIGHTS)
    with pytest.raises(ManyMatrices) as caught:
        read_matrix(data, "heads")
    assert caught.value.choices[4] == "heads: 1, 1"
    assert read_matrix(data, "heads: 1, 1").matrix.tolist() == [[16, 17], [18, 19]]


def test_a_batch_of_one_is_one_matrix() -> None:
    assert read_matrix(npy(WEIGHTS[None, None])).matrix.shape == (2, 2)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1j, 2]]),
        np.array([["a", "b"]]),
        np.zeros((0, 4)),
        np.zeros(2, [("x", float)]),
        np.array([["2020-01-01"]], "datetime64[D]"),
    ],
)
def test_arrays_of_other_things_are_refused(array: np.ndarray) -> None:
    for data in (npy(array), saved(a=array)):
        with pytest.raises(BadInput):
            read_matrix(data)


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("pickled-code-ran",)


def test_pickles_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pickle

    monkeypatch.chdir(tmp_path)
    held = np.array([[Bomb()]], dtype=object)
    for data in (npy(held, allow_pickle=True), saved(a=held), pickle.dumps(Bomb())):
        with pytest.raises(BadInput):
            read_matrix(data)
    assert not list(tmp_path.iterdir())


def test_a_header_that_promises_more_than_there_is_is_refused() -> None:
    data = npy(np.zeros((2, 2)))
    for shape in (b"(2, 9)", b"(9**9)", b"(99999999, 99999999)"):
        with pytest.raises(BadInput):
            read_matrix(data.replace(b"(2, 2)", shape))


def archive_of(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["a.npy", "a.txt"])
def test_an_archive_that_unpacks_to_too_much_is_refused(name: str) -> None:
    data = archive_of(name, bytes(matrix_file.MAX_BYTES + 1))
    assert len(data) < 2**20
    with pytest.raises(TooLarge):
        read_matrix(data)


def test_an_archive_that_lies_about_its_size_is_not_unpacked() -> None:
    size = matrix_file.MAX_BYTES + 1
    head = npy(np.zeros((2, 2)))[:-32]
    data = archive_of("a.npy", head + bytes(size - len(head)))
    said = data.replace(size.to_bytes(4, "little"), (len(head) + 32).to_bytes(4, "little"))
    assert said != data
    tracemalloc.start()
    with pytest.raises(BadInput):
        read_matrix(said)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_a_damaged_archive_is_refused_by_its_checksum() -> None:
    buffer = io.BytesIO()
    np.savez(buffer, a=WEIGHTS)
    data = buffer.getvalue()
    assert data.count(WEIGHTS.tobytes()) == 1
    with pytest.raises(BadInput, match="damaged"):
        read_matrix(data.replace(WEIGHTS.tobytes(), (WEIGHTS + 1).tobytes()))


def test_what_stands_beside_the_matrix_in_an_archive_is_left_out() -> None:
    data = saved(weights=WEIGHTS, tokens=np.array([["a", "b"]]), layer=np.array(3))
    reading = read_matrix(data)
    assert reading.matrix.tolist() == WEIGHTS.tolist()
    assert reading.notes == ["Read from the part 'weights'."]


def test_labels_in_front_that_look_like_an_archive_are_labels() -> None:
    assert read_matrix(b"PK,b\n0.5,0.25\n1,0").matrix.tolist() == [[0.5, 0.25], [1, 0]]


def test_what_is_over_the_limits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_file, "MAX_TEXT_BYTES", 100)
    with pytest.raises(TooLarge, match="MB"):
        read_matrix("1 " * 100)
    monkeypatch.setattr(facts, "MAX_CELLS", 8)
    for data in (npy(np.zeros((3, 3))), b"1 2 3\n4 5 6\n7 8 x"):  # and no cell is looked at
        with pytest.raises(TooLarge, match="9 cells"):
            read_matrix(data)
    monkeypatch.setattr(matrix_file, "MAX_BYTES", 100)
    with pytest.raises(TooLarge):
        read_matrix(npy(np.zeros((3, 3))))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "w.tsv"
    path.write_text("a\tb\n0.5\t0.5\n", encoding="utf-16")
    assert read_matrix_file(path).matrix.tolist() == [[0.5, 0.5]]
    for bad in (tmp_path, tmp_path / "nothing", "a\0b"):
        with pytest.raises(BadInput, match="cannot be read"):
            read_matrix_file(bad)


def test_a_file_without_end_is_read_up_to_the_limit() -> None:
    with pytest.raises(AttnvizError):
        read_matrix_file("/dev/zero")


# Anything at all: an answer or an AttnvizError, and nothing else


def survives(data: bytes | str, choose: str = "") -> None:
    try:
        found = read_matrix(data, choose)
    except AttnvizError as error:
        assert error.what
    else:
        assert found.matrix.ndim == 2 and found.matrix.dtype == np.float64


NUMBERISH = st.text("0123456789.,;-+eE%[]{}() \t\n\"':infaNn\u2212\u2026", max_size=200)


@given(st.one_of(st.text(max_size=200), NUMBERISH), st.text(max_size=5))
@settings(max_examples=400)
def test_any_text_is_read_or_refused(text: str, choose: str) -> None:
    survives(text, choose)


@given(st.one_of(st.binary(max_size=300), st.binary(max_size=100).map(b"PK\3\4".__add__)))
@settings(max_examples=300)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    survives(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON)
@settings(max_examples=300)
def test_any_json_is_read_or_refused(value: object) -> None:
    survives(json.dumps(value))


DAMAGED = [npy(WEIGHTS), saved(a=WEIGHTS, b=WEIGHTS), npy(np.zeros((2, 3, 4)))]


@given(
    st.sampled_from(DAMAGED),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=6),
    st.integers(0, 500),
)
@settings(max_examples=600)
def test_damaged_arrays_are_read_or_refused(
    data: bytes, changes: list[tuple[int, int]], length: int
) -> None:
    broken = bytearray(data)
    for place, value in changes:
        broken[place % len(broken)] = value
    survives(bytes(broken[: length or None]))


@given(
    hnp.arrays(
        st.sampled_from(["float64", "float32", "float16", "int64", "bool"]),
        hnp.array_shapes(max_dims=3, max_side=6),
    )
)
@settings(max_examples=400)
def test_any_array_gets_a_verdict_or_is_refused(array: np.ndarray) -> None:
    from attnviz.matrix_check import KINDS, check_matrix

    try:
        with warnings.catch_warnings(action="error"):
            verdict = check_matrix(array)
            other = check_matrix(array, array)
    except AttnvizError as error:
        assert error.what
    else:
        assert verdict.kind in KINDS and other.kind in KINDS
        assert verdict.as_text()
