"""Every text architecture of the installed transformers is exact, or refused by name, as the
committed table says."""

import json

import numpy as np
import pytest

import attnviz
from tests.sweep import build, oracle
from tests.sweep.check import CRASH, EXACT, WRONG, Verdict
from tests.sweep.compare import compare
from tests.sweep.configs import rows
from tests.sweep.sweep import sweep
from tests.sweep.table import DOCUMENT, RECORD, REGENERATE, document, record

AT_LEAST = 200


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return sweep()


@pytest.fixture(scope="module")
def committed() -> dict:
    return json.loads(RECORD.read_text(encoding="utf-8"))


def test_no_architecture_is_shown_wrongly_or_crashes(verdicts):
    bad = [f"{v.name}: {v.verdict}: {v.reason}" for v in verdicts if v.verdict in (WRONG, CRASH)]
    assert not bad, "\n".join(bad)


def test_enough_architectures_are_exact(verdicts):
    assert sum(v.verdict == EXACT for v in verdicts) >= AT_LEAST


def test_every_verdict_is_the_committed_one(verdicts, committed):
    """A new version of transformers, or a change here, that moves a verdict must be looked at."""
    now = record(verdicts)
    assert now["transformers"] == committed["transformers"], f"Regenerate: {REGENERATE}"
    before = {(a["model_type"], a["class"]): a for a in committed["architectures"]}
    after = {(a["model_type"], a["class"]): a for a in now["architectures"]}
    moved = [
        f"{key}: {before.get(key, {}).get(name)!r} -> {after.get(key, {}).get(name)!r} ({name})"
        for key in sorted(before.keys() | after.keys())
        for name in ("verdict", "method", "stages", "output", "padding", "oracle", "reason")
        if before.get(key, {}).get(name) != after.get(key, {}).get(name)
    ]
    assert not moved, f"Look at these, then regenerate with {REGENERATE}:\n" + "\n".join(moved)


def test_the_document_says_what_the_record_says(verdicts):
    assert DOCUMENT.read_text(encoding="utf-8") == document(verdicts), f"Run {REGENERATE}"


def trial(name):
    row = next(row for row in rows() if row.name == name)
    made = build.build(row)
    return made, attnviz.capture(attnviz.wrap(made.model), **made.inputs)


def test_the_oracle_finds_nothing_in_a_right_capture():
    made, cap = trial("GPT2LMHeadModel")
    findings = compare(cap, made.run, made.model)
    assert not findings.failures
    assert findings.compared == {"attentions", "softmax", "product", "projection"}


def _scale_twice(block):
    block.scaling = block.scale * 2


def _swap_values(block):
    block.v = block.v.flip(0)


def _hide_one(block):
    block.mask = block.mask.clone()
    block.mask[..., 9, 2] = False


def _show_the_future(block):
    block.mask = block.mask | True


def _wrong_layer(block):
    block.layer += 1


def _shift_projection(block):
    block.projection = type(block.projection)(block.projection.weight.roll(1, 1), None)


def _drop_bias(block):
    block.biases = {}


@pytest.mark.parametrize(
    ("name", "break_it", "says"),
    [
        ("LlamaForCausalLM", _scale_twice, "C1 own"),
        ("LlamaForCausalLM", _swap_values, "C2"),
        ("Gemma2ForCausalLM", _hide_one, "C1"),
        ("Gemma2ForCausalLM", _show_the_future, "C1"),
        ("LlamaForCausalLM", _wrong_layer, "C5"),
        ("LlamaForCausalLM", _shift_projection, "C3"),
        ("T5ForConditionalGeneration", _drop_bias, "C1 own"),
    ],
)
def test_the_oracle_notices_a_broken_capture(name, break_it, says):
    made, cap = trial(name)
    for block in cap.blocks:
        break_it(block)
    failures = compare(cap, made.run, made.model).failures
    assert any(failure.startswith(says) for failure in failures), failures


def test_a_cold_model_is_no_evidence():
    """With the usual initializer range every row is even, and wrong scales pass unseen."""
    row = next(row for row in rows() if row.name == "LlamaForCausalLM")
    model, plain = build.models(row, gain=0.1)
    given = build.inputs(row, model)
    run = oracle.observe(plain, given, build.options(plain))
    assert run.heat() < build.HOT
    cap = attnviz.capture(attnviz.wrap(model), **given)
    assert any("not hot" in failure for failure in compare(cap, run, model).failures)


def test_scores_in_the_place_of_weights_are_no_oracle():
    """huggingface/transformers#7083, #44010: SqueezeBERT returns scores as attentions."""
    row = next(row for row in rows() if row.name == "SqueezeBertForMaskedLM")
    run = build.build(row).run
    assert np.any(run.output.attentions[0].numpy() < 0)
    assert run.attentions("encoder") == []
    assert len(run.stack("encoder")) == 3
