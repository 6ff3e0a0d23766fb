"""A view in a file: every number comes back, and can be made again."""

import contextlib
import hashlib
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import attnviz
from attnviz import export
from attnviz.errors import BadInput, ModelRefused
from attnviz.export import provenance, still_pictures, webpage
from attnviz.export.digests import hash_array
from attnviz.export.one_head_view import bare_view
from attnviz.heads.head import Head
from attnviz.interventions import Ablate, AddToScore, HideKeys, SetWeights, Temper
from tests import tiny
from tests.export.numbers_in_files import read_numbers

DATA = ("npz", "csv", "parquet", "json", "html")
IDS = [5, 6, 7, 8, 6, 9]


def wrapped(name="GPT2LMHeadModel", **options):
    return attnviz.wrap(tiny.hf(name, **options), name="tiny")


@pytest.fixture(scope="module")
def gpt2():
    return wrapped()


def reopened(view, kind, folder):
    """What attnviz reads of a file of a view, and its numbers: all of the view's, in every bit."""
    path = view.save(folder / f"view.{kind}")
    arrays = read_numbers(path.read_bytes(), kind)
    assert arrays and set(arrays) == set(view.arrays)
    for name, array in view.arrays.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array, equal_nan=array.dtype.kind == "f"), name
    return export.read(path), arrays


@pytest.mark.parametrize("kind", DATA)
def test_every_number_comes_back_in_every_bit(kind, gpt2, tmp_path):
    view = export.head_view(attnviz.capture(gpt2, input_ids=IDS), layer=1, head=2, stage="dot")
    saved, arrays = reopened(view, kind, tmp_path)
    scores, head = arrays["scores"], attnviz.capture(gpt2, input_ids=IDS).head(1, 2)
    assert np.isneginf(scores[0, 1:]).all() and np.isfinite(arrays["stage"]).all()
    assert np.array_equal(arrays["weights"], head.weights)
    assert arrays["mask_reason"][0].tolist() == [0, 1, 1, 1, 1, 1]
    again = saved.again(gpt2)
    assert again.identical and again.same and again.words.startswith("The same in every bit")


@pytest.mark.parametrize("kind", DATA)
def test_a_cross_view_keeps_its_two_sides_apart(kind, tmp_path):
    model = wrapped("BartForConditionalGeneration")
    capture = attnviz.capture(model, input_ids=IDS, decoder_input_ids=[2, 5, 6])
    view = export.head_view(capture, layer=2, head=1, stack="cross")
    saved, arrays = reopened(view, kind, tmp_path)
    assert arrays["weights"].shape == (3, 6)
    assert saved.provenance["axis_order"] == ["query", "key"]
    assert saved.provenance["place"]["stack"] == "cross"
    assert saved.again(model).identical


WHATIFS = [
    HideKeys(1, 2, keys=(1,), queries=None),
    Temper(0, temperature=2.5),
    AddToScore(1, 2, query=4, key=2, amount=-1.25),
    SetWeights(1, 2, query=2, weights=np.array([0.25, 0, 0.75, 0, 0, 0], np.float32)),
    Ablate(0, 1, how="mean", queries=[2, 3]),
]


@pytest.mark.parametrize("kind", DATA)
def test_what_ifs_are_in_the_file_and_are_done_again(kind, gpt2, tmp_path):
    run = attnviz.run(gpt2, input_ids=IDS, interventions=WHATIFS)
    view = export.head_view(run, layer=1, head=2)
    saved, arrays = reopened(view, kind, tmp_path)
    kinds = [change["kind"] for change in saved.provenance["interventions"]]
    assert kinds == ["HideKeys", "Temper", "AddToScore", "SetWeights", "Ablate"]
    before = attnviz.capture(gpt2, input_ids=IDS).head(1, 2)
    assert np.array_equal(arrays["baseline_weights"], before.weights)
    assert not np.array_equal(arrays["weights"], before.weights)
    assert set(arrays["mask_reason"][2:, 1].tolist()) == {4}
    assert saved.again(gpt2).identical


