"""The output of a head is a vector: what each key adds to it, in bars that add up."""

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.charts.palettes import SOLID
from attnviz.experiments.one_row import decompose_output
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Subject
from dashboard.widgets.figure import draw_bars


def _measure(subject: Subject) -> None:
    if not subject.attends():
        return
    head = subject.head
    if head.v is None:
        st.text("The values of this head are out of reach, so its output cannot be taken apart.")
        return
    table, script = subject.measure_row(decompose_output)
    lengths = table["Length"].to_numpy()
    output = head.output[subject.row]
    size = np.linalg.norm(output if head.w_o is None else output @ head.w_o)
    if head.w_o is None:
        st.text("The output projection is out of reach here: lengths are of weight x value.")
    st.text(
        f"The output of this head at {subject.query} is a vector of length {size:.4g}. The lengths "
        f"of what the keys add sum to {np.nansum(lengths):.4g}, since the parts do not all point "
        "the same way. Had they random directions, the sum would be as long as "
        f"{np.sqrt(np.nansum(lengths**2)):.4g}; had they one direction, as long as their sum."
    )
    error = head.additivity_error
    st.text(
        f"The signed shares add up to {np.nansum(table['Signed share'].to_numpy()):.6f}."
        + (
            ""
            if error is None
            else " Added up as vectors, the parts of every row differ from the head's output by "
            f"at most {error:.1e}."
        )
    )
    _bars("length", "Length", "length of what the key adds", table, script)
    _bars("share", "Signed share", "signed share of the output", table, script)


def _bars(what: str, column: str, title: str, table: pd.DataFrame, script: str) -> None:
    values = table[column].to_numpy()
    if not np.isfinite(values).any():
        st.text("The head's output at this token is 0, so no key has a share of it.")
        return
    most = int(np.nanargmax(np.abs(values)))
    alt = f"{title}: largest at {table['Key'][most]}, {values[most]:.3g}"
    if what == "share":
        against = int((np.nan_to_num(values) < 0).sum())
        alt += f"; {against} of {len(values)} keys pull against the output"
    draw_bars(
        f"claim_{what}",
        table,
        alt + ".",
        title=title,
        colours=[SOLID["contribution"]],
        series={column: what},
        height=120,
        script=script,
    )


ENTRY = Entry(
    key="is-the-output",
    claim="The score, or the weight, is the output of attention",
    believed=(
        "It is what gets drawn. A picture of attention is nearly always a matrix of one number a "
        "pair of tokens, and the step after it is left out."
    ),
    true=(
        "A head puts out a vector for each token: its weights times the value vectors, added up "
        "and sent through the output projection. How much a key adds depends on its weight, on the "
        "length of its value, and on the direction: parts can cancel. The parts add up to the "
        "output exactly, so each can be drawn as a length and as a share along the output."
    ),
    title="What each key adds to the output of this head",
    measure=_measure,
    carries=(
        "The output of one head, before it is added to those of the other heads and to the "
        "residual path. A long part is not yet a part that matters: what later layers make of it "
        "is not in the picture."
    ),
    sources=(
        "Kobayashi et al. 2020, Attention is Not Only a Weight, section 3. Elhage et al. 2021, A "
        "Mathematical Framework for Transformer Circuits, on heads that add to a residual stream."
    ),
    planted=Planted(
        1, 1, "The head that rests on the first token: weights near 1 there, and almost no output."
    ),
)
