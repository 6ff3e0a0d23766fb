"""Watched softmax: a score that cannot be followed is shown as watched, and what softmax puts out
must be what the values are mixed with."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import BertConfig, PreTrainedModel

import attnviz
from tests import tiny


class _Attention(nn.Module):
    """Attention written out, with room for a twist on either side of softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.seen: list[tuple[Tensor, Tensor]] = []

    def forward(self, states: Tensor) -> Tensor:
        q, k, v = self.qkv(states).view(*states.shape[:2], 3, 4, 8).permute(2, 0, 3, 1, 4)
        scores = self.before(self.product(q, k))
        weights = scores.softmax(-1)
        self.seen.append((scores[0], weights[0]))
        return self.out((self.after(weights) @ v).transpose(1, 2).flatten(2))

    def product(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.mT / 8**0.5

    def before(self, scores: Tensor) -> Tensor:
        return scores

    def after(self, weights: Tensor) -> Tensor:
        return weights


class _RaisedAttention(_Attention):
    """The first key is raised in place, in a way that no operation on the score tells."""

    def before(self, scores: Tensor) -> Tensor:
        scores[..., 0] = scores[..., 0] + 2
        return scores


class _ThinnedAttention(_Attention):
    """Dropout that evaluation does not switch off, the same cells every time."""

    def after(self, weights: Tensor) -> Tensor:
        torch.manual_seed(3)
        return nn.functional.dropout(weights, 0.5, training=True)


class _StepsAttention(_Attention):
    """A score made step by step, in the ways that model files write the steps."""

    bias = torch.linspace(-3, 1, 36).reshape(6, 6)
    future = torch.ones(6, 6, dtype=torch.bool).triu(1)
    lowest = torch.finfo(torch.float32).min


class _SubtractedAttention(_StepsAttention):
    def before(self, scores: Tensor) -> Tensor:
        return scores - self.bias


class _WeightedAttention(_StepsAttention):
    """As BLOOM adds its slopes, with factors on both terms."""

    def product(self, q: Tensor, k: Tensor) -> Tensor:
        bias = self.bias.expand(4, 6, 6)
        return bias.baddbmm(q[0], k[0].mT, beta=0.5, alpha=8**-0.5).view(1, 4, 6, 6)


class _ScaledAfterAttention(_StepsAttention):
    """The bias is scaled along with the product."""

    def before(self, scores: Tensor) -> Tensor:
        return (scores + self.bias) / 2


class _InPlaceAttention(_StepsAttention):
    def before(self, scores: Tensor) -> Tensor:
        scores += self.bias
        return scores.masked_fill_(self.future, self.lowest)


class _MaskFirstAttention(_StepsAttention):
    """where(allowed, score, lowest), and the other way round."""

    def before(self, scores: Tensor) -> Tensor:
        return torch.where(~self.future, scores, torch.tensor(self.lowest))


class _MaskLastAttention(_StepsAttention):
    def before(self, scores: Tensor) -> Tensor:
        return torch.where(self.future, torch.tensor(self.lowest), scores)


class _CappedAttention(_StepsAttention):
    def before(self, scores: Tensor) -> Tensor:
        return (scores / 5).tanh() * 5 + self.bias


FOLLOWED = {
    _SubtractedAttention: ("dot", "scaled", "biased"),
    _WeightedAttention: ("dot", "scaled", "biased"),
    _ScaledAfterAttention: ("dot", "scaled", "biased"),
    _InPlaceAttention: ("dot", "scaled", "biased", "masked"),
    _MaskFirstAttention: ("dot", "scaled", "masked"),
    _MaskLastAttention: ("dot", "scaled", "masked"),
    _CappedAttention: ("dot", "scaled", "capped", "biased"),
}


class _Model(PreTrainedModel):
    config_class = BertConfig

    def __init__(self, attention: nn.Module) -> None:
        super().__init__(BertConfig(vocab_size=99, hidden_size=32, num_hidden_layers=1))
        self.embeddings, self.layers = nn.Embedding(99, 32), nn.ModuleList([attention])

    def get_input_embeddings(self) -> nn.Module:
        return self.embeddings

    def forward(self, input_ids: Tensor) -> tuple[Tensor]:
        return (self.layers[0](self.embeddings(input_ids)),)


def captured(attention):
    torch.manual_seed(0)
    model = _Model(attention())
    cap = attnviz.capture(attnviz.wrap(model), input_ids=tiny.ids(6))
    return cap, *model.layers[0].seen[-1]


@pytest.mark.parametrize("steps", FOLLOWED)
def test_a_score_that_was_followed_shows_how_it_came_about(steps):
    """The terms of a score are told apart where they add up to what softmax received."""
    cap, scores, weights = captured(steps)
    assert cap.block(0).exposes == FOLLOWED[steps]
    for h in range(4):
        head = cap.head(0, h)
        allowed = head.allowed
        np.testing.assert_allclose(head.scores[allowed], scores[h].numpy()[allowed], atol=1e-5)
        np.testing.assert_allclose(head.weights, weights[h], atol=1e-5)
    if "masked" in FOLLOWED[steps]:
        assert np.array_equal(allowed, np.tri(6))


def test_the_scores_of_a_followed_product_are_the_product_and_its_factor():
    cap, scores, weights = captured(_Attention)
    assert cap.block(0).exposes == ("dot", "scaled")
    for h in range(4):
        head = cap.head(0, h)
        assert head.scaling == pytest.approx(8**-0.5)
        np.testing.assert_allclose(head.scores, scores[h], atol=1e-5)
        np.testing.assert_allclose(head.weights, weights[h], atol=1e-5)


def test_a_score_that_was_followed_wrongly_is_shown_as_watched():
    cap, scores, weights = captured(_RaisedAttention)
    assert cap.block(0).exposes == ("watched",)
    for h in range(4):
        np.testing.assert_allclose(cap.head(0, h).scores, scores[h], atol=1e-5)
        np.testing.assert_allclose(cap.head(0, h).weights, weights[h], atol=1e-5)


def test_weights_that_change_before_they_mix_values_are_refused():
    """idiap/fast-transformers#131: with dropout left on, a row adds up to anything."""
    with pytest.raises(attnviz.UnsupportedModel, match="between softmax and the values"):
        captured(_ThinnedAttention)


class Att(_Attention):
    """Attention under a name that says nothing of it."""


class _MeanAttention(nn.Module):
    """No attention, under the name of it: each token takes the mean of all so far."""

    def forward(self, states: Tensor) -> Tensor:
        return states.cumsum(1) / torch.arange(1, states.shape[1] + 1)[None, :, None]


def test_what_a_class_is_called_decides_nothing():
    """A class named Att was refused for having no attention."""
    cap, scores, weights = captured(Att)
    for h in range(4):
        np.testing.assert_allclose(cap.head(0, h).scores, scores[h], atol=1e-5)
        np.testing.assert_allclose(cap.head(0, h).weights, weights[h], atol=1e-5)
    with pytest.raises(attnviz.UnsupportedModel, match=r"No attention was recognised in _Model\."):
        captured(_MeanAttention)
