"""Score and weight: the same row before and after softmax, shifted and scaled."""

import numpy as np
import streamlit as st

from dashboard.misconceptions import scripts as scripts
from dashboard.misconceptions.entry import Entry
from dashboard.misconceptions.subject import Reader, slight
from dashboard.session import state
from dashboard.widgets.figure import figure


def _measure(reader: Reader) -> None:
    if not reader.attends():
        return
    with st.container(horizontal=True, gap="small"):
        shift = _number(
            "Add to every score", "claim_shift", 3.0, "The same number on each score of the row."
        )
        factor = _number(
            "Multiply every score by", "claim_factor", 2.0, "Above 1 the weights get more pointed."
        )
    scores, weights = rows(reader, shift, factor)
    plain = scores["as they are"]
    st.text(
        f"The scores of {reader.query} run from {plain.min():.3g} to {plain.max():.3g} and add up "
        f"to {plain.sum():.4g}. Its weights run from {weights['as they are'].min():.2g} to "
        f"{weights['as they are'].max():.3g} and add up to {weights['as they are'].sum():.4f}."
    )
    moved = {
        name: float(np.abs(row - weights["as they are"]).max()) for name, row in weights.items()
    }
    _, shifted, scaled = weights
    st.text(
        f"Adding {shift:g} to every score moves no weight by more than {slight(moved[shifted])}. "
        f"Multiplying every score by {factor:g} moves one by {moved[scaled]:.3f}."
    )
    for what, series, unit in (
        ("scores", scores, "score, no unit"),
        ("weights", weights, "weight, share of the row"),
    ):
        script = scripts.score_and_weight(reader.row, shift, factor, what)
        _draw(reader, what, series, unit, script)


def rows(
    reader: Reader, shift: float, factor: float
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The scores and the weights of the row: as they are, shifted, scaled. A sink's logit is one
    more score of the row, and goes along."""
    from attnviz.heads.softmax import weigh

    row, sink = reader.head.scores[reader.row, reader.seen], reader.head.sink_logit
    ways = {
        "as they are": (1.0, 0.0),
        f"all {shift:+g}": (1.0, shift),
        f"all times {factor:g}": (factor, 0.0),
    }
    scores = {name: row * np.float32(f) + np.float32(s) for name, (f, s) in ways.items()}
    weights = {
        name: weigh(scores[name][None], None if sink is None else sink * f + s)[0][0]
        for name, (f, s) in ways.items()
    }
    return scores, weights


def _draw(reader: Reader, what: str, series: dict[str, np.ndarray], unit: str, script: str) -> None:
    import pandas as pd

    from attnviz.charts.paired_bars import BEFORE, paired_bars
    from attnviz.charts.palettes import SOLID, hexes

    colour = SOLID["weight"] if what == "weights" else hexes("score")[-3]
    chart = paired_bars(
        reader.seen_keys, series, title=unit, colours=[BEFORE, colour, SOLID["against"]], height=120
    )
    top = {name: reader.seen_keys[int(row.argmax())] for name, row in series.items()}
    alt = f"The {what} of the row, largest at " + ", ".join(
        f"{key} ({name})" for name, key in top.items()
    )
    table = pd.DataFrame({"Key": reader.seen_keys} | series)
    figure(f"claim_{what}", chart, alt + ".", table, script=script)


def _number(title: str, key: str, value: float, help: str) -> float:
    st.session_state.setdefault(key, value)
    return st.number_input(title, key=key, step=0.5, help=help, width=200, on_change=state.touch)


ENTRY = Entry(
    key="score-and-weight",
    claim="Score and weight are two names of one thing",
    believed=(
        "Both are drawn as a square of colours, both are called attention, and some glossaries "
        "list one word under the other. Papers that say attention map nearly always mean weights."
    ),
    true=(
        "A score is what comes out of comparing a query with a key: any number, below or above 0, "
        "with no unit, in a row that adds up to nothing in particular. Softmax turns the row of "
        "scores into weights: shares between 0 and 1 that add up to 1. Only differences within a "
        "row pass through it. Add the same number to every score of a row, and every weight stays "
        "as it was; multiply them, and the weights change."
    ),
    title="One row before and after softmax",
    measure=_measure,
    carries=(
        "This holds for every head that uses softmax, whatever it has learned: it is arithmetic, "
        "not a finding about this model. What remains of a shift is the rounding of the numbers."
    ),
    sources=(
        "Vaswani et al. 2017, Attention Is All You Need, section 3.2.1, for the scaled product "
        "and softmax."
    ),
)
