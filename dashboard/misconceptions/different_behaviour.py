"""Other weights, and what becomes of the output: dealt anew, even, erased, or sought to mislead."""

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from dashboard.misconceptions import scripts as scripts
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Reader
from dashboard.misconceptions.two_rows import two_rows
from dashboard.widgets import text_place
from dashboard.widgets.figure import figure

if TYPE_CHECKING:
    from attnviz.faithfulness import Adversary, Permutations

DEALS = 100
STEPS, RESTARTS = 60, 2
_SCOPES = {"head": "This head", "layer": "Every head of this layer"}


def _measure(reader: Reader) -> None:
    if not (reader.attends() and reader.puts_out()):
        return
    scope = text_place.choose(
        "Weights dealt anew in",
        list(_SCOPES),
        "claim_scope",
        "head",
        words=_SCOPES.__getitem__,
        help="Whose weights of this row are dealt out at random among the keys it may see.",
        width=220,
    )
    head = reader.selection.head if scope == "head" else None
    found, even, heaviest = reader.watch(
        "deals", lambda model, cap, step: _deals(model, cap, reader, head, step), scope
    )
    (gone,) = reader.changes("gone", [(_gone(reader, head),)])
    _spread(reader, found, even, gone, scripts.deals(reader.row, head, DEALS))
    st.text(
        f"Erasing single weights instead: erasing the largest moves the output more than erasing "
        f"each of {heaviest:.0%} of the others; chance would be 50%."
        if np.isfinite(heaviest)
        else "Erasing single weights needs a row with more than one weight."
    )
    _adversary(reader)


def _deals(
    model: Any, capture: Any, reader: Reader, head: int | None, step: Any
) -> "tuple[Permutations, float, float]":
    from attnviz.faithfulness import erasure, flat, permutations

    layer, row, stack = reader.selection.layer, reader.row, reader.selection.stack
    found = permutations(model, capture, layer, head, row, stack=stack, count=DEALS, progress=step)
    even = flat(model, capture, layer, head, row, stack=stack)
    own = erasure(model, capture, layer, reader.selection.head, row, stack=stack)
    return found, even, own.heaviest_beats


def _gone(reader: Reader, head: int | None) -> Any:
    from attnviz.interventions import Ablate

    return Ablate(reader.selection.layer, head, reader.selection.stack, queries=(reader.row,))


def _spread(reader: Reader, found: "Permutations", even: float, gone: float, script: str) -> None:
    import pandas as pd

    from attnviz.charts.spread import spread

    finding = (
        f"Dealt anew {DEALS} times, the weights of {reader.query} move the output by "
        f"{found.median:.2g} at the median and {found.changes.max():.2g} at most ({reader.unit}). "
        f"Even weights move it by {even:.2g}, no output at all by {gone:.2g}."
    )
    st.text(finding)
    st.text(
        "The dealt rows are far from the real one: their divergence from it is "
        f"{np.median(found.divergences):.2f} nats at the median, where {np.log(2):.2f} is the most "
        "there can be."
    )
    lines = {"even weights": even, "no output": gone}
    chart = spread(found.changes, title=reader.unit, noun="deals", lines=lines)
    table = pd.DataFrame({"Deal": range(DEALS), "Change": found.changes, "JSD": found.divergences})
    figure("claim_deals", chart, finding, table, script=script)


def _adversary(reader: Reader) -> None:
    if not reader.predicts:
        st.text(
            "Weights sought to mislead are not looked for here: nearly the same output is a "
            "statement about a distribution over tokens, and this model puts out none on this "
            "text."
        )
        return
    found = reader.on_demand(
        "adversary",
        lambda model, cap, step: _search(model, cap, reader, STEPS, RESTARTS, step),
        "Look for other weights with nearly the same output",
        lambda: _cost(reader),
    )
    if found is None:
        return
    if not found.found:
        st.text(
            f"None found within {STEPS} steps from {RESTARTS} starts that moves the output by at "
            f"most {found.allowed:g}. They may still exist."
        )
        return
    _found(reader, found)


def _search(
    model: Any, capture: Any, reader: Reader, steps: int, restarts: int, step: Any
) -> "Adversary":
    from attnviz.faithfulness import adversary

    at = reader.at | {"query": reader.row}
    return adversary(model, capture, **at, steps=steps, restarts=restarts, progress=step)


def _cost(reader: Reader) -> float:
    """Seconds of the whole search, from two timed steps."""

    def timed(model: Any, capture: Any) -> float:
        _search(model, capture, reader, 1, 1, None)  # the first is slower than the rest
        started = time.perf_counter()
        _search(model, capture, reader, 1, 1, None)
        return (time.perf_counter() - started) * STEPS * RESTARTS

    return reader.run("adversary cost", timed)


def _found(reader: Reader, found: "Adversary") -> None:
    finding = (
        f"Found: weights {found.divergence:.2f} nats from the real ones (at most {np.log(2):.2f}) "
        f"that move the output by only {found.change:.2g} (allowed {found.allowed:g})."
    )
    real = reader.head.weights[reader.row]
    script = scripts.sought(reader.row, STEPS, RESTARTS)
    pair = (("real", real), ("found", found.weights))
    two_rows(reader, "claim_found", finding, *pair, script=script)


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