def test_another_result_is_noticed(gpt2):
    view = export.head_view(attnviz.capture(gpt2, input_ids=IDS), layer=1, head=2)
    saved = export.from_bytes(view.data("npz"), "npz")
    near, far = saved.arrays["weights"].copy(), saved.arrays["weights"].copy()
    near[3, 0] += 1e-6
    far[3, 0] += 1e-2
    for changed, same in ((near, True), (far, False)):
        again = export.Saved({**saved.arrays, "weights": changed}, saved.provenance).again(gpt2)
        assert again.same is same and not again.identical
        assert "in weights" in again.words
    hidden = saved.arrays["scores"].copy()
    hidden[3, 0] = -np.inf
    again = export.Saved({"scores": hidden}, saved.provenance).again(gpt2)
    assert not again.same and again.differences["scores"] == float("inf")


def test_another_result_is_noticed_by_its_digest(gpt2):
    """Of a CSV the digests are compared: they say whether, and not how far apart."""
    view = export.head_view(attnviz.capture(gpt2, input_ids=IDS), layer=1, head=2)
    about = view.provenance["arrays"]["weights"]
    assert about["sha256"] == hash_array(view.arrays["weights"]) and about["largest"] == 1.0
    saved = export.from_bytes(view.data("csv"), "csv")
    for changes, least in (
        ({"sha256": "0" * 64}, 0.0),
        ({"sha256": "0" * 64, "largest": 0.8}, 0.25),
        ({"sha256": "0" * 64, "largest": None}, float("inf")),
    ):
        saved.provenance["arrays"]["weights"] = about | changes
        again = saved.again(gpt2)
        assert again.digests["weights"] is False and again.digests["scores"] is True
        assert again.differences["weights"] == pytest.approx(least)
        assert not again.same and not again.identical
        assert again.words.startswith("Not the same in every bit: weights. Their largest")
        assert "an NPZ of the view would tell" in again.words


def test_the_digest_is_of_type_shape_and_numbers():
    array = np.array([[0.5, -2.0], [np.nan, 0.0]], np.float32)
    known = hashlib.sha256(b"<f4 (2, 2) " + array.tobytes()).hexdigest()
    assert hash_array(array) == hash_array(np.asfortranarray(array)) == known
    assert hash_array(array.astype(">f4")) == known
    changed = (
        array[:1],
        array.ravel(),
        array.astype(np.float64),
        array.T,
        array * [[1, 1], [1, -1]],
    )
    assert known not in map(hash_array, changed)


@pytest.mark.parametrize("kind", list(export.KINDS))
def test_a_file_without_digests_still_opens(kind, gpt2):
    """Files of before have none: their arrays are compared where they are read."""
    view = export.head_view(attnviz.capture(gpt2, input_ids=IDS), layer=1, head=2)
    for about in view.provenance["arrays"].values():
        del about["sha256"], about["largest"]
    again = export.from_bytes(view.data(kind), kind).again(gpt2)
    assert again.digests == {}
    if kind in ("npz", "html"):
        assert again.identical and again.words.startswith("The same in every bit, all")
    else:
        assert again.differences == {} and "nothing to compare" in again.words
        assert not again.same and not again.identical  # it is not known


def test_other_weights_are_refused_by_name(gpt2):
    view = export.head_view(attnviz.capture(gpt2, input_ids=IDS), layer=1, head=2)
    saved = export.from_bytes(view.data("npz"), "npz")
    saved.provenance["model"]["revision"] = "a" * 40
    with pytest.raises(ModelRefused, match="other weights of tiny.*aaaa.*here is none"):
        saved.again(gpt2)
    assert saved.again(gpt2, other_revision=True).identical
    saved.provenance["model"] |= {"revision": "", "dtype": "float16"}
    with pytest.raises(ModelRefused, match="in float16, this one is GPT2LMHeadModel in float32"):
        saved.again(gpt2)


