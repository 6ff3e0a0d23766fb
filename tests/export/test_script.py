"""The Python that comes with a view makes the view's own numbers."""

import json

import numpy as np
import pytest

import attnviz
from attnviz import export
from attnviz.detectors import profile
from attnviz.errors import BadInput
from attnviz.export import provenance
from attnviz.export.changes import KINDS, as_data, as_python, from_data, from_words
from attnviz.interventions import (
    Ablate,
    AddToScore,
    Flatten,
    HideKeys,
    Permute,
    SetWeights,
    Temper,
    ZeroValue,
)
from attnviz.interventions.kinds import PutOutput
from tests import tiny

TEXT = 'red fox ran """home""" \\ red\nfox \u202e {x} %s'
EVERY_KIND = [
    Ablate(0, 1, how="resample", queries=(2, 3), seed=5),
    AddToScore(1, 0, "decoder", query=4, key=2, amount=-1.25),
    Flatten(1, 0, query=3),
    HideKeys(1, 0, keys=(1,), queries=(3, 4)),
    Permute(1, 0, seed=3),
    SetWeights(1, 0, query=1, weights=(0.1, 0.9)),
    Temper(0, temperature=0.1 + 0.2),
    ZeroValue(0, 2, key=1),
]


def run(script, **names):
    exec(compile(script, "script", "exec"), names)
    return names


@pytest.mark.parametrize("text", ["red fox ran home red fox ran home", TEXT])
def test_the_script_makes_the_same_numbers_and_the_same_picture(text):
    capture = attnviz.capture(attnviz.load("planted-circuit"), text)
    view = export.head_view(
        capture, 1, 0, query=2, stage="dot", measure="weight", score_colour="row", order="size"
    )
    names = run(view.script)
    for name in ("scores", "weights"):
        assert np.array_equal(names[name], view.arrays[name])
    assert names["chart"].to_dict() == view.chart.to_dict()


def test_the_script_has_the_what_ifs():
    model = attnviz.load("planted-circuit")
    text = "red fox ran home red fox ran home"
    whatifs = [HideKeys(1, 0, keys=[1], queries=[5]), Temper(0, temperature=0.1 + 0.2)]
    view = export.head_view(attnviz.run(model, text, interventions=whatifs), 1, 0)
    names = run(view.script)
    assert np.array_equal(names["weights"], view.arrays["weights"])
    assert not np.array_equal(names["weights"], attnviz.capture(model, text).head(1, 0).weights)
    before = names["run"].baseline.head(1, 0)
    assert np.array_equal(before.scores, view.arrays["baseline_scores"])


def test_a_runs_own_capture_keeps_its_what_ifs():
    model = attnviz.load("planted-circuit")
    text = "red fox ran home red fox ran home"
    whatifs = [HideKeys(1, 0, keys=[1], queries=[5]), Temper(temperature=3.0)]
    done = attnviz.run(model, text, interventions=whatifs)
    one = export.head_view(done.capture, 1, 0)
    assert one.provenance["interventions"] == [as_data(change) for change in whatifs]
    assert "with 2 what-ifs" in one.title
    assert np.array_equal(run(one.script)["weights"], done.capture.head(1, 0).weights)
    for of in (done, done.capture):
        every = export.heads_view(of)
        assert len(every.provenance["interventions"]) == 2 and "with 2 what-ifs" in every.title
        names = run(every.script)
        assert np.array_equal(names["values"]["induction"], every.arrays["induction"])
        assert export.from_bytes(every.data("npz"), "npz").again().identical
    plain = export.heads_view(attnviz.capture(model, text))
    assert not np.array_equal(plain.arrays["entropy"], every.arrays["entropy"], equal_nan=True)
    assert "what-if" not in plain.title and "interventions" not in plain.provenance


def test_the_script_cuts_the_same_window():
    capture = attnviz.capture(attnviz.load("planted-circuit"), " ".join(["red fox ran home"] * 100))
    view = export.head_view(capture, 1, 0, query=300, near=40)
    names = run(view.script)
    for name in ("scores", "weights"):
        assert names[name].shape == (256, 256)
        assert np.array_equal(names[name], view.arrays[name])


def test_the_script_of_an_object_asks_for_it():
    hf = tiny.hf("BartForConditionalGeneration")
    capture = attnviz.capture(
        attnviz.wrap(hf, name="o'tiny"), input_ids=[5, 6, 7], decoder_input_ids=[2, 5]
    )
    view = export.head_view(capture, 2, 1, "cross")
    names = run(view.script, hf_model=hf, tokenizer=None)
    assert np.array_equal(names["weights"], view.arrays["weights"])


def test_the_script_of_all_heads_makes_the_same_measures():
    capture = attnviz.capture(attnviz.load("planted-circuit"), "red fox ran home red fox ran home")
    view = export.heads_view(capture, measures=["induction", "entropy"])
    names = run(view.script)
    assert np.array_equal(names["values"]["entropy"], view.arrays["entropy"], equal_nan=True)
    assert np.array_equal(names["null"]["induction"], view.arrays["null_induction"])


def test_the_script_pins_the_weights():
    view = export.head_view(attnviz.capture(attnviz.load("planted-circuit"), "red fox"), 1, 0)
    with pytest.raises(AssertionError):
        run(view.script.replace("planted-1", "planted-0"))


@pytest.mark.parametrize("change", EVERY_KIND, ids=lambda change: type(change).__name__)
def test_a_what_if_survives_a_file_a_script_and_a_command_line(change):
    assert from_data(as_data(change)) == change
    assert eval(as_python(change), dict(KINDS)) == change
    assert from_words(as_python(change)) == change


def test_an_amount_without_end_is_python_and_json():
    change = AddToScore(1, 0, query=4, key=2, amount=float("-inf"))
    words = as_python(change)
    assert eval(words, {"AddToScore": AddToScore}) == change
    assert from_data(json.loads(provenance.write(as_data(change)))) == change
    assert as_python(from_data(json.loads(provenance.write(as_data(change))))) == words


def test_a_profile_of_some_measures_is_kept_as_it_is():
    capture = attnviz.capture(attnviz.load("planted-circuit"), "red fox ran home red fox")
    found = profile(capture, measures=["induction", "entropy"])
    view = export.heads_view(capture, found=found)
    assert {"induction", "entropy"} < set(view.arrays) and "focus" not in view.arrays
    for options in ({"measure": "focus"}, {"measures": ["induction", "focus"]}):
        with pytest.raises(BadInput, match="focus"):
            export.heads_view(capture, found=found, **options)


def test_every_kind_of_what_if_can_be_written():
    assert {type(change).__name__ for change in EVERY_KIND} == set(KINDS)
    assert from_words(" HideKeys( 1, 0, keys=[1] ) ") == HideKeys(1, 0, keys=(1,))


@pytest.mark.parametrize(
    "words",
    [
        "",
        "print(1)",
        "HideKeys",
        "HideKeys(1, 0, keys=open('x'))",
        "HideKeys(1, 0, nokey=1)",
        "HideKeys(1, 0, None, [1], [2], 3)",
        "__import__('os').system('true')",
        "Temper(*[1])",
        "(" * 300,
    ],
)
def test_words_that_are_no_what_if_are_refused_and_never_run(words):
    with pytest.raises(BadInput, match="not a what-if"):
        from_words(words)


def test_what_no_file_can_hold_is_refused_by_name():
    with pytest.raises(BadInput, match="of the kind PutOutput"):
        as_data(PutOutput(0, 0))
    with pytest.raises(BadInput, match="cannot be read"):
        from_data({"kind": "Temper", "evil": 1})
