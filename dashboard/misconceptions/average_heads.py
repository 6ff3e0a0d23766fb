"""Averaging heads and multiplying layers: rollout beside the rollout of even attention."""

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.charts.paired_bars import BEFORE
from attnviz.charts.palettes import SOLID
from attnviz.experiments.averaged_heads import Rollout, average_heads, roll_out
from attnviz.heads.distances import total_variation
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Subject
from dashboard.session.script_body import write_call
from dashboard.widgets.figure import draw_bars


def _measure(subject: Subject) -> None:
    if subject.selection.stack == "cross":
        st.text(
            "Rollout multiplies square matrices, and attention from one text to another is not "
            "square. Choose the encoder or the decoder in the sidebar."
        )
        return
    head, row = subject.head, subject.row
    rolled, averaged = subject.watch(
        "rollout",
        lambda _, cap, step: (roll_out(cap, head, row, step), average_heads(cap, head, row)),
    )
    _draw_rollout(subject, rolled)
    if len(subject.seen):
        _draw_average(subject, averaged)


def _draw_rollout(subject: Subject, rolled: Rollout) -> None:
    alike = f"correlate at {rolled.correlation:.3f} over all cells"
    if np.isnan(rolled.correlation):
        alike = "cannot be correlated, since even attention without a mask rolls out flat"
    own, even = (rolled.table[name][0] for name in ("this model", "even attention"))
    finding = (
        f"The rollout of {subject.query} puts {own:.3f} on the first token; the rollout of "
        f"attention that knows nothing puts {even:.3f} there. The two {alike}, and their rows "
        f"differ by {rolled.distance:.3f} on average (total variation, 0 to 1)."
    )
    st.text(finding)
    draw_bars(
        "claim_rollout",
        rolled.table,
        finding,
        title="share by rollout",
        colours=[BEFORE, SOLID["weight"]],
        script=write_call(roll_out, "capture, head", query=subject.row, then=".table"),
    )


def _draw_average(subject: Subject, table: pd.DataFrame) -> None:
    """The head beside the average that hides it."""
    mean, own = (table[name].to_numpy() for name in table.columns[1:])
    heaviest = subject.place_of(subject.heaviest)
    finding = (
        f"The average of the heads of layer {subject.selection.layer} gives "
        f"{subject.key(subject.heaviest)} {mean[heaviest]:.3f}, where this head gives "
        f"{own[heaviest]:.3f}. Total variation between the two rows: "
        f"{total_variation(own, mean):.3f}."
    )
    st.text(finding)
    draw_bars(
        "claim_average",
        table,
        finding,
        title="weight, share of the row",
        colours=[BEFORE, SOLID["weight"]],
        height=120,
        script=write_call(average_heads, "capture, head", query=subject.row),
    )


ENTRY = Entry(
    key="average-heads",
    claim="Average the heads, or multiply the layers, and you have the explanation",
    believed=(
        "One picture is easier to show than hundreds. Averaging heads gives one a layer, and "
        "multiplying the layers, called rollout, gives one for the whole model, from input to "
        "output."
    ),
    true=(
        "An average of heads that do different things shows none of them. Rollout multiplies "
        "averages with an even mix of the residual path, and leaves out the values, the output "
        "projections, the feed-forward layers and every sign. In a model where no token looks "
        "ahead, early tokens are seen by more tokens, and after many layers nearly all the mass is "
        "at the start, whatever was learned: attention that is perfectly even gives nearly the "
        "same picture."
    ),
    title="Rollout beside the rollout of even attention",
    measure=_measure,
    carries=(
        "Where the two pictures agree, rollout tells about the shape of the mask and the number of "
        "layers. Where they differ, the difference comes from the attention, but it is still no "
        "statement about the output. In a model that looks both ways, even attention rolls out "
        "flat, and rollout has more to say."
    ),
    sources=(
        "Abnar and Zuidema 2020, Quantifying Attention Flow in Transformers. Kobayashi et al. "
        "2020, Attention is Not Only a Weight, on what is left out."
    ),
    planted=Planted(
        1, 0, "Two layers, six heads of which each has a known job: the average shows none of them."
    ),
)