def test_other_versions_are_told(gpt2):
    view = export.head_view(attnviz.capture(gpt2, input_ids=IDS), layer=1, head=2)
    saved = export.from_bytes(view.data("npz"), "npz")
    assert saved.again(gpt2).notes == ()
    saved.provenance["versions"]["torch"] = "1.0"
    (note,) = saved.again(gpt2).notes
    assert note.startswith("torch: 1.0 then, 2.")


def test_an_object_that_no_name_loads_is_asked_for(gpt2):
    view = export.head_view(attnviz.capture(gpt2, input_ids=IDS), layer=1, head=2)
    with pytest.raises(BadInput, match="No name loads it"):
        export.from_bytes(view.data("npz"), "npz").again()


def test_a_text_with_other_tokens_is_refused(bpe, wordpiece):
    hf = tiny.hf("GPT2LMHeadModel", vocab_size=len(bpe))
    one = attnviz.wrap(hf, bpe, name="tiny")
    view = export.head_view(attnviz.capture(one, "The cat sat"), layer=1, head=2)
    saved = export.from_bytes(view.data("npz"), "npz")
    assert saved.again(one).identical
    with pytest.raises(BadInput, match="other tokens than it had"):
        saved.again(attnviz.wrap(hf, wordpiece, name="tiny"))


def test_options_of_the_tokenizer_travel(bpe):
    """TransformerLensOrg/TransformerLens#1418: what was or was not added to a text shows."""
    model = attnviz.wrap(tiny.hf("GPT2LMHeadModel", vocab_size=len(bpe)), bpe, name="tiny")
    text = "x<|endoftext|>y"
    capture = attnviz.capture(model, text, add_special_tokens=False, split_special_tokens=True)
    view = export.head_view(capture, layer=0, head=0)
    asked = view.provenance["input"]["asked"]
    assert asked == {"text": text, "add_special_tokens": False, "split_special_tokens": True}
    saved = export.from_bytes(view.data("csv"), "csv")
    assert len(saved.provenance["axes"]["key"]["places"]) > 3
    assert saved.again(model).identical


def test_bfloat16_is_float32_in_the_file_and_said(tmp_path):
    """illuin-tech/colpali#3"""
    import torch

    model = attnviz.wrap(tiny.hf("LlamaForCausalLM").to(torch.bfloat16), name="tiny")
    view = export.head_view(attnviz.capture(model, input_ids=list(range(3, 43))), layer=1, head=0)
    saved, arrays = reopened(view, "parquet", tmp_path)
    assert arrays["weights"].dtype == np.float32
    assert saved.provenance["model"]["dtype"] == "bfloat16"
    again = saved.again(model)
    assert again.same and again.tolerance == 5e-3


@pytest.mark.parametrize("kind", ["svg", "png", "py"])
def test_a_picture_or_a_script_leads_back_to_its_numbers(kind, gpt2, tmp_path):
    view = export.head_view(attnviz.capture(gpt2, input_ids=IDS), layer=1, head=2)
    saved = export.read(view.save(tmp_path / f"head.{kind}"))
    assert saved.arrays == {} and saved.provenance == view.provenance
    again = saved.again(gpt2)
    assert np.array_equal(again.view.arrays["weights"], view.arrays["weights"])
    assert again.identical and "by their digests" in again.words


@pytest.mark.parametrize("kind", list(export.KINDS))
def test_provenance_is_in_every_file(kind, gpt2):
    run = attnviz.run(gpt2, input_ids=IDS, interventions=[HideKeys(1, 2, keys=(1,))])
    view = export.head_view(run, layer=1, head=2, stage="scaled", link="https://example.org/?q=1")
    found = export.from_bytes(view.data(kind), kind).provenance
    assert found["model"]["name"] == "tiny" and found["model"]["dtype"] == "float32"
    assert found["model"]["revision"] == ""
    assert found["input"]["input_ids"] == IDS
    assert found["axes"]["key"]["key_id"] == IDS
    assert found["axes"]["key"]["key_label"] == [f"id {i}" for i in IDS]
    assert found["axis_order"] == ["query", "key"]
    assert found["arrays"]["scores"]["axes"] == ["query", "key"]
    place = found["place"]
    assert (place["layer"], place["head"], place["stage"]) == (1, 2, "scaled")
    assert found["interventions"] == [{"kind": "HideKeys", "layer": 1, "head": 2, "keys": [1]}]
    assert {"attnviz", "torch", "transformers", "numpy", "python"} <= set(found["versions"])
    assert found["link"] == "https://example.org/?q=1"


