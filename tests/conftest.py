"""What every test may use: small tokenizers, the real models, one thread a matrix product."""

import os
from typing import TYPE_CHECKING

# Before torch is imported anywhere: tests share the machine with the servers they start.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("ATTNVIZ_HOSTED", "0")  # whatever the machine that runs the tests is

import hypothesis
import pytest

from tests import fixtures_tokenizers

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from attnviz import LoadedModel

hypothesis.settings.register_profile("attnviz", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("attnviz")


@pytest.fixture
def bpe() -> "PreTrainedTokenizerFast":
    return fixtures_tokenizers.byte_level_bpe()


@pytest.fixture
def wordpiece() -> "PreTrainedTokenizerFast":
    return fixtures_tokenizers.wordpiece()


@pytest.fixture
def sentencepiece() -> "PreTrainedTokenizerFast":
    return fixtures_tokenizers.sentencepiece()


@pytest.fixture(scope="session")
def smollm2() -> "LoadedModel":
    """The default model, fetched once into the user's cache folder."""
    import attnviz

    return attnviz.load("smollm2-135m")


@pytest.fixture(scope="session")
def minilm() -> "LoadedModel":
    """The encoder of the catalog, fetched once into the user's cache folder."""
    import attnviz

    return attnviz.load("minilm-l6")
