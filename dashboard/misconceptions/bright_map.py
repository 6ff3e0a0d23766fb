"""A bright map: one matrix on two colour scales, and scores whose rows were shifted."""

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from dashboard.misconceptions import scripts as scripts
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Reader, slight
from dashboard.widgets import text_place
from dashboard.widgets.figure import numbers

if TYPE_CHECKING:
    from attnviz.capture import Capture


def _measure(reader: Reader) -> None:
    import pandas as pd

    from attnviz.charts.heat import heats

    head = reader.head
    number, even, top = reader.run("evenest", lambda _, cap: evenest(cap, reader))
    own = largest(head.weights)
    longest = max(int(head.allowed.sum(axis=1).max(initial=1)), 1)
    st.text(
        f"In the second half of the text, the largest weight of this head is {own:.3f}. The "
        f"evenest head of the layer is number {number}, with {top:.3f}; even weights over the "
        f"longest row would be {1 / longest:.3f}. On a scale fitted to it, it looks like this:"
    )
    with st.container(horizontal=True, gap="small"):
        own_name = f"Head {reader.selection.head}, 0 to 1"
        drawn = [
            _map(reader, own_name, head.weights, 0.0, 1.0, "weight"),
            _map(reader, f"Head {number}, 0 to 1", even, 0.0, 1.0, "weight"),
            _map(reader, f"Head {number}, 0 to {top:.3g}", even, 0.0, top or 1.0, "weight"),
        ]
    scores, shifted, error = shifted_rows(reader)
    reach = float(max(np.abs(scores).max(), np.abs(shifted).max())) or 1.0
    st.text(
        "Scores, as they are and with another constant added to each row. The weights that "
        f"softmax makes of the two differ by at most {slight(error)}:"
    )
    with st.container(horizontal=True, gap="medium"):
        drawn += [
            _map(reader, "Scores as they are", scores, -reach, reach, "score"),
            _map(reader, "Scores, each row shifted", shifted, -reach, reach, "score"),
        ]
    table = pd.DataFrame(
        {
            "Query": text_place.labels(head.query_tokens),
            "Largest weight": head.weights.max(axis=1),
            "Largest score": np.where(head.allowed, scores, -np.inf).max(axis=1),
            "Largest score, shifted": np.where(head.allowed, shifted, -np.inf).max(axis=1),
        }
    )
    alt = "The largest weight and score of each row."
    chart = heats(drawn, columns=3)
    numbers("claim_bright", table, alt, chart=chart, script=scripts.BRIGHT)


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


def _map(
    reader: Reader, title: str, values: np.ndarray, low: float, high: float, colours: str
) -> dict[str, Any]:
    """Draw one map; how it is drawn comes back."""
    from attnviz.charts.heat import heat

    options: dict[str, Any] = {
        "values": values,
        "shown": reader.head.allowed,
        "colours": colours,
        "low": low,
        "high": high,
        "title": title,
        "queries": text_place.labels(reader.head.query_tokens),
        "keys": reader.keys,
        "side": 254 if colours == "weight" else 330,
    }
    with st.container(width=254 if colours == "weight" else 340):
        st.altair_chart(
            heat(**options),
            key=f"claim_bright_{title}",
            width="content",
            alt=f"{title}: a map of the head whose darkest cell is "
            f"{values[reader.head.allowed].max(initial=low):.3g}, on colours from {low:.3g} to "
            f"{high:.3g}.",
        )
    return options


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
