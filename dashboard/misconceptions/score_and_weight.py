"""Score and weight: the same row before and after softmax, shifted and scaled."""

import numpy as np
import streamlit as st

from attnviz.charts.paired_bars import BEFORE
from attnviz.charts.palettes import SOLID, hexes
from attnviz.experiments.one_row import shift_scores
from dashboard.misconceptions.entry import Entry
from dashboard.misconceptions.subject import Subject, slight
from dashboard.session import state
from dashboard.widgets.figure import draw_bars


def _measure(subject: Subject) -> None:
    if not subject.attends():
        return
    with st.container(horizontal=True, gap="small"):
        shift = _number(
            "Add to every score", "claim_shift", 3.0, "The same number on each score of the row."
        )
        factor = _number(
            "Multiply every score by", "claim_factor", 2.0, "Above 1 the weights get more pointed."
        )
    scores, weights = (
        subject.measure_row(shift_scores, shift=shift, factor=factor, of=of)
        for of in ("scores", "weights")
    )
    plain = scores[0]["as they are"].to_numpy()
    own, shifted, scaled = (weights[0][name].to_numpy() for name in weights[0].columns[1:])
    st.text(
        f"The scores of {subject.query} run from {plain.min():.3g} to {plain.max():.3g} and add up "
        f"to {plain.sum():.4g}. Its weights run from {own.min():.2g} to {own.max():.3g} and add "
        f"up to {own.sum():.4f}."
    )
    st.text(
        f"Adding {shift:g} to every score moves no weight by more than "
        f"{slight(float(np.abs(shifted - own).max()))}. Multiplying every score by {factor:g} "
        f"moves one by {np.abs(scaled - own).max():.3f}."
    )
    looks = {
        "scores": ("score, no unit", hexes("score")[-3]),
        "weights": ("weight, share of the row", SOLID["weight"]),
    }
    for what, (table, script) in zip(looks, (scores, weights), strict=True):
        unit, colour = looks[what]
        tops = [f"{table['Key'][table[way].argmax()]} ({way})" for way in table.columns[1:]]
        draw_bars(
            f"claim_{what}",
            table,
            f"The {what} of the row, largest at {', '.join(tops)}.",
            title=unit,
            colours=[BEFORE, colour, SOLID["against"]],
            height=120,
            script=script,
        )


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
