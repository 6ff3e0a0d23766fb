"""Other weights, and what becomes of the output: permuted, even, erased, or sought to mislead."""

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from attnviz.charts.paired_bars import BEFORE
from attnviz.charts.palettes import SOLID
from attnviz.charts.spread import spread
from attnviz.experiments.changed_rows import PermutedRow, SoughtWeights, permute_row, seek_weights
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Subject
from dashboard.session.script_body import write_call
from dashboard.widgets import text_place
from dashboard.widgets.figure import draw_bars, draw_figure

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.models import LoadedModel

DEALS = 100
STEPS, RESTARTS = 60, 2
_SCOPES = {"head": "This head", "layer": "Every head of this layer"}


def _measure(subject: Subject) -> None:
    if not (subject.attends() and subject.puts_out()):
        return
    scope = text_place.draw_choice(
        "Weights dealt anew in",
        list(_SCOPES),
        "claim_scope",
        "head",
        words=_SCOPES.__getitem__,
        help="Whose weights of this row are dealt out at random among the keys it may see.",
        width=220,
    )
    options: dict[str, Any] = {"whole_layer": scope == "layer", "count": DEALS}
    found = subject.watch(
        "deals",
        lambda model, cap, step: permute_row(
            model, cap, subject.head, subject.row, **options, progress=step
        ),
        scope,
    )
    script = write_call(
        permute_row, "model, capture, head", query=subject.row, then=".table", **options
    )
    _spread(subject, found, _change_without(subject, scope), script)
    st.text(
        f"Erasing single weights instead: erasing the largest moves the output more than erasing "
        f"each of {found.heaviest_beats:.0%} of the others; chance would be 50%."
        if np.isfinite(found.heaviest_beats)
        else "Erasing single weights needs a row with more than one weight."
    )
    _sought(subject)


def _change_without(subject: Subject, scope: str) -> float:
    """How far the output moves when the head, or the whole layer, puts out nothing at the row."""
    from attnviz.interventions import Ablate

    layer, head, stack = subject.at.values()
    gone = Ablate(layer, head if scope == "head" else None, stack, queries=(subject.row,))
    return subject.changes("gone", [(gone,)])[0]


def _spread(subject: Subject, found: PermutedRow, gone: float, script: str) -> None:
    permuted, even = found.permutations, found.even
    finding = (
        f"Dealt anew {DEALS} times, the weights of {subject.query} move the output by "
        f"{permuted.median:.2g} at the median and {permuted.changes.max():.2g} at most "
        f"({subject.unit}). Even weights move it by {even:.2g}, no output at all by {gone:.2g}."
    )
    st.text(finding)
    st.text(
        "The dealt rows are far from the real one: their divergence from it is "
        f"{np.median(permuted.divergences):.2f} nats at the median, where {np.log(2):.2f} is the "
        "most there can be."
    )
    lines = {"even weights": even, "no output": gone}
    chart = spread(permuted.changes, title=subject.unit, noun="deals", lines=lines)
    draw_figure("claim_deals", chart, finding, found.table, script=script)


def _sought(subject: Subject) -> None:
    if not subject.predicts:
        st.text(
            "Weights sought to mislead are not looked for here: nearly the same output is a "
            "statement about a distribution over tokens, and this model puts out none on this "
            "text."
        )
        return
    found = subject.on_demand(
        "adversary",
        lambda model, cap, step: _seek(model, cap, subject, STEPS, RESTARTS, step),
        "Look for other weights with nearly the same output",
        lambda: _cost(subject),
    )
    if found is None:
        return
    search = found.search
    if not search.found:
        st.text(
            f"None found within {STEPS} steps from {RESTARTS} starts that moves the output by at "
            f"most {search.allowed:g}. They may still exist."
        )
        return
    finding = (
        f"Found: weights {search.divergence:.2f} nats from the real ones (at most "
        f"{np.log(2):.2f}) that move the output by only {search.change:.2g} (allowed "
        f"{search.allowed:g})."
    )
    st.text(finding)
    draw_bars(
        "claim_found",
        found.table,
        finding,
        title="weight, share of the row",
        colours=[BEFORE, SOLID["weight"]],
        height=120,
        script=write_call(
            seek_weights,
            "model, capture, head",
            query=subject.row,
            steps=STEPS,
            restarts=RESTARTS,
            then=".table",
        ),
    )


def _seek(
    model: "LoadedModel",
    capture: "Capture",
    subject: Subject,
    steps: int,
    restarts: int,
    step: Any = None,
) -> SoughtWeights:
    much = {"steps": steps, "restarts": restarts}
    return seek_weights(model, capture, subject.head, subject.row, **much, progress=step)


def _cost(subject: Subject) -> float:
    """Seconds of the whole search, from two timed steps."""

    def timed(model: "LoadedModel", capture: "Capture") -> float:
        _seek(model, capture, subject, 1, 1)  # the first is slower than the rest
        started = time.perf_counter()
        _seek(model, capture, subject, 1, 1)
        return (time.perf_counter() - started) * STEPS * RESTARTS

    return subject.run("adversary cost", timed)


ENTRY = Entry(
    key="different-behaviour",
    claim="Different attention means different behaviour",
    believed=(
        "If attention shows what the model relies on, then changing it must change the answer. And "
        "two models that attend differently must work differently."
    ),
    true=(
        "It depends on the head, the token and the text. Often the weights of one row can be dealt "
        "out anew, or made even, and the output hardly moves; sometimes quite other weights can be "
        "found that give nearly the same output. Elsewhere the same treatment overturns the "
        "prediction. So the weights alone do not tell; the experiment does."
    ),
    title="The output under other weights",
    measure=_measure,
    carries=(
        "The papers studied recurrent models with a single attention layer just before the answer, "
        "where that layer is nearly all there is between text and output. Here one head of many is "
        "changed in one row, and the other heads and the residual path carry on, so small effects "
        "are to be expected; compare with no output at all. Not run here: training a model towards "
        "misleading weights, the diagnostic models of Wiegreffe and Pinter, and other seeds of the "
        "same model, since all of these need training. The search takes fewer steps than the "
        "paper's, and what it does not find may exist."
    ),
    sources=(
        "Jain and Wallace 2019, Attention is not Explanation (shuffled and adversarial weights). "
        "Wiegreffe and Pinter 2019, Attention is not not Explanation (even weights; what that "
        "experiment does and does not show). Serrano and Smith 2019, Is Attention Interpretable? "
        "(erasing weights)."
    ),
    planted=Planted(
        1,
        0,
        "The one head that makes the prediction: other weights overturn it. One head further, the "
        "even one, dealing anew changes nothing at all.",
    ),
)
