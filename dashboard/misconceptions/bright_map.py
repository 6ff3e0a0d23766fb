"""A bright map: one matrix on two colour scales, and scores whose rows were shifted."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.charts import ArrayMap, heatmap
from dashboard.misconceptions import scripts as scripts
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Reader, slight
from dashboard.widgets import text_place
from dashboard.widgets.figure import figure

if TYPE_CHECKING:
    from attnviz.capture import Capture


def _measure(reader: Reader) -> None:
    head = reader.head
    number, even, top = reader.run("evenest", lambda _, cap: evenest(cap, reader))
    own = largest(head.weights)
    longest = max(int(head.allowed.sum(axis=1).max(initial=1)), 1)
    st.text(
        f"In the second half of the text, the largest weight of this head is {own:.3f}. The "
        f"evenest head of the layer is number {number}, with {top:.3f}; even weights over the "
        f"longest row would be {1 / longest:.3f}. On a scale fitted to it, it looks like this:"
    )
    placed: dict[str, Any] = {
        "tokens": head.query_tokens,
        "key_tokens": head.key_tokens,
        "allowed": head.allowed,
        "query": reader.row,
    }
    colours: dict[str, Any] = {"colours": "weight", "low": 0}
    drawn = [
        ArrayMap(head.weights, f"Head {reader.selection.head}, 0 to 1", **colours, high=1),
        ArrayMap(even, f"Head {number}, 0 to 1", **colours, high=1),
        ArrayMap(even, f"Head {number}, 0 to {top:.3g}", **colours, high=top or 1),
    ]
    table = pd.DataFrame(
        {
            "Query": text_place.labels(head.query_tokens),
            "Largest weight": head.weights.max(axis=1),
            f"Largest weight of head {number}": even.max(axis=1),
        }
    )
    alt = (
        f"Maps of two heads. The darkest cell of the evenest one is {top:.3g}: pale on colours "
        "from 0 to 1, and dark on colours fitted to it."
    )
    figure("claim_bright", heatmap(drawn, **placed), alt, table, script=scripts.bright(number))
    scores, shifted, error = shifted_rows(reader)
    reach = float(max(np.abs(scores).max(), np.abs(shifted).max())) or 1.0
    st.text(
        "Scores, as they are and with another constant added to each row. The weights that "
        f"softmax makes of the two differ by at most {slight(error)}:"
    )
    ends: dict[str, Any] = {"colours": "score", "low": -reach, "high": reach}
    drawn = [
        ArrayMap(scores, "Scores as they are", **ends),
        ArrayMap(shifted, "Scores, each row shifted", **ends),
    ]
    table = pd.DataFrame(
        {
            "Query": text_place.labels(head.query_tokens),
            "Largest score": np.where(head.allowed, scores, -np.inf).max(axis=1),
            "Largest score, shifted": np.where(head.allowed, shifted, -np.inf).max(axis=1),
        }
    )
    alt = (
        f"Maps of the scores, as they are and shifted, on colours from {-reach:.3g} to {reach:.3g}."
    )
    figure("claim_shifted", heatmap(drawn, **placed), alt, table, script=scripts.SHIFTED)


def largest(weights: np.ndarray) -> float:
    """The largest weight in the rows of the second half: the first rows of a decoder have few
    keys, and large weights for want of others."""
    return float(weights[len(weights) // 2 :].max(initial=0.0))


def evenest(capture: "Capture", reader: Reader) -> tuple[int, np.ndarray, float]:
    """The head of the layer whose largest weight is smallest: number, weights, that weight."""
    layer, stack = reader.selection.layer, reader.selection.stack
    heads = [capture.head(layer, h, stack).weights for h in range(capture.heads(layer, stack))]
    number = int(np.argmin([largest(weights) for weights in heads]))
    return number, heads[number], largest(heads[number])


def shifted_rows(reader: Reader) -> tuple[np.ndarray, np.ndarray, float]:
    """Scores, the same with a constant added to each row (0 where masked), and the largest
    difference between the weights of the two."""
    from attnviz.heads.softmax import weigh

    head = reader.head
    size = float(np.abs(np.where(head.allowed, head.scores, 0)).max()) or 1.0
    rng = np.random.default_rng(0)
    shift = rng.uniform(-size, size, (len(head.scores), 1)).astype(np.float32)
    sink = moved_sink = None
    if head.sink_logit is not None:  # one more score of each row
        sink, moved_sink = head.sink_logit, np.float32(head.sink_logit) + shift[:, 0]
    plain, moved = weigh(head.scores, sink)[0], weigh(head.scores + shift, moved_sink)[0]
    scores, shifted = (
        np.where(head.allowed, np.where(head.allowed, head.scores, 0) + by, 0) for by in (0, shift)
    )
    return scores, shifted, float(np.abs(plain - moved).max())


ENTRY = Entry(
    key="bright-map",
    claim="A strong colour is strong attention",
    believed=(
        "Colours are read before numbers are. Most tools stretch the scale to the largest value in "
        "the picture, so some cell is always as dark as can be."
    ),
    true=(
        "A colour means a number only together with its scale. Fitted to its own largest weight, a "
        "nearly even head looks as pointed as any. Scores mislead in another way: a constant may "
        "be added to any row without changing one weight, so a row of strong colours need not be "
        "one of strong attention, and colours of scores can be compared along a row, not down a "
        "column."
    ),
    title="The same numbers on two scales",
    measure=_measure,
    carries=(
        "This is arithmetic and holds for every head. Which scale is the right one depends on the "
        "question: fitted colours show structure within one head, a fixed scale lets heads be "
        "compared. Either should be printed beside the picture."
    ),
    sources=(
        "Softmax does not see a constant that is added to a row: Goodfellow et al. 2016, Deep "
        "Learning, section 4.1."
    ),
    planted=Planted(
        1, 2, "A head that is even everywhere, and looks busy on a scale that is fitted to it."
    ),
)
