"""The sweep over architectures, on a sample of them, and the oracle that it trusts."""

import json

import numpy as np
import pytest

import attnviz
from tests.sweep import build, oracle
from tests.sweep.compare import compare
from tests.sweep.configs import rows
from tests.sweep.sweep import sweep
from tests.sweep.table import RECORD, moved_verdicts

EVERY = 10  # of the architectures, one in so many here; all of them are in test_full_sweep


def test_a_sample_of_all_architectures_has_the_committed_verdicts():
    committed = json.loads(RECORD.read_text(encoding="utf-8"))
    names = [row.name for row in rows()][::EVERY]
    verdicts = sweep(names)
    assert len(verdicts) >= 24 and not moved_verdicts(verdicts, committed, names)


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
