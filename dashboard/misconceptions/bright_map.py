"""A bright map: one matrix on two colour scales, and scores whose rows were shifted."""

from typing import Any

import numpy as np
import streamlit as st

from attnviz.charts.heat import heat, heats
from attnviz.experiments.averaged_heads import find_evenest_head, largest_weight
from attnviz.experiments.shifted_scores import shift_rows
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Subject, slight
from dashboard.session.script_body import write_call
from dashboard.widgets import text_place
from dashboard.widgets.figure import numbers


def _measure(subject: Subject) -> None:
    head, at = subject.head, subject.selection
    number, top = subject.run("evenest", lambda _, cap: find_evenest_head(cap, at.layer, at.stack))
    even = subject.capture.head(at.layer, number, at.stack).weights
    longest = max(int(head.allowed.sum(axis=1).max(initial=1)), 1)
    st.text(
        f"In the second half of the text, the largest weight of this head is "
        f"{largest_weight(head):.3f}. The evenest head of the layer is number {number}, with "
        f"{top:.3f}; even weights over the longest row would be {1 / longest:.3f}. On a scale "
        "fitted to it, it looks like this:"
    )
    with st.container(horizontal=True, gap="small"):
        drawn = [
            _map(subject, f"Head {at.head}, 0 to 1", head.weights, 0.0, 1.0, "weight"),
            _map(subject, f"Head {number}, 0 to 1", even, 0.0, 1.0, "weight"),
            _map(subject, f"Head {number}, 0 to {top:.3g}", even, 0.0, top or 1.0, "weight"),
        ]
    found = shift_rows(head)
    reach = float(max(np.abs(found.scores).max(), np.abs(found.shifted).max())) or 1.0
    st.text(
        "Scores, as they are and with another constant added to each row. The weights that "
        f"softmax makes of the two differ by at most {slight(found.error)}:"
    )
    with st.container(horizontal=True, gap="medium"):
        drawn += [
            _map(subject, "Scores as they are", found.scores, -reach, reach, "score"),
            _map(subject, "Scores, each row shifted", found.shifted, -reach, reach, "score"),
        ]
    alt = "The largest weight and score of each row."
    script = write_call(shift_rows, "head", then=".table")
    numbers("claim_bright", found.table, alt, chart=heats(drawn, columns=3), script=script)


def _map(
    subject: Subject, title: str, values: np.ndarray, low: float, high: float, colours: str
) -> dict[str, Any]:
    """Draw one map; how it is drawn comes back."""
    options: dict[str, Any] = {
        "values": values,
        "shown": subject.head.allowed,
        "colours": colours,
        "low": low,
        "high": high,
        "title": title,
        "queries": text_place.labels(subject.head.query_tokens),
        "keys": subject.keys,
        "side": 254 if colours == "weight" else 330,
    }
    with st.container(width=254 if colours == "weight" else 340):
        st.altair_chart(
            heat(**options),
            key=f"claim_bright_{title}",
            width="content",
            alt=f"{title}: a map of the head whose darkest cell is "
            f"{values[subject.head.allowed].max(initial=low):.3g}, on colours from {low:.3g} to "
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
