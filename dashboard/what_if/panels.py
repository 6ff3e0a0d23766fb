"""The pictures of a what-if: row, output and contributions, before and after on one scale."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.charts.paired_bars import BEFORE, paired_bars
from attnviz.charts.palettes import SOLID
from attnviz.heads.contributions import MEASURES
from dashboard.session import backend
from dashboard.session.outcome import NOTHING_OUT, SHOWN, Outcome, distinct, predicted, puts_out
from dashboard.session.selection import SettledSelection
from dashboard.what_if import maps_before_after
from dashboard.what_if import scripts as scripts
from dashboard.what_if.experiment import MEASURES as OFFERED
from dashboard.what_if.experiment import Experiment
from dashboard.what_if.link import refuse, widget
from dashboard.widgets import text_place
from dashboard.widgets.figure import figure

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.heads.head import Head


def summary(words: str, outcome: Outcome, capture: "Capture", selection: SettledSelection) -> None:
    """What was done, and how far the output moved."""
    st.text(words)
    if not puts_out(capture):
        st.text(NOTHING_OUT)
        st.text(began(outcome, capture, selection))
        return
    with st.container(horizontal=True, gap="large"):
        if outcome.tokens:
            st.metric(
                "Total variation",
                f"{outcome.total_variation:.4f}",
                help="Half the summed change of the probabilities of all tokens: 0 is no change, "
                "1 is two distributions with nothing in common.",
                width="content",
            )
            st.metric(
                "KL divergence",
                f"{outcome.kl:.3g} nats",
                help="KL(before, after) of the distribution over tokens, 0 or more.",
                width="content",
            )
        else:
            st.metric(
                "Change of this token's last state",
                f"{outcome.moved:.4f}",
                help="1 minus the cosine of the last hidden state before and after, 0 to 2.",
                width="content",
            )
        st.metric(
            "With the whole head taken away at this token",
            f"{outcome.whole_head:.4f}",
            help="The same measure as on the left, as something to compare with.",
            width="content",
        )
    st.text(began(outcome, capture, selection))


def draw(
    outcome: Outcome,
    before: "Head",
    capture: "Capture",
    selection: SettledSelection,
    experiment: Experiment,
) -> None:
    """The four pictures: row and output beside each other, contributions, and the maps."""
    query, after = selection.query, outcome.head(selection)
    rows = before, after, query
    if len(before.allowed) > backend.MAX_TOKENS:  # no more is worked out than the row that is read
        rows = before.rows(query, query + 1), after.rows(query, query + 1), 0
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=480):
            st.header("The row", anchor=False)
            row(outcome, *rows)
        with st.container(width=330):
            st.header("The output", anchor=False)
            output(outcome, capture, selection)
    st.header("What each key adds", anchor=False)
    contributions(outcome, *rows, experiment.contribution)
    st.header("The whole head", anchor=False)
    maps_before_after.draw(before, after, outcome.change, selection, experiment.maps)


def began(outcome: Outcome, capture: "Capture", selection: SettledSelection) -> str:
    layers, places = capture.info.layers, len(capture.query_tokens(selection.stack))
    return (
        f"The run began at layer {outcome.from_layer} of {layers} and token "
        f"{outcome.from_position} of {places}; what lies before cannot change and was taken from "
        f"the first run. It took {outcome.seconds:.2f} s."
    )


def row(outcome: Outcome, before: "Head", after: "Head", at: int) -> None:
    """The weights of one row of two heads, before and after."""
    seen = np.flatnonzero(before.allowed[at])
    labels = text_place.labels(before.key_tokens)
    names = [labels[key] for key in seen]
    pair = {"before": before.weights[at, seen], "after": after.weights[at, seen]}
    if not names:
        st.text("This row attends to nothing, before and after.")
        return
    chart = paired_bars(
        names, pair, title="weight, share of the row", colours=[BEFORE, SOLID["weight"]]
    )
    table = pd.DataFrame({"Key": names, "Before": pair["before"], "After": pair["after"]})
    table["Difference"] = table["After"] - table["Before"]
    alt, script = _row_alt(before, after, at), scripts.row(before.first + at)
    figure("if_row", chart, alt, table, change=outcome.change, script=script)


def _row_alt(before: "Head", after: "Head", at: int) -> str:
    change = after.weights[at] - before.weights[at]
    if not change.any():
        return "Weights of the row before and after: nothing changed."
    lost, won = int(change.argmin()), int(change.argmax())
    ends = {
        key: f"from {before.weights[at, key]:.3f} to {after.weights[at, key]:.3f}"
        for key in (lost, won)
    }
    return (
        "Weights of the row before and after: the most is lost at "
        f"{text_place.named(before.key_tokens, lost)}, {ends[lost]}, and won at "
        f"{text_place.named(before.key_tokens, won)}, {ends[won]}."
    )


def output(outcome: Outcome, capture: "Capture", selection: SettledSelection) -> None:
    """The likeliest tokens, or the change of each token's last state."""
    if outcome.tokens:
        names = distinct([token.label for token, *_ in outcome.tokens])
        pair = {
            "before": np.array([p for _, p, _ in outcome.tokens]),
            "after": np.array([q for _, _, q in outcome.tokens]),
        }
        chart = paired_bars(
            names, pair, title="probability", colours=[BEFORE, SOLID["contribution"]], lying=True
        )
        best = int(pair["after"].argmax())
        alt = (
            f"Likeliest {predicted(capture)} before and after. Before: {names[0]} with "
            f"{pair['before'][0]:.3f}. After: {names[best]} with {pair['after'][best]:.3f}."
        )
        table = pd.DataFrame({"Token": names, "Before": pair["before"], "After": pair["after"]})
        table["Difference"] = table["After"] - table["Before"]
        script = scripts.tokens(SHOWN)
        figure("if_output", chart, alt, table, change=outcome.change, script=script)
        return
    tokens = capture.query_tokens("decoder" if "decoder" in capture.stacks else None)
    names, change = text_place.labels(tokens), outcome.state_change
    if not len(change) or not change.max() > 0:
        st.text("No last hidden state changed." if puts_out(capture) else NOTHING_OUT)
        return
    chart = paired_bars(
        names, {"change": change}, title="1 - cosine of the state", colours=[SOLID["contribution"]]
    )
    most = int(change.argmax())
    alt = f"Change of each token's last hidden state: most at {names[most]}, {change[most]:.4f}."
    table = pd.DataFrame({"Token": names, "1 - cosine": change})
    script = scripts.STATES
    figure("if_output", chart, alt, table, change=outcome.change, script=script)