@pytest.mark.parametrize("kind", list(export.KINDS))
def test_a_file_of_somebody_else_is_refused(kind):
    for contents in (b"", b"hello\n", b"\x89PNG\r\n\x1a\n" + bytes(40), b"PK\x03\x04" + bytes(30)):
        with pytest.raises(BadInput, match="holds no view of attnviz"):
            export.from_bytes(contents, kind)


@pytest.mark.parametrize("kind", ["npz", "csv", "parquet", "json", "html"])
def test_half_a_file_is_refused(kind, gpt2):
    view = export.head_view(attnviz.capture(gpt2, input_ids=IDS), layer=1, head=2)
    whole = view.data(kind)
    at = whole.find(b"attnviz-npz") + 100 if kind == "html" else -40
    with pytest.raises(BadInput, match="holds no view"):
        export.from_bytes(whole[:at], kind)


def test_a_file_of_a_later_format_is_refused_by_its_number(gpt2):
    view = export.head_view(attnviz.capture(gpt2, input_ids=IDS), layer=1, head=2)
    later = view.data("json").replace(b'"attnviz 1"', b'"attnviz 2"', 1)
    with pytest.raises(BadInput, match="format 2"):
        export.from_bytes(later, "json")


def test_the_ending_says_the_kind(gpt2, tmp_path):
    view = export.head_view(attnviz.capture(gpt2, input_ids=IDS), layer=1, head=2)
    for name in ("head.xlsx", "head"):
        with pytest.raises(BadInput, match="svg, png, csv"):
            view.save(tmp_path / name)
    with pytest.raises(BadInput, match="cannot be written"):
        view.save(tmp_path / "no" / "head.npz")
    with pytest.raises(BadInput, match="cannot be read"):
        export.read(tmp_path / "no.npz")


def test_the_same_view_gives_the_same_bytes(gpt2):
    first, second = (
        export.head_view(attnviz.capture(gpt2, input_ids=IDS), layer=1, head=2) for _ in range(2)
    )
    for kind in ("npz", "csv", "parquet", "json", "svg", "png"):
        assert first.data(kind) == second.data(kind)


def test_all_heads_come_back(tmp_path):
    model = attnviz.load("planted-circuit")
    view = export.heads_view(attnviz.capture(model, "red fox ran home red fox ran home"))
    assert "layer 1, head 0 has the most, 1 " in view.finding
    for kind in DATA:
        saved, _ = reopened(view, kind, tmp_path)
        assert saved.provenance["axis_order"] == ["layer", "head"]
        assert saved.again().identical


def test_of_a_long_text_the_window_is_kept_and_said():
    model = attnviz.load("planted-circuit")
    capture = attnviz.capture(model, " ".join(["red fox ran home"] * 100))
    view = export.head_view(capture, layer=1, head=0, query=300, near=40)
    assert "rows" in view.title and "of 401" in view.title
    head = capture.head(1, 0)
    rows, keys = view.arrays["query_places"], view.arrays["key_places"]
    assert (len(rows), len(keys)) == (256, 256) and 300 in rows and keys[0] == 0
    assert np.array_equal(view.arrays["weights"], head.weights[np.ix_(rows, keys)])
    assert export.from_bytes(view.data("npz"), "npz").again().identical
    whole = export.head_view(capture, layer=1, head=0, whole=True)
    assert np.array_equal(whole.arrays["scores"], head.scores)
    told = whole.title.split(": scores and weights, ")[1]
    assert told.startswith("rows 0 to 400 and keys 0 to 400 of 401 and 401; the picture shows rows")
    few = export.head_view(capture, layer=1, head=0, places=([0, 7, 300], range(40)))
    assert "rows 0, 7, 300 and keys 0 to 39 of 401 and 401; the picture shows rows" in few.title


