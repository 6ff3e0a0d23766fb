"""Nothing is chosen: the share of each key in the weight and in what is added, and what a real
choice would change."""

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.charts.palettes import SOLID
from attnviz.experiments.one_row import share_row
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Subject
from dashboard.widgets.figure import draw_bars


def _measure(subject: Subject) -> None:
    if not subject.attends():
        return
    table, script = subject.measure_row(share_row)
    weights, shares = (table[name].to_numpy() for name in table.columns[1:])
    at, top = subject.place_of(subject.heaviest), subject.key(subject.heaviest)
    share = "an undefined share" if np.isnan(shares[at]) else f"a share of {shares[at]:.3f}"
    st.text(
        f"The largest weight of {subject.query} is {weights[at]:.3f}, on {top}. The "
        f"other {len(weights) - 1} keys get {weights.sum() - weights[at]:.3f} together. Of the "
        f"lengths that all keys add, {top} has {share}."
    )
    _draw(table, script)
    if subject.puts_out():
        _real_choice(subject)


def _draw(table: pd.DataFrame, script: str) -> None:
    first, second = (table["Key"][table[n].fillna(0.0).argmax()] for n in table.columns[1:])
    draw_bars(
        "claim_chosen",
        table,
        f"Shares of each key: most weight at {first}, most length added at {second}.",
        title="share of the row",
        colours=[SOLID["weight"], SOLID["contribution"]],
        script=script,
    )


def _real_choice(subject: Subject) -> None:
    """What would change if the head did choose, beside what even weights change."""
    from attnviz.interventions import Flatten, SetWeights

    alone = np.zeros(subject.head.allowed.shape[1])
    alone[subject.heaviest] = 1.0
    choose, even = subject.changes(
        "a real choice",
        [
            (SetWeights(**subject.at, query=subject.row, weights=tuple(alone.tolist())),),
            (Flatten(**subject.at, query=subject.row),),
        ],
    )
    st.text(
        f"If the head did choose, and gave {subject.key(subject.heaviest)} all the weight, the "
        f"output would move by {choose:.2g} ({subject.unit}). For comparison, even weights over "
        f"all keys move it by {even:.2g}."
    )


ENTRY = Entry(
    key="chosen",
    claim="The biggest weight is what the head chose",
    believed=(
        "One cell of a row is darkest, and a list of the top tokens puts one first. It reads like "
        "an answer to the question which token the head picked."
    ),
    true=(
        "Softmax picks nothing. Every key that is not masked gets a share, and the head puts out "
        "the mix. The largest share can be small, and the rest together can outweigh it. Where "
        "value vectors differ in length, the key with the largest weight need not be the one that "
        "adds most."
    ),
    title="The shares of one row",
    measure=_measure,
    carries=(
        "The shares of lengths leave out directions: parts that cancel count twice. That a real "
        "choice would change little here says that this head's output at this token matters "
        "little, or that its mix was close to one value anyway; compare with even weights."
    ),
    sources=(
        "Kobayashi et al. 2020, Attention is Not Only a Weight. Wiegreffe and Pinter 2019, "
        "Attention is not not Explanation, for even weights as a baseline."
    ),
    planted=Planted(
        0, 2, "A head whose weights are all equal. It has a largest weight too, by rounding."
    ),
)