def contributions(outcome: Outcome, before: "Head", after: "Head", at: int, measure: str) -> None:
    """What each key adds to the row, before and after, by a measure of the reader's choice."""
    if after.instead is not None:
        st.text(
            "What the head puts out was replaced as a whole, so it comes from no key: there are "
            "no contributions after the change. The weights are as before."
        )
        return
    options = [m for m in OFFERED if before.w_o is not None or m == "weighted_value_norm"]
    if measure not in options:
        if measure != OFFERED[0]:
            refuse("contribution", OFFERED[0], "this head has no such measure")
        measure = options[0]
    measure = st.selectbox(
        "Contribution by",
        options,
        format_func=lambda name: MEASURES[name].title,
        help="How much each key adds to the head's output at this token.",
        width=220,
        **widget("contribution", measure),
    )
    numbers = [head.contribution_matrix(measure)[at] for head in (before, after)]
    seen = np.flatnonzero(before.allowed[at] & np.isfinite(numbers[0]))
    labels = text_place.labels(before.key_tokens)
    names = [labels[key] for key in seen]
    pair = {"before": numbers[0][seen], "after": numbers[1][seen]}
    if not names:
        st.text("This head gives no such numbers for this row.")
        return
    chart = paired_bars(
        names, pair, title=MEASURES[measure].unit, colours=[BEFORE, SOLID["contribution"]]
    )
    table = pd.DataFrame({"Key": names, "Before": pair["before"], "After": pair["after"]})
    table["Difference"] = table["After"] - table["Before"]
    moved = np.abs(np.nan_to_num(pair["after"]) - pair["before"])
    alt = (
        f"{MEASURES[measure].title} of each key before and after: the largest change is "
        f"{moved.max():.3g}, at {names[int(moved.argmax())]}."
    )
    script = scripts.contributions(before.first + at, measure)
    figure("if_contributions", chart, alt, table, change=outcome.change, script=script)