def test_more_than_a_file_takes_is_refused(monkeypatch):
    from attnviz.export import one_head_view

    monkeypatch.setattr(one_head_view, "MOST_CELLS", 24)
    model = attnviz.load("planted-circuit")
    with pytest.raises(attnviz.TooLarge, match="5 x 5 cells"):
        export.head_view(attnviz.capture(model, "red fox red fox"), layer=1, head=0)


def test_a_target_that_the_model_wrote_is_given_as_it_was():
    model = wrapped("T5ForConditionalGeneration")
    view = export.head_view(attnviz.capture(model, input_ids=IDS), layer=1, head=2, stack="cross")
    assert "target" not in view.provenance["input"]["asked"]
    assert "decoder_input_ids=[" in view.script
    assert export.from_bytes(view.data("csv"), "csv").again(model).identical


def test_padding_that_is_hidden_stays_hidden():
    model = wrapped("LlamaForCausalLM")
    capture = attnviz.capture(model, input_ids=[1, 1, *IDS], attention_mask=[0, 0, *[1] * 6])
    view = export.head_view(capture, layer=1, head=2)
    data = view.data("parquet")
    saved, arrays = export.from_bytes(data, "parquet"), read_numbers(data, "parquet")
    assert arrays["key_places"].tolist() == [2, 3, 4, 5, 6, 7]
    assert saved.again(model).identical


def test_a_file_that_unpacks_without_end_is_not_unpacked(monkeypatch, gpt2):
    from attnviz.export import array_files

    view = export.head_view(attnviz.capture(gpt2, input_ids=IDS), layer=1, head=2)
    data = view.data("npz")
    monkeypatch.setattr(array_files, "MOST_UNPACKED", 100)
    with pytest.raises(BadInput, match="holds no view"):
        export.from_bytes(data, "npz")


def test_heads_are_counted_where_there_is_attention():
    capture = attnviz.capture(attnviz.load("planted-circuit"), "red fox ran home red fox")
    view = export.heads_view(replace(capture, blocks=capture.blocks[1:]), measures=["induction"])
    assert view.arrays["induction"].shape == (2, 3)  # layer 0 is there, and has no number
    assert ": 3 heads by" in view.title


