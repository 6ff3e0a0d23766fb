"""Padding of encoders and of a source: masked as the model masks it, and said to be padding."""

import numpy as np
import torch

import attnviz
from attnviz.heads.masks import ALLOWED, PADDING
from tests import tiny

MASK = [0, 0, 1, 1, 1, 1]


def test_an_encoder_keeps_its_own_positions_behind_padding():
    """An encoder numbers places with the padding, and the capture gives it no others."""
    model = tiny.hf("BertModel", attention="eager").eval()
    ids = tiny.ids(6)
    cap = attnviz.capture(attnviz.wrap(model), input_ids=ids, attention_mask=MASK)
    with torch.no_grad():
        own = model(ids, attention_mask=torch.tensor([MASK]), output_attentions=True).attentions
    for layer, h in np.ndindex(3, 4):
        np.testing.assert_allclose(cap.head(layer, h).weights, own[layer][0, h], atol=1e-5)


def test_a_padded_source_masks_keys_of_the_encoder_and_of_cross_attention():
    model = tiny.hf("BartForConditionalGeneration", attention="eager").eval()
    ids, target = tiny.ids(6), torch.tensor([[2, 7, 8]])
    cap = attnviz.capture(
        attnviz.wrap(model), input_ids=ids, attention_mask=MASK, decoder_input_ids=target
    )
    with torch.no_grad():
        own = model(
            input_ids=ids,
            attention_mask=torch.tensor([MASK]),
            decoder_input_ids=target,
            output_attentions=True,
        )
    cross, encoder = cap.head(2, 1, "cross"), cap.head(1, 3, "encoder")
    np.testing.assert_allclose(cross.weights, own.cross_attentions[2][0, 1], atol=1e-5)
    np.testing.assert_allclose(encoder.weights, own.encoder_attentions[1][0, 3], atol=1e-5)
    for head in (cross, encoder):
        assert (head.mask_reason[:, :2] == PADDING).all()
        assert (head.mask_reason[:, 2:] == ALLOWED).all() and head.attends.all()
    assert not (cap.head(0, 0, "decoder").mask_reason == PADDING).any()
