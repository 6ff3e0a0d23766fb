"""The heads of a layer averaged, the layers multiplied, and the evenest head of a layer."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from attnviz.experiments.one_row import tabulate_keys
from attnviz.heads.distances import total_variation
from attnviz.heads.head import Head
from attnviz.heads.softmax import Array
from attnviz.progress import Step
from attnviz.tokens.token import number_labels

if TYPE_CHECKING:
    from attnviz.capture import Capture


def average_heads(capture: "Capture", head: Head, query: int) -> pd.DataFrame:
    """A row a key that the query may see: its weight, 0 to 1, in the "average of the heads" of the
    layer and in "this head".

    >>> import attnviz
    >>> capture = attnviz.capture(attnviz.load("planted-circuit"), "red fox ran home red fox")
    >>> average_heads(capture, capture.head(1, 0), query=6)["this head"].round(2).tolist()
    [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    """
    block, seen = capture.block(head.layer, head.stack), head.allowed[query]
    mean = np.mean([block.head(h, [query]).weights[0] for h in range(block.heads)], axis=0)
    columns = {"average of the heads": mean[seen], "this head": head.weights[query, seen]}
    return tabulate_keys(head, seen, columns)


@dataclass(frozen=True, eq=False)
class Rollout:
    """The rollout of a model's attention beside that of even attention.

    Attributes:
        rolled, even: (query, key) shares, 0 to 1; a row adds up to 1.
        correlation: Pearson's, over all cells that a query may see; NaN where even attention is
            flat, as it is without a mask and after many layers.
        distance: the mean total variation between the rows of the two, 0 to 1.
        table: a row a key: its share of one query's row with "even attention" and in "this model".
    """

    rolled: Array
    even: Array
    correlation: float
    distance: float
    table: pd.DataFrame


def roll_out(
    capture: "Capture",
    head: Head,
    query: int,
    progress: Step | None = None,
) -> Rollout:
    """The rollout of the attention of a head's stack (Abnar and Zuidema 2020, "Quantifying
    Attention Flow in Transformers"), and of attention that is even over all that a query may see.
    The stack is no cross attention, whose matrices are not square.

    >>> import attnviz
    >>> capture = attnviz.capture(attnviz.load("planted-circuit"), "red fox ran home red fox")
    >>> roll_out(capture, capture.head(1, 0), query=6).table.iloc[0, 1:].tolist()
    [0.164, 0.263]
    """
    from attnviz.faithfulness import rollout, uniform_rollout

    rolled = rollout(capture, head.stack, progress=progress)
    even = uniform_rollout(len(rolled), len(capture.layers(head.stack)), causal=head.causal)
    square = np.tri(len(rolled), dtype=bool) if head.causal else np.ones(rolled.shape, bool)
    flat = np.ptp(even[square]) < 1e-6 or np.ptp(rolled[square]) == 0
    correlation = np.nan if flat else np.corrcoef(rolled[square], even[square])[0, 1]
    distance = np.mean([total_variation(a, b) for a, b in zip(rolled, even, strict=True)])
    columns = {"even attention": even[query], "this model": rolled[query]}
    table = pd.DataFrame({"Key": number_labels(head.key_tokens), **columns})
    return Rollout(rolled, even, float(correlation), float(distance), table)


class EvenestHead(NamedTuple):
    """The head of a layer whose largest weight is smallest: its number, that weight, 0 to 1, and a
    table with a row a query: "Largest weight" of another head, and of this one."""

    number: int
    largest: float
    table: pd.DataFrame


def find_evenest_head(capture: "Capture", head: Head) -> EvenestHead:
    """The evenest head of a head's layer; a weight counts as for `largest_weight`.

    >>> import attnviz
    >>> capture = attnviz.capture(attnviz.load("planted-circuit"), "red fox ran home red fox")
    >>> find_evenest_head(capture, capture.head(1, 0))[:2]
    (2, 0.25)
    """
    count = capture.heads(head.layer, head.stack)
    heads = [capture.head(head.layer, number, head.stack) for number in range(count)]
    tops = [largest_weight(one) for one in heads]
    number = int(np.argmin(tops))
    columns = {
        "Query": number_labels(head.query_tokens),
        "Largest weight": head.weights.max(axis=1),
        f"Largest weight of head {number}": heads[number].weights.max(axis=1),
    }
    return EvenestHead(number, tops[number], pd.DataFrame(columns))


def largest_weight(head: Head) -> float:
    """The largest weight in the rows of the second half: the first rows of a decoder have few
    keys, and large weights for want of others."""
    return float(head.weights[len(head.weights) // 2 :].max(initial=0.0))
