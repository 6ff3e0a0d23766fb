"""One row of a head changed, and how far the output moves: keys taken away, other weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from attnviz.experiments.one_row import tabulate_keys
from attnviz.heads.head import Head
from attnviz.progress import Step

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.faithfulness import Adversary, Agreement, Permutations
    from attnviz.interventions import Intervention
    from attnviz.models import LoadedModel

SAID = {
    "weight": "Weight",
    "weighted_value_norm": "Weight x value norm",
    "contribution_norm": "Norm through W_O",
    "gradient_x_weight": "Gradient x weight",
    "direct_logit": "Direct logit attribution",
}
TAKEN = {
    "key_hiding": "Key hidden from this row",
    "value_zeroing": "Value set to 0 in this head",
    "token_erasure": "Token hidden from every head",
}
"""Titles of the columns of an `attnviz.faithfulness.Agreement`: read off, and taken away."""


def measure_changes(
    model: "LoadedModel",
    capture: "Capture",
    whatifs: Sequence[Sequence["Intervention"]],
    query: int,
    *,
    progress: Step | None = None,
) -> list[float]:
    """How far each what-if, a list of interventions that act together, moves the output: the total
    variation of the distribution over tokens, 0 to 1, or, of a model that predicts none, 1 minus
    the cosine of the query's last hidden state, 0 to 2.

    Raises:
        BadInput: the model puts out nothing on this text, or a what-if names no place of it.

    >>> import attnviz
    >>> from attnviz.interventions import Ablate
    >>> model = attnviz.load("planted-circuit")
    >>> capture = attnviz.capture(model, "red fox ran home red fox ran")
    >>> first, last = measure_changes(model, capture, [[Ablate(1, 0)], [Ablate(1, 2)]], query=7)
    >>> first > last
    True
    """
    from attnviz.faithfulness.agreement import output_change
    from attnviz.interventions import effects

    outputs = effects(model, capture, whatifs, progress=progress)
    return [output_change(capture, output, query) for output in outputs]


@dataclass(frozen=True, eq=False)
class KeyRemoval:
    """One row's keys by what is read off and by what happens without them: an `Agreement`, and its
    tables with the titles of SAID and TAKEN."""

    agreement: "Agreement"
    labels: Sequence[str]

    @property
    def table(self) -> pd.DataFrame:
        """A row a key: "position", "key", then each measure that applies."""
        return self._titled(self.agreement.table)

    @property
    def ranks(self) -> pd.DataFrame:
        """The table with ranks in the place of numbers, 1 for the largest without its sign."""
        return self._titled(self.agreement.ranks)

    def _titled(self, frame: pd.DataFrame) -> pd.DataFrame:
        shown = frame.drop(columns="token").dropna(axis=1, how="all")
        shown.insert(1, "key", [self.labels[key] for key in shown["position"]])
        return shown.rename(columns=SAID | TAKEN)


def remove_keys(
    model: "LoadedModel",
    capture: "Capture",
    head: Head,
    query: int,
    *,
    erase: bool = False,
    progress: Step | None = None,
) -> KeyRemoval:
    """Every key of one row hidden, its value zeroed and, with `erase`, hidden from every head: see
    `attnviz.faithfulness.agreement`.

    >>> import attnviz
    >>> model = attnviz.load("planted-circuit")
    >>> capture = attnviz.capture(model, "red fox ran home red fox ran")
    >>> table = remove_keys(model, capture, capture.head(1, 0), query=7).table
    >>> table.loc[table["Key hidden from this row"].idxmax(), "key"]
    '"␣home" (4)'
    """
    from attnviz.faithfulness import agreement

    at = (head.layer, head.head, query)
    found = agreement(model, capture, *at, stack=head.stack, erase=erase, progress=progress)
    labels = [f'"{token.label}" ({place})' for place, token in enumerate(head.key_tokens)]
    return KeyRemoval(found, labels)


@dataclass(frozen=True, eq=False)
class PermutedRow:
    """A row under random permutations, even weights, and single weights erased.

    Attributes:
        permutations: the changes of the output, and how far each row is from the real one.
        even: the change under even weights.
        heaviest_beats: as for `attnviz.faithfulness.Erasure`.
    """

    permutations: "Permutations"
    even: float
    heaviest_beats: float

    @property
    def table(self) -> pd.DataFrame:
        """A row a permutation: "Deal", the "Change" of the output, and "JSD", the Jensen-Shannon
        divergence from the real row in nats, 0 to ln 2."""
        changes, divergences = self.permutations.changes, self.permutations.divergences
        columns = {"Deal": range(len(changes)), "Change": changes, "JSD": divergences}
        return pd.DataFrame(columns)


def permute_row(
    model: "LoadedModel",
    capture: "Capture",
    head: Head,
    query: int,
    *,
    whole_layer: bool = False,
    count: int = 100,
    progress: Step | None = None,
) -> PermutedRow:
    """One row's weights permuted `count` times, made even, and erased one by one; with
    `whole_layer` the first two in every head of the layer. Sources: see
    `attnviz.faithfulness.other_weights`.

    >>> import attnviz
    >>> model = attnviz.load("planted-circuit")
    >>> capture = attnviz.capture(model, "red fox ran home red fox ran")
    >>> found = permute_row(model, capture, capture.head(1, 2), query=7, count=5)
    >>> bool(found.table["Change"].max() < 1e-5)  # a head that is even already
    True
    """
    from attnviz.faithfulness import erasure, flat, permutations

    layer, number, stack = head.layer, head.head, head.stack
    at = (layer, None if whole_layer else number, query)
    permuted = permutations(model, capture, *at, stack=stack, count=count, progress=progress)
    even = flat(model, capture, *at, stack=stack)
    erased = erasure(model, capture, layer, number, query, stack=stack)
    return PermutedRow(permuted, even, erased.heaviest_beats)


@dataclass(frozen=True, eq=False)
class SoughtWeights:
    """Other weights with nearly the same output: what the search came to, and a `table` with a row
    a key that the query may see: its weight in the "real" row and in the one "found"."""

    search: "Adversary"
    table: pd.DataFrame


def seek_weights(
    model: "LoadedModel",
    capture: "Capture",
    head: Head,
    query: int,
    *,
    steps: int = 60,
    restarts: int = 2,
    progress: Step | None = None,
) -> SoughtWeights:
    """Weights as far as possible from one row's that move the output by next to nothing: see
    `attnviz.faithfulness.adversary`.

    >>> import attnviz
    >>> model = attnviz.load("planted-circuit")
    >>> capture = attnviz.capture(model, "red fox ran home red fox ran")
    >>> found = seek_weights(model, capture, capture.head(1, 2), query=7, steps=9, restarts=1)
    >>> found.search.found, len(found.table)
    (True, 8)
    """
    from attnviz.faithfulness import adversary

    at, stack, seen = (head.layer, head.head, query), head.stack, head.allowed[query]
    search = adversary(
        model, capture, *at, stack=stack, steps=steps, restarts=restarts, progress=progress
    )
    columns = {"real": head.weights[query, seen], "found": search.weights[seen]}
    return SoughtWeights(search, tabulate_keys(head, seen, columns))
