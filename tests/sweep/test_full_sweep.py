"""Every text architecture of the installed transformers is exact, or refused by name, as the
committed table says. Run by `make sweep`; `make test` takes a sample."""

import json

import pytest

from tests.sweep.check import CRASH, EXACT, WRONG, Verdict
from tests.sweep.sweep import sweep
from tests.sweep.table import DOCUMENT, RECORD, REGENERATE, document, moved_verdicts

AT_LEAST = 200


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return sweep()


def test_no_architecture_is_shown_wrongly_or_crashes(verdicts):
    bad = [f"{v.name}: {v.verdict}: {v.reason}" for v in verdicts if v.verdict in (WRONG, CRASH)]
    assert not bad, "\n".join(bad)


def test_enough_architectures_are_exact(verdicts):
    assert sum(v.verdict == EXACT for v in verdicts) >= AT_LEAST


def test_every_verdict_is_the_committed_one(verdicts):
    """A new version of transformers, or a change here, that moves a verdict must be looked at."""
    moved = moved_verdicts(verdicts, json.loads(RECORD.read_text(encoding="utf-8")))
    assert not moved, f"Look at these, then regenerate with {REGENERATE}:\n" + "\n".join(moved)


def test_the_document_says_what_the_record_says(verdicts):
    assert DOCUMENT.read_text(encoding="utf-8") == document(verdicts), f"Run {REGENERATE}"
