"""Ready examples: matrices that people call attention, each labelled with what it really is.

All are computed here from recorded scores of real heads, but for one triple that was published.
"""

import json
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from attnviz.heads.softmax import Array, weigh

RECORDED = json.loads(
    files("attnviz.matrix_check").joinpath("data/recorded.json").read_text("utf-8")
)
"""A text, and for each model a layer, some of its heads and their scores (head, query, key); a row
ends with the last key that its query may look at. `tests/matrix_check/record.py` measured them."""
_HEAD = 5
_SINK_LOGIT = 1.0
_TEMPERATURE = 1.7


@dataclass(frozen=True)
class Example:
    """A matrix to check.

    Attributes:
        title: what it is offered as.
        matrix: (query, key) float32.
        really_is: what it is and how it was made.
        other: a second matrix to compare it with, or None.
    """

    title: str
    matrix: Array
    really_is: str
    other: Array | None = None


def _load_scores(model: str) -> Array:
    """(head, query, key) scores as recorded, -inf in the cells that were masked."""
    rows = RECORDED[model]["scores"]
    scores = np.full((len(rows), len(rows[0]), len(rows[0])), -np.inf, np.float32)
    for head, query in np.ndindex(scores.shape[:2]):
        row = rows[head][query]
        scores[head, query, : len(row)] = row
    return scores


def _describe_head(model: str, title: str, head: int) -> str:
    layer, text = RECORDED[model]["layer"], RECORDED["text"]
    return f"of {title}, layer {layer}, head {head}, on the text {text!r}"


def _make_examples() -> dict[str, Example]:
    heads, encoder = _load_scores("smollm2-135m"), _load_scores("minilm-l6")[0]
    scores = heads[_HEAD]
    weights, all_weights = weigh(scores)[0], weigh(heads)[0]
    seen = np.isfinite(scores)
    of_head = _describe_head("smollm2-135m", "SmolLM2-135M", _HEAD)
    of_encoder = _describe_head("minilm-l6", "MiniLM-L6", RECORDED["minilm-l6"]["heads"][0])
    of_layer = f"of layer {RECORDED['smollm2-135m']['layer']} of SmolLM2-135M"
    least = np.finfo(np.float32).min
    return {
        "weights": Example("A plain one", weights, f"The attention weights {of_head}."),
        "scores": Example(
            "Numbers of both signs",
            scores,
            f"The scores {of_head}, as softmax receives them: -inf where a key lies ahead.",
        ),
        "low": Example(
            "One enormous number",
            np.where(seen, scores, least).astype(np.float32),
            f"The scores {of_head}, with the least float32 where a key lies ahead, as many "
            "libraries mask.",
        ),
        "zero_masked": Example(
            "A clean triangle",
            np.where(seen, scores, 0).astype(np.float32),
            f"The scores {of_head}, with 0 put where a key lies ahead. They look like masked "
            "weights, and softmax of them would look ahead.",
        ),
        "transposed": Example(
            "Rows that do not add up",
            np.ascontiguousarray(weigh(encoder)[0].T),
            f"The attention weights {of_encoder}, transposed: a column is a query.",
        ),
        "rounded": Example(
            "Two decimals, from a slide",
            weights.round(2),
            f"The attention weights {of_head}, rounded to two decimals. Some rows no longer add "
            "up to 1.",
        ),
        "head_mean": Example(
            "One map for a whole layer",
            all_weights.mean(axis=0),
            f"The mean of the weights of all {len(heads)} heads {of_layer}. "
            "Nothing in the numbers gives that away.",
        ),
        "head_sum": Example(
            "Weights above 1",
            all_weights.sum(axis=0),
            f"The weights of all {len(heads)} heads {of_layer}, added up and not divided.",
        ),
        "sink": Example(
            "Rows that fall short",
            weigh(scores, _SINK_LOGIT)[0],
            f"The attention weights {of_head}, with a sink of logit {_SINK_LOGIT:g} that was "
            "added to the softmax here, and the scores beside them.",
            other=scores,
        ),
        "twice": Example(
            "A soft one",
            weigh(weights)[0],
            f"The attention weights {of_head}, put through softmax a second time. Keys that lie "
            "ahead get weight.",
        ),
        "logs": Example(
            "Called logits",
            np.log(weights, out=np.full_like(weights, -np.inf), where=weights > 0),
            f"The logarithms of the attention weights {of_head}: not the scores, which differ "
            "from them by a number in each row.",
        ),
        "not_divided": Example(
            "Called unnormalised weights",
            np.exp(encoder),
            f"exp of the scores {of_encoder}: softmax before the division by the row sum.",
        ),
        "uniform": Example(
            "A very even one",
            weigh(np.where(seen, np.float32(0), np.float32(-np.inf)))[0],
            "The weights of a head whose scores are all 0, as the uniform heads of the planted "
            "circuit have them.",
        ),
        "temperature": Example(
            "Scores and weights that disagree",
            weigh(scores / np.float32(_TEMPERATURE))[0],
            f"The scores {of_head}, and softmax of them at temperature {_TEMPERATURE:g}.",
            other=scores,
        ),
        "published_triple": Example(
            "A published diagram",
            np.array([[0.75, 0.14, 0.11]], np.float32),
            "Three shares drawn beside three scores in a published diagram. They add up to 1 and "
            "are not the softmax of these scores, which is 0.804, 0.147, 0.049.",
            other=np.array([[2.1, 0.4, -0.7]], np.float32),
        ),
    }


EXAMPLES = _make_examples()
"""Examples by name."""
