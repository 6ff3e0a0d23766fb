"""Models whose parts lie on different devices, or on disk: the same numbers, or a refusal."""

import numpy as np
import pytest

import attnviz
from attnviz.detectors import HEAD_MEASURES, effect, profile
from attnviz.faithfulness import gradient
from attnviz.faithfulness.logit_attribution import direct_path
from attnviz.interventions import Ablate, HideKeys
from attnviz.models.placement import input_device, is_spread
from tests import tiny

BESIDE = ("model.embed_tokens", "model.rotary_emb", "model.norm", "lm_head")
LAYERS = ("model.layers.0", "model.layers.1", "model.layers.2")
MAPS = {
    "a layer on disk": {**dict.fromkeys((*BESIDE, *LAYERS), "cpu"), "model.layers.1": "disk"},
    "all but a layer on disk": {**dict.fromkeys((*BESIDE, *LAYERS), "disk"), LAYERS[1]: "cpu"},
    "the whole model on disk": {"": "disk"},
}
IDS = tiny.ids(12)[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    tiny.hf("LlamaForCausalLM", num_key_value_heads=2).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def whole(folder):
    return attnviz.load(folder)


@pytest.fixture(scope="module", params=MAPS)
def spread(request, folder):
    return attnviz.load(folder, device_map=MAPS[request.param])


def test_a_capture_is_the_same_wherever_the_weights_lie(whole, spread):
    assert is_spread(spread.hf) and not is_spread(whole.hf)
    assert any(one.device.type == "meta" for one in spread.hf.parameters())
    assert input_device(spread.hf).type == "cpu"
    one, other = (attnviz.capture(model, input_ids=IDS) for model in (whole, spread))
    assert other.receipt.ok and other.receipt.projections == len(LAYERS)
    np.testing.assert_array_equal(one.logits, other.logits)
    for layer in range(len(LAYERS)):
        for head in range(one.heads(layer)):
            here, there = one.head(layer, head), other.head(layer, head)
            np.testing.assert_array_equal(here.weights, there.weights)
            np.testing.assert_array_equal(here.w_o, there.w_o)
    assert all(one.device.type != "meta" for block in other.blocks for one in block.tensors())


def test_measures_are_the_same(whole, spread):
    one, other = (profile(attnviz.capture(model, input_ids=IDS)) for model in (whole, spread))
    for name in HEAD_MEASURES:
        np.testing.assert_array_equal(one.values[name], other.values[name])


def test_what_ifs_are_the_same(whole, spread):
    changes = [Ablate(1, 3), HideKeys(0, 0, keys=(2,))]
    runs = [attnviz.run(model, interventions=changes, input_ids=IDS) for model in (whole, spread)]
    np.testing.assert_array_equal(runs[0].capture.logits, runs[1].capture.logits)
    assert runs[1].kl > 0
    found = [effect(model, attnviz.capture(model, input_ids=IDS)) for model in (whole, spread)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


def test_gradients_are_the_same(whole, spread):
    found = []
    for model in (whole, spread):
        capture = attnviz.capture(model, input_ids=IDS)
        found.append(gradient.weight_gradient(model, capture, 1, 2, 9, int(IDS[-1])))
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    assert np.abs(found[1]).max() > 0


def test_what_needs_a_part_of_the_model_alone_is_refused_by_name(spread):
    with pytest.raises(attnviz.UnsupportedModel, match="spread over devices"):
        direct_path(spread, attnviz.capture(spread, input_ids=IDS))


def test_a_map_that_cannot_be_followed_is_refused(folder):
    with pytest.raises(attnviz.BadInput, match="could not be spread"):
        attnviz.load(folder, device_map={"": "nowhere"})
    with pytest.raises(attnviz.BadInput, match="written by code"):
        attnviz.load("planted-circuit", device_map="auto")


def test_models_are_shared_by_those_who_place_them_alike(folder, whole):
    on_disk = attnviz.load(folder, device_map={"": "disk"})
    assert on_disk is not whole
    assert attnviz.load(folder, device_map={"": "disk"}) is on_disk
