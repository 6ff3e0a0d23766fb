"""Ready examples: matrices that people call attention, each labelled with what it really is.

All are computed here from recorded scores of real heads, but for one triple that was published.
"""

from dataclasses import dataclass

import numpy as np

from attnviz.heads.softmax import Array, weigh
from attnviz.matrix_check.recorded import MINILM, MINILM_HEAD, SMOLLM2, SMOLLM2_HEADS, TEXT

_HEAD = 5
_SINK_LOGIT = 1.0
_TEMPERATURE = 1.7


@dataclass(frozen=True)
class Example:
    """A matrix to check.

    Attributes:
        title: what it is offered as.
        matrix: (query, key) float32.
        other: a second matrix to compare it with, or None.
        really_is: what it is and how it was made.
    """

    title: str
    matrix: Array
    other: Array | None
    really_is: str


def _read(lines: str) -> Array:
    """(query, key): the scores written down, -inf in the cells that were masked."""
    rows = [line.split() for line in lines.split("\n") if line.strip()]
    scores = np.full((len(rows), max(map(len, rows))), -np.inf, np.float32)
    for query, row in enumerate(rows):
        scores[query, : len(row)] = [float(value) for value in row]
    return scores


def _make() -> dict[str, Example]:
    heads = np.stack([_read(lines) for lines in SMOLLM2_HEADS])  # (head, query, key)
    scores, encoder = heads[_HEAD], _read(MINILM_HEAD)
    weights, all_weights = weigh(scores)[0], weigh(heads)[0]
    seen = np.isfinite(scores)
    of_head = f"of SmolLM2-135M, layer {SMOLLM2[1]}, head {_HEAD}, on the text {TEXT!r}"
    of_encoder = f"of MiniLM-L6, layer {MINILM[1]}, head {MINILM[2]}, on the text {TEXT!r}"
    least = np.finfo(np.float32).min
    return {
        "weights": Example("A plain one", weights, None, f"The attention weights {of_head}."),
        "scores": Example(
            "Numbers of both signs",
            scores,
            None,
            f"The scores {of_head}, as softmax receives them: -inf where a key lies ahead.",
        ),
        "low": Example(
            "One enormous number",
            np.where(seen, scores, least).astype(np.float32),
            None,
            f"The scores {of_head}, with the least float32 where a key lies ahead, as many "
            "libraries mask.",
        ),
        "zero_masked": Example(
            "A clean triangle",
            np.where(seen, scores, 0).astype(np.float32),
            None,
            f"The scores {of_head}, with 0 put where a key lies ahead. They look like masked "
            "weights, and softmax of them would look ahead.",
        ),
        "transposed": Example(
            "Rows that do not add up",
            np.ascontiguousarray(weigh(encoder)[0].T),
            None,
            f"The attention weights {of_encoder}, transposed: a column is a query.",
        ),
        "rounded": Example(
            "Two decimals, from a slide",
            weights.round(2),
            None,
            f"The attention weights {of_head}, rounded to two decimals. Some rows no longer add "
            "up to 1.",
        ),
        "head_mean": Example(
            "One map for a whole layer",
            all_weights.mean(axis=0),
            None,
            f"The mean of the weights of all {len(heads)} heads of layer {SMOLLM2[1]} of "
            "SmolLM2-135M. Nothing in the numbers gives that away.",
        ),
        "head_sum": Example(
            "Weights above 1",
            all_weights.sum(axis=0),
            None,
            f"The weights of all {len(heads)} heads of layer {SMOLLM2[1]} of SmolLM2-135M, added "
            "up and not divided.",
        ),
        "sink": Example(
            "Rows that fall short",
            weigh(scores, _SINK_LOGIT)[0],
            scores,
            f"The attention weights {of_head}, with a sink of logit {_SINK_LOGIT:g} that was "
            "added to the softmax here, and the scores beside them.",
        ),
        "twice": Example(
            "A soft one",
            weigh(weights)[0],
            None,
            f"The attention weights {of_head}, put through softmax a second time. Keys that lie "
            "ahead get weight.",
        ),
        "logs": Example(
            "Called logits",
            np.log(weights, out=np.full_like(weights, -np.inf), where=weights > 0),
            None,
            f"The logarithms of the attention weights {of_head}: not the scores, which differ "
            "from them by a number in each row.",
        ),
        "not_divided": Example(
            "Called unnormalised weights",
            np.exp(encoder),
            None,
            f"exp of the scores {of_encoder}: softmax before the division by the row sum.",
        ),
        "uniform": Example(
            "A very even one",
            weigh(np.where(seen, np.float32(0), np.float32(-np.inf)))[0],
            None,
            "The weights of a head whose scores are all 0, as the uniform heads of the planted "
            "circuit have them.",
        ),
        "temperature": Example(
            "Scores and weights that disagree",
            weigh(scores / np.float32(_TEMPERATURE))[0],
            scores,
            f"The scores {of_head}, and softmax of them at temperature {_TEMPERATURE:g}.",
        ),
        "published_triple": Example(
            "A published diagram",
            np.array([[0.75, 0.14, 0.11]], np.float32),
            np.array([[2.1, 0.4, -0.7]], np.float32),
            "Three shares drawn beside three scores in a published diagram. They add up to 1 and "
            "are not the softmax of these scores, which is 0.804, 0.147, 0.049.",
        ),
    }


EXAMPLES = _make()
"""Examples by name."""
