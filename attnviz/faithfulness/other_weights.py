"""Other weights in the place of a head's: permuted, even, erased, or sought to mislead.

Jain and Wallace 2019 ("Attention is not Explanation"), Wiegreffe and Pinter 2019 ("Attention is
not not Explanation"), Serrano and Smith 2019 ("Is Attention Interpretable?"). All three studied
recurrent models with one attention layer just before the output; here one head of many is
changed, and the others and the residual path go on as before. What needs training, the papers'
diagnostic and adversarial training, is not run.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attnviz.errors import BadInput
from attnviz.faithfulness.agreement import has_logits, locate_row, output_change
from attnviz.faithfulness.gradient import logits_with
from attnviz.heads.distances import js_divergence
from attnviz.heads.head import Head
from attnviz.heads.softmax import Array
from attnviz.interventions import Flatten, HideKeys, Intervention, Permute, effects, engine
from attnviz.progress import Step

if TYPE_CHECKING:
    from attnviz.capture.result import Capture
    from attnviz.models import LoadedModel


@dataclass(frozen=True)
class Permutations:
    """Changes of the output under random permutations of a row's weights.

    Attributes:
        changes: (permutation,) as `attnviz.faithfulness.agreement.output_change`.
        divergences: (permutation,) Jensen-Shannon divergence of the permuted row from the real
            one, nats.
    """

    changes: Array
    divergences: Array

    @property
    def median(self) -> float:
        return float(np.median(self.changes))


def permutations(
    model: "LoadedModel",
    capture: "Capture",
    layer: int,
    head: int | None = None,
    query: int | None = None,
    *,
    stack: str | None = None,
    count: int = 100,
    progress: Step | None = None,
) -> Permutations:
    """Permute a row's weights at random, `count` times, and watch the output.

    `head` None permutes the row in every head of the layer at once. The row is the last by default.
    """
    stack, row = locate_row(capture, layer, query, stack)
    changes = [Permute(layer, head, stack, query=row, seed=seed) for seed in range(count)]
    outputs = effects(model, capture, [[one] for one in changes], progress=progress)
    shown = capture.head(layer, head or 0, stack)
    real = shown.weights[row]
    return Permutations(
        np.array([output_change(capture, output, row) for output in outputs], np.float32),
        np.array(
            [js_divergence(real, one.apply(shown).weights[row]) for one in changes],
            np.float32,
        ),
    )


def flat(
    model: "LoadedModel",
    capture: "Capture",
    layer: int,
    head: int | None = None,
    query: int | None = None,
    *,
    stack: str | None = None,
) -> float:
    """The change of the output when the row is even over the keys it may see: the baseline of
    Wiegreffe and Pinter 2019 that needs no training."""
    stack, row = locate_row(capture, layer, query, stack)
    (output,) = effects(model, capture, [[Flatten(layer, head, stack, query=row)]])
    return output_change(capture, output, row)


@dataclass(frozen=True)
class Erasure:
    """What erasing single weights does, against erasing others at random.

    Attributes:
        keys: (key,) the positions the row may see, heaviest first.
        weights: (key,) their weights.
        changes: (key,) change of the output when that weight alone is erased and the rest of the
            row renormalised.
    """

    keys: list[int]
    weights: Array
    changes: Array

    @property
    def heaviest_beats(self) -> float:
        """The share of the other keys whose erasure changes the output less than erasing the
        heaviest does, 0 to 1; 0.5 is what chance gives."""
        others = self.changes[1:]
        return float((others < self.changes[0]).mean()) if len(others) else float("nan")


def erasure(
    model: "LoadedModel",
    capture: "Capture",
    layer: int,
    head: int,
    query: int | None = None,
    *,
    stack: str | None = None,
    progress: Step | None = None,
) -> Erasure:
    """Erase each weight of a row in turn."""
    stack, row = locate_row(capture, layer, query, stack)
    weights = capture.head(layer, head, stack).weights[row]
    keys = [int(k) for k in np.argsort(-weights, kind="stable") if weights[k] > 0]
    interventions: list[list[Intervention]] = [
        [HideKeys(layer, head, stack, keys=(key,), queries=(row,))] for key in keys
    ]
    outputs = effects(model, capture, interventions, progress=progress)
    changes = np.array([output_change(capture, output, row) for output in outputs], np.float32)
    return Erasure(keys, weights[keys], changes)


@dataclass(frozen=True)
class Adversary:
    """Weights far from the real ones that leave the output nearly as it was, as far as found.

    Attributes:
        weights: (key,) the weights found.
        divergence: their Jensen-Shannon divergence from the real row, nats, at most ln 2.
        change: the change of the output they make, at most `allowed` where `found`.
        allowed: the change that was allowed.
    """

    weights: Array
    divergence: float
    change: float
    allowed: float

    @property
    def found(self) -> bool:
        return self.change <= self.allowed and self.divergence > 0


def adversary(
    model: "LoadedModel",
    capture: "Capture",
    layer: int,
    head: int,
    query: int | None = None,
    *,
    stack: str | None = None,
    allowed: float = 0.01,
    steps: int = 100,
    restarts: int = 2,
    seed: int = 0,
    progress: Step | None = None,
) -> Adversary:
    """Seek weights as far as possible from the real row with nearly the same output.

    Maximises the Jensen-Shannon divergence from the real row while the total variation of the
    output stays within `allowed`, by gradient (Adam) from random starts, as in Jain and Wallace
    2019, section 4.2.2, with fewer steps. What is not found may still exist.

    Raises:
        BadInput: the model predicts no tokens.
    """
    stack, row = locate_row(capture, layer, query, stack)
    if not has_logits(capture):
        raise BadInput(
            what="This model predicts no tokens.",
            why="Nearly the same output is measured on the distribution over tokens.",
            todo="Choose a model with a language-modelling head, and a masked place in the text.",
        )
    shown = capture.head(layer, head, stack)
    search = _Search(model, capture, shown, row)
    generator = torch.Generator().manual_seed(seed)
    best = Adversary(shown.weights[row], 0.0, 0.0, allowed)
    for restart in range(restarts):
        start = torch.randn(int(search.seen.sum()), generator=generator)
        for step, candidate in enumerate(search.descend(start, allowed, steps)):
            if candidate.found and candidate.divergence > best.divergence:
                best = candidate
            if progress:
                progress(restart * steps + step + 1, restarts * steps)
    return best


class _Search:
    """Gradient search over one row of one head."""

    def __init__(self, model: "LoadedModel", capture: "Capture", shown: Head, row: int) -> None:
        self.model, self.capture, self.shown, self.row = model, capture, shown, row
        self.seen = torch.from_numpy(shown.allowed[row].copy())  # (key,)
        self.real = torch.from_numpy(shown.weights[row].copy())  # (key,)
        self.mass = self.real.sum()  # a sink keeps its share
        self.values = torch.from_numpy(np.array(shown.v))  # (key, d_v)
        logits = engine.model_output(capture)[-1]
        self.before = torch.softmax(torch.from_numpy(logits.copy()), -1)
        one = (HideKeys(shown.layer, shown.head, shown.stack, keys=(0,), queries=(row,)),)
        self.first, _ = engine.find_start(model, capture, one) if row else (0, 0)

    def descend(self, start: Tensor, allowed: float, steps: int) -> Any:
        """Each step's candidate, in turn."""
        free = start.clone().requires_grad_()
        optimiser = torch.optim.Adam([free], lr=0.1, amsgrad=True)
        for _ in range(steps):
            weights = torch.zeros_like(self.real)
            weights = weights.masked_scatter(self.seen, torch.softmax(free, 0) * self.mass)
            moved = (torch.softmax(self._logits(weights), -1) - self.before).abs().sum() / 2
            divergence = _js(weights, self.real)
            found = weights.detach().numpy()
            yield Adversary(found, divergence.item(), moved.item(), allowed)
            loss = -divergence + 500 * torch.relu(moved - allowed)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    def _logits(self, weights: Tensor) -> Tensor:
        """(vocabulary,) with these weights in the place of the row's."""
        row, output = self.row - self.first, weights @ self.values  # output (d_v,)

        def put(mixed: Tensor) -> Tensor:
            chosen = torch.zeros(mixed.shape[:2], dtype=torch.bool)  # (query, head)
            chosen[row, self.shown.head] = True
            return torch.where(chosen[..., None], output.to(mixed), mixed.detach())

        at = self.shown.stack, self.shown.layer
        return logits_with(self.model, self.capture, at, put, self.first).float()


def _js(p: Tensor, q: Tensor) -> Tensor:
    middle = (p + q) / 2
    return (_kl(p, middle) + _kl(q, middle)) / 2


def _kl(p: Tensor, q: Tensor) -> Tensor:
    return torch.where(p > 0, p * (p.clamp(min=1e-30) / q.clamp(min=1e-30)).log(), 0).sum()
