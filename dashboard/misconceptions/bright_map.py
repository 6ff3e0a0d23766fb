"""A bright map: one matrix on two colour scales, and scores whose rows were shifted."""

from typing import Any

import numpy as np
import streamlit as st

from attnviz.charts import ArrayMap, heatmap
from attnviz.experiments.averaged_heads import EvenestHead, find_evenest_head, largest_weight
from attnviz.experiments.shifted_scores import shift_rows
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Subject, slight
from dashboard.session.script_body import write_call
from dashboard.widgets.figure import draw_figure


def _measure(subject: Subject) -> None:
    head, at = subject.head, subject.selection
    found: EvenestHead = subject.run("evenest", lambda _, cap: find_evenest_head(cap, head))
    number, top, table = found
    longest = max(int(head.allowed.sum(axis=1).max(initial=1)), 1)
    st.text(
        f"In the second half of the text, the largest weight of this head is "
        f"{largest_weight(head):.3f}. The evenest head of the layer is number {number}, with "
        f"{top:.3f}; even weights over the longest row would be {1 / longest:.3f}. On a scale "
        "fitted to it, it looks like this:"
    )
    placed: dict[str, Any] = {
        "tokens": head.query_tokens,
        "key_tokens": head.key_tokens,
        "allowed": head.allowed,
        "query": subject.row,
    }
    colours: dict[str, Any] = {"colours": "weight", "low": 0}
    even = subject.capture.head(at.layer, number, at.stack).weights
    drawn = [
        ArrayMap(head.weights, f"Head {at.head}, 0 to 1", **colours, high=1),
        ArrayMap(even, f"Head {number}, 0 to 1", **colours, high=1),
        ArrayMap(even, f"Head {number}, 0 to {top:.3g}", **colours, high=top or 1),
    ]
    alt = (
        f"Maps of two heads. The darkest cell of the evenest one is {top:.3g}: pale on colours "
        "from 0 to 1, and dark on colours fitted to it."
    )
    script = write_call(find_evenest_head, "capture, head", then=".table")
    draw_figure("claim_bright", heatmap(drawn, **placed), alt, table, script=script)
    scores, shifted, error, table = shift_rows(head)
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
    alt = (
        f"Maps of the scores, as they are and shifted, on colours from {-reach:.3g} to {reach:.3g}."
    )
    script = write_call(shift_rows, "head", then=".table")
    draw_figure("claim_shifted", heatmap(drawn, **placed), alt, table, script=script)


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