def damaged(view, kind, change):
    """The bytes of a file whose provenance says something else."""
    view.__dict__["provenance"] = change(json.loads(json.dumps(view.provenance)))
    return view.data(kind)


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made | {"axes": []},
        lambda made: made | {"axis_order": ["query", "nowhere"]},
        lambda made: made | {"arrays": {"weights": made["arrays"]["weights"] | {"dtype": "no"}}},
        lambda made: made | {"arrays": {"weights": made["arrays"]["weights"] | {"axes": ["x"]}}},
        lambda made: made | {"versions": 3},
        lambda made: made | {"interventions": "none"},
        lambda made: made | {"format": "attnviz Infinity"},
        lambda made: made | {"arrays": {"weights": made["arrays"]["weights"] | {"largest": "x"}}},
        lambda made: made | {"arrays": {"weights": made["arrays"]["weights"] | {"sha256": 3}}},
    ],
)
@pytest.mark.parametrize("kind", ["npz", "csv", "parquet", "json"])
def test_damaged_provenance_is_refused_in_words(kind, change):
    one = Head(q=[[0], [2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0, allowed=[[1, 0], [1, 1]])
    view = bare_view(one)
    export.from_bytes(view.data(kind), kind)
    with pytest.raises(BadInput, match="holds no view"):
        export.from_bytes(damaged(view, kind, change), kind)


def test_no_damaged_npz_raises_anything_else():
    one = Head(q=[[0], [2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    data = bytearray(bare_view(one).data("npz"))
    central = data.rfind(b"PK\x01\x02")
    places = [central + offset for offset in (8, 10)]  # flags: encrypted; the way of packing
    refused = 0
    for at in [*range(0, len(data), 7), *places]:
        broken = data.copy()
        broken[at] ^= 0x41
        try:
            export.from_bytes(bytes(broken), "npz")
        except BadInput:
            refused += 1
    assert refused > 20


def png_with(text):
    """A small PNG whose text is packed well."""
    texts, out = PngInfo(), io.BytesIO()
    texts.add_itxt("attnviz", text, zip=True)
    Image.new("RGB", (1, 1)).save(out, "PNG", pnginfo=texts)
    return out.getvalue()


def test_pictures_are_not_unpacked_without_end(monkeypatch):
    one = Head(q=[[0], [2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0)
    note = provenance.write(bare_view(one).provenance)
    long = note[:-1] + " " * 3 * 2**20 + "}"  # more than Pillow unpacks by itself
    for text in (note, long):
        assert still_pictures.read_png_provenance(png_with(text))["title"] == bare_view(one).title
    endless = png_with(note + " " * (provenance.MOST_READ + 1))
    assert len(endless) < 2**20
    monkeypatch.setattr(provenance, "read", None)
    with pytest.raises(BadInput, match="holds no view"):
        still_pictures.read_png_provenance(endless)


@pytest.mark.parametrize("kind", ["svg", "png", "csv", "json", "parquet", "npz", "html", "py"])
def test_no_more_of_a_note_is_read_than_a_view_has(kind, monkeypatch):
    model = attnviz.load("planted-circuit")
    view = export.head_view(attnviz.capture(model, "red fox"), 1, 0)
    data = view.data(kind)
    assert export.from_bytes(data, kind).provenance["title"] == view.title
    monkeypatch.setattr(provenance, "MOST_READ", 1_000)
    with pytest.raises(BadInput, match="holds no view"):
        export.from_bytes(data, kind)


def test_no_damaged_picture_or_table_raises_anything_else():
    model = attnviz.load("planted-circuit")
    view = export.head_view(attnviz.capture(model, "red fox"), 1, 0)
    for kind in ("png", "parquet", "csv", "json"):
        data = view.data(kind)
        for at in [*range(0, 3_000, 37), *range(len(data) - 6_000, len(data), 13)]:
            broken = bytearray(data)
            broken[at % len(data)] ^= 0xFF
            with contextlib.suppress(BadInput):
                export.from_bytes(bytes(broken), kind)


def test_only_maps_say_that_rows_are_queries():
    words = "Rows are queries"
    one = bare_view(Head(q=[[0], [2]], k=[[1], [0]], v=[[1], [3]], scaling=1.0))
    assert words in "".join(webpage._write_below(one))
    assert words not in "".join(webpage._write_below(export.matrix_view(np.eye(2))))


def test_what_goes_wrong_in_the_run_is_not_blamed_on_the_file(gpt2, monkeypatch):
    """A fault of the model's own was told as a file that holds no view."""
    from attnviz.export import rerun

    saved = export.from_bytes(
        export.head_view(attnviz.capture(gpt2, input_ids=IDS), 1, 2).data("json"), "json"
    )

    def fails(*args):
        raise KeyError("a fault of the run")

    monkeypatch.setattr(rerun, "_run_again", fails)
    with pytest.raises(KeyError, match="a fault of the run"):
        saved.again(gpt2)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("place", "layer"), None),
        (("place", "layer"), "1"),
        (("place", "looks"), []),
        (("place", "rows"), 3),
        (("input", "asked"), "text"),
        (("model", "dtype"), 4),
        (("model",), []),
        (("input",), None),
    ],
)
def test_a_note_with_something_else_in_a_place_is_none_of_ours(gpt2, path, value):
    view = export.head_view(attnviz.capture(gpt2, input_ids=IDS), 1, 2)
    made = json.loads(json.dumps(view.provenance))
    part = made
    for name in path[:-1]:
        part = part[name]
    for damaged in ("another", "missing"):
        if damaged == "another":
            part[path[-1]] = value
        else:
            del part[path[-1]]
        with pytest.raises(BadInput, match="holds no view"):
            export.Saved(dict(view.arrays), made).again(gpt2)
