"""Nothing is chosen: the share of each key in the weight and in what is added, and what a real
choice would change."""

import numpy as np
import streamlit as st

from dashboard.misconceptions import scripts as scripts
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Reader
from dashboard.widgets.figure import figure


def _measure(reader: Reader) -> None:
    if not reader.attends():
        return
    head, top = reader.head, reader.heaviest
    weights = head.weights[reader.row, reader.seen]
    measure = "weighted_value_norm" if head.w_o is None else "contribution_norm"
    lengths = head.contribution_matrix(measure)[reader.row, reader.seen].astype(float)
    total = np.nansum(lengths)
    shares = lengths / total if total > 0 else np.full(len(lengths), np.nan)
    at = int(np.flatnonzero(reader.seen == top)[0])
    st.text(
        f"The largest weight of {reader.query} is {weights[at]:.3f}, on {reader.key(top)}. The "
        f"other {len(weights) - 1} keys get {weights.sum() - weights[at]:.3f} together. Of the "
        f"lengths that all keys add, {reader.key(top)} has {_share(shares[at])}."
    )
    _draw(reader, weights, shares, scripts.chosen(reader.row, measure))
    if reader.puts_out():
        _real_choice(reader)


def _share(value: float) -> str:
    return "an undefined share" if np.isnan(value) else f"a share of {value:.3f}"


def _draw(reader: Reader, weights: np.ndarray, shares: np.ndarray, script: str) -> None:
    import pandas as pd

    from attnviz.charts.paired_bars import paired_bars
    from attnviz.charts.palettes import SOLID

    series = {"share of the weight": weights, "share of the lengths added": shares}
    chart = paired_bars(
        reader.seen_keys,
        series,
        title="share of the row",
        colours=[SOLID["weight"], SOLID["contribution"]],
    )
    first = reader.seen_keys[int(weights.argmax())]
    second = reader.seen_keys[int(np.nan_to_num(shares).argmax())]
    alt = f"Shares of each key: most weight at {first}, most length added at {second}."
    table = pd.DataFrame({"Key": reader.seen_keys} | series)
    figure("claim_chosen", chart, alt, table, script=script)


def _real_choice(reader: Reader) -> None:
    """What would change if the head did choose, beside what even weights change."""
    from attnviz.interventions import Flatten, SetWeights

    alone = np.zeros(reader.head.allowed.shape[1])
    alone[reader.heaviest] = 1.0
    choose, even = reader.changes(
        "a real choice",
        [
            (SetWeights(**reader.at, query=reader.row, weights=tuple(alone.tolist())),),
            (Flatten(**reader.at, query=reader.row),),
        ],
    )
    st.text(
        f"If the head did choose, and gave {reader.key(reader.heaviest)} all the weight, the "
        f"output would move by {choose:.2g} ({reader.unit}). For comparison, even weights over all "
        f"keys move it by {even:.2g}."
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
