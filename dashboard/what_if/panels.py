"""The pictures of a what-if: row, output and contributions, before and after on one scale."""

from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.charts.paired_bars import BEFORE
from attnviz.charts.palettes import SOLID
from attnviz.experiments.before_after import compare_contributions, compare_rows
from attnviz.experiments.output_tokens import compare_outputs, has_output
from attnviz.heads.contributions import MEASURES
from dashboard.session import backend
from dashboard.session.outcome import NOTHING_OUT, Outcome, name_predictions
from dashboard.session.script_body import write_call
from dashboard.session.selection import SettledSelection
from dashboard.what_if import maps_before_after
from dashboard.what_if.experiment import MEASURES as OFFERED
from dashboard.what_if.experiment import Experiment
from dashboard.what_if.link import refuse, widget
from dashboard.widgets import text_place
from dashboard.widgets.figure import draw_bars

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.heads.head import Head

PAIR = {"Before": "before", "After": "after"}
"""Columns of a table, and their names in its picture."""


def summary(words: str, outcome: Outcome, capture: "Capture", selection: SettledSelection) -> None:
    """What was done, and how far the output moved."""
    st.text(words)
    if not has_output(capture):
        st.text(NOTHING_OUT)
        st.text(began(outcome, capture, selection))
        return
    with st.container(horizontal=True, gap="large"):
        if "After" in outcome.output:
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
    pair = before, after
    if len(before.allowed) > backend.MAX_TOKENS:  # no more is worked out than the selected query
        pair = before.rows(query, query + 1), after.rows(query, query + 1)
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=480):
            st.header("The row", anchor=False)
            draw_row(outcome, *pair, query)
        with st.container(width=330):
            st.header("The output", anchor=False)
            draw_output(outcome, capture)
    st.header("What each key adds", anchor=False)
    draw_contributions(outcome, *pair, query, experiment.contribution)
    st.header("The whole head", anchor=False)
    maps_before_after.draw(before, after, outcome.change, selection, experiment.maps)


def began(outcome: Outcome, capture: "Capture", selection: SettledSelection) -> str:
    layers, places = capture.info.layers, len(capture.query_tokens(selection.stack))
    return (
        f"The run began at layer {outcome.from_layer} of {layers} and token "
        f"{outcome.from_position} of {places}; what lies before cannot change and was taken from "
        f"the first run. It took {outcome.seconds:.2f} s."
    )


def draw_row(outcome: Outcome, before: "Head", after: "Head", query: int) -> None:
    """The weights of one row of two heads, before and after."""
    table = compare_rows(before, after, query)
    if table.empty:
        st.text("This row attends to nothing, before and after.")
        return
    draw_bars(
        "if_row",
        table,
        _describe_row(before, after, query - before.first),
        title="weight, share of the row",
        colours=[BEFORE, SOLID["weight"]],
        series=PAIR,
        change=outcome.change,
        script=write_call(compare_rows, _heads(before), query=query),
    )


def _heads(head: "Head") -> str:
    """The head before and after, as a script has them."""
    return f"run.baseline.head({head.layer}, {head.head}, {head.stack!r}), head"


def _describe_row(before: "Head", after: "Head", at: int) -> str:
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
        f"{text_place.name_token(before.key_tokens, lost)}, {ends[lost]}, and won at "
        f"{text_place.name_token(before.key_tokens, won)}, {ends[won]}."
    )


def draw_output(outcome: Outcome, capture: "Capture") -> None:
    """The likeliest tokens, or the change of each token's last state."""
    table, script = outcome.output, write_call(compare_outputs, "model, run")
    if "After" in table:
        best = table.loc[table["After"].argmax()]
        alt = (
            f"Likeliest {name_predictions(capture)} before and after. Before: "
            f"{table['Token'][0]} with {table['Before'][0]:.3f}. After: {best['Token']} with "
            f"{best['After']:.3f}."
        )
        looks: dict[str, Any] = {"title": "probability", "lying": True, "series": PAIR}
        looks["colours"] = [BEFORE, SOLID["contribution"]]
    else:
        change = table["1 - cosine"]
        if not (change > 0).any():
            st.text("No last hidden state changed." if has_output(capture) else NOTHING_OUT)
            return
        most = change.argmax()
        alt = "Change of each token's last hidden state: most at "
        alt += f"{table['Token'][most]}, {change[most]:.4f}."
        looks = {"title": "1 - cosine of the state", "series": {"1 - cosine": "change"}}
        looks["colours"] = [SOLID["contribution"]]
    draw_bars("if_output", table, alt, **looks, change=outcome.change, script=script)


def draw_contributions(
    outcome: Outcome, before: "Head", after: "Head", query: int, measure: str
) -> None:
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
    table = compare_contributions(before, after, query, measure)
    if table.empty:
        st.text("This head gives no such numbers for this row.")
        return
    moved = (table["After"].fillna(0.0) - table["Before"]).abs()
    draw_bars(
        "if_contributions",
        table,
        f"{MEASURES[measure].title} of each key before and after: the largest change is "
        f"{moved.max():.3g}, at {table['Key'][moved.argmax()]}.",
        title=MEASURES[measure].unit,
        colours=[BEFORE, SOLID["contribution"]],
        series=PAIR,
        change=outcome.change,
        script=write_call(compare_contributions, _heads(before), query=query, measure=measure),
    )
