"""Averaging heads and multiplying layers: rollout beside the rollout of even attention."""

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from dashboard.misconceptions import scripts as scripts
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Reader
from dashboard.misconceptions.two_rows import two_rows
from dashboard.widgets.figure import figure

if TYPE_CHECKING:
    from attnviz.capture import Capture


def _measure(reader: Reader) -> None:
    if reader.selection.stack == "cross":
        st.text(
            "Rollout multiplies square matrices, and attention from one text to another is not "
            "square. Choose the encoder or the decoder in the sidebar."
        )
        return
    rolled, even, mean = reader.watch("rollout", lambda _, cap, step: rollouts(cap, reader, step))
    _rollout(reader, rolled, even)
    _average(reader, mean)


def rollouts(
    capture: "Capture", reader: Reader, step: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(query, key) rollout, the rollout of even attention, and the chosen row averaged over the
    heads of its layer."""
    from attnviz.faithfulness import rollout, uniform_rollout

    stack = reader.selection.stack
    rolled = rollout(capture, stack, progress=step)
    layers = len(capture.layers(stack))
    even = uniform_rollout(len(rolled), layers, causal=reader.head.causal)
    block = capture.block(reader.selection.layer, stack)
    rows = [block.head(h, [reader.row]).weights[0] for h in range(block.heads)]
    return rolled, even, np.mean(rows, axis=0)


def _rollout(reader: Reader, rolled: np.ndarray, even: np.ndarray) -> None:
    import pandas as pd

    from attnviz.charts.paired_bars import BEFORE, paired_bars
    from attnviz.charts.palettes import SOLID
    from attnviz.faithfulness import total_variation

    row, flat = rolled[reader.row], even[reader.row]
    square = np.tri(len(rolled), dtype=bool) if reader.head.causal else np.ones(rolled.shape, bool)
    distance = np.mean([total_variation(a, b) for a, b in zip(rolled, even, strict=True)])
    alike = f"correlate at {_pearson(rolled[square], even[square])} over all cells"
    if np.ptp(even[square]) < 1e-6:
        alike = "cannot be correlated, since even attention without a mask rolls out flat"
    finding = (
        f"The rollout of {reader.query} puts {row[0]:.3f} on the first token; the rollout of "
        f"attention that knows nothing puts {flat[0]:.3f} there. The two {alike}, and their rows "
        f"differ by {distance:.3f} on average (total variation, 0 to 1)."
    )
    st.text(finding)
    names = reader.keys
    series = {"even attention": flat, "this model": row}
    chart = paired_bars(names, series, title="share by rollout", colours=[BEFORE, SOLID["weight"]])
    table, script = pd.DataFrame({"Key": names} | series), scripts.rolled_out(reader.row)
    figure("claim_rollout", chart, finding, table, script=script)


def _pearson(one: np.ndarray, other: np.ndarray) -> str:
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return "no defined value"
    return f"{np.corrcoef(one, other)[0, 1]:.3f}"


def _average(reader: Reader, mean: np.ndarray) -> None:
    """The head beside the average that hides it."""
    from attnviz.faithfulness import total_variation

    if not len(reader.seen):
        return
    own = reader.head.weights[reader.row]
    finding = (
        f"The average of the heads of layer {reader.selection.layer} gives "
        f"{reader.key(reader.heaviest)} {mean[reader.heaviest]:.3f}, where this head gives "
        f"{own[reader.heaviest]:.3f}. Total variation between the two rows: "
        f"{total_variation(own, mean):.3f}."
    )
    pair = (("average of the heads", mean), ("this head", own))
    two_rows(reader, "claim_average", finding, *pair, script=scripts.averaged(reader.row))


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
