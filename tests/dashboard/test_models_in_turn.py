"""Memory over many changes of model, with room for one."""

import gc
import os
import weakref

import pytest
import torch

import attnviz
from dashboard.server.store import Store
from tests import tiny
from tests.fixtures_tokenizers import byte_level_bpe
from tests.readers import memory_of, reads_proc

KINDS = ("LlamaForCausalLM", "GPT2LMHeadModel", "BertModel", "OPTForCausalLM")
ROUNDS = 8


def quiet(words, fraction):
    pass


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Eight models of four kinds."""
    tokenizer, found = byte_level_bpe(), {}
    for number in range(8):
        kind = KINDS[number % 4]
        folder = tmp_path_factory.mktemp("model")
        tiny.hf(kind, seed=number, vocab_size=20_000).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        found[f"m{number}"] = folder
    return found


@pytest.fixture
def settled():
    """Collections that look at what comes from now on only, as in a server: hundreds of them."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@reads_proc
def test_eight_models_in_turn_take_the_memory_of_one(folders, settled):
    """Lin-jun-xiang/docGPT-langchain#2, statgarten/playdoh#7, 152334H/tortoise-tts-fast#30,
    Quansight-Labs/conda-metadata-app#8: memory climbed with every change of model."""
    models, captures, resident = weakref.WeakSet(), weakref.WeakSet(), []

    def load(name, tell):
        model = attnviz.load(folders[name], make_room=store.models.make_room)
        assert not models, "the one before is gone before the next is read"
        models.add(model)
        return model

    def capture(model, text):
        found = attnviz.capture(model, text)
        captures.add(found)
        return found

    store = Store(load, capture, max_models=1, max_bytes=10**9)
    for _ in range(ROUNDS):
        for name in folders:
            store.capture(name, "the cat sat on the mat.", quiet)
            store.extra(name, "the cat sat on the mat.", "x", lambda cap: torch.zeros(9), quiet)
            gc.collect()
            assert len(models) == 1 and len(captures) == 1
        resident.append(memory_of(os.getpid())["VmRSS"])
    assert resident[-1] < 1.15 * resident[1], [size // 10**6 for size in resident]
