"""Temperature on a head's scores is not the temperature of sampling."""

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from dashboard.misconceptions import scripts as scripts
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Reader
from dashboard.session import state
from dashboard.session.outcome import distinct, predicted
from dashboard.widgets.figure import figure

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.models import LoadedModel

SHOWN = 6


def _measure(reader: Reader) -> None:
    if not reader.puts_out():
        return
    st.session_state.setdefault("claim_temperature", 2.0)
    temperature = st.number_input(
        "Temperature",
        key="claim_temperature",
        min_value=0.1,
        max_value=20.0,
        step=0.25,
        help="One number for all: scores are divided by it inside, or logits after the model.",
        width=170,
        on_change=state.touch,
    )
    from attnviz.interventions import Temper

    one = (Temper(**reader.at, temperature=temperature),)
    every = (Temper(stack=reader.selection.stack, temperature=temperature),)
    if not reader.predicts:
        moved = reader.changes("temper", [one, every])
        st.text(
            "This model puts out no distribution over tokens on this text, so there is nothing to "
            f"sample from. A temperature of {temperature:g} on the scores of this head changes the "
            f"token's last state by {moved[0]:.2g}, and on those of every head by {moved[1]:.2g} "
            f"({reader.unit})."
        )
        return
    tokens, rows = reader.run(
        "temperature", lambda model, cap: distributions(model, cap, one, every, temperature), one
    )
    _draw(reader, tokens, rows, scripts.temperature(temperature, SHOWN))


def distributions(
    model: "LoadedModel", capture: "Capture", one: Any, every: Any, temperature: float
) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """The likeliest tokens, and for each way its probabilities of them, its entropy in nats, and
    its total variation from the baseline."""
    from attnviz.heads.distances import softmax, total_variation
    from attnviz.interventions import effects
    from attnviz.tokens import tokens_of_ids

    assert capture.logits is not None
    logits = capture.logits[-1]
    head, heads = (output[-1] for output in effects(model, capture, [one, every]))
    full = {
        "as it is": softmax(logits),
        "scores of this head": softmax(head),
        "scores of every head": softmax(heads),
        "sampling": softmax(logits / temperature),
    }
    ids = {int(i) for row in full.values() for i in np.argsort(-row)[:SHOWN]}
    order = sorted(ids, key=lambda i: -full["as it is"][i])[: 2 * SHOWN]
    names = distinct([token.label for token in tokens_of_ids(model.tokenizer, order)])
    return names, {
        name: {
            "tokens": row[order],
            "entropy": float(-(row * np.log(np.maximum(row, 1e-300))).sum()),
            "moved": total_variation(row, full["as it is"]),
        }
        for name, row in full.items()
    }


def _draw(reader: Reader, tokens: list[str], rows: dict[str, dict[str, Any]], script: str) -> None:
    import pandas as pd

    from attnviz.charts.paired_bars import BEFORE, paired_bars
    from attnviz.charts.palettes import SOLID, hexes

    said = [
        f"{name}: entropy {row['entropy']:.2f} nats, moved by {row['moved']:.3f}"
        for name, row in rows.items()
    ]
    finding = "Temperature on " + "; ".join(said[1:]) + f". {said[0].capitalize()}."
    st.text(finding)
    st.text("Moved by: total variation of the output, 0 to 1.")
    series = {name: row["tokens"] for name, row in rows.items()}
    colours = [BEFORE, SOLID["weight"], hexes("score")[-3], SOLID["contribution"]]
    chart = paired_bars(tokens, series, title="probability", colours=colours, lying=True)
    alt = f"Probabilities of the likeliest {predicted(reader.capture)} in four ways. {finding}"
    table = pd.DataFrame({"Token": tokens} | series)
    figure("claim_temperature", chart, alt, table, script=script)


ENTRY = Entry(
    key="temperature",
    claim="Temperature makes the model more creative",
    believed=(
        "The same word is used for two divisions by a number before a softmax. Chat programs offer "
        "one of them as a knob, and describe it as the choice between sober and creative."
    ),
    true=(
        "The temperature of sampling divides the logits of the next token once the model is done. "
        "It changes no attention and nothing that the model computed: the order of the tokens "
        "stays, and only the dice are loaded differently. A temperature on a head's scores acts "
        "inside, and makes what the head mixes more even or more pointed; the output may get more "
        "or less certain, and the order of the tokens can change. Neither adds an idea."
    ),
    title="The same temperature in two places",
    measure=_measure,
    carries=(
        "One text and one place. A temperature on scores is a disturbance that the model was not "
        "trained with. More entropy means that the choice is spread wider, not that it is better."
    ),
    sources=(
        "Hinton et al. 2015, Distilling the Knowledge in a Neural Network, section 2, for the "
        "temperature of a softmax over outputs. Vaswani et al. 2017, section 3.2.1, for the "
        "division of scores by the root of the head's size."
    ),
    planted=Planted(
        1, 0, "One head makes the prediction there, so a temperature on its scores shows at once."
    ),
)
