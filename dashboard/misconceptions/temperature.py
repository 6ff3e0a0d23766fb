"""Temperature on a head's scores is not the temperature of sampling."""

import streamlit as st

from attnviz.charts.paired_bars import BEFORE
from attnviz.charts.palettes import SOLID, hexes
from attnviz.experiments.output_tokens import TemperedOutput, compare_temperatures
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Subject
from dashboard.session import state
from dashboard.session.outcome import name_predictions
from dashboard.session.script_body import write_call
from dashboard.widgets.figure import draw_bars


def _measure(subject: Subject) -> None:
    if not subject.puts_out():
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

    one = (Temper(**subject.at, temperature=temperature),)
    every = (Temper(stack=subject.selection.stack, temperature=temperature),)
    if not subject.predicts:
        moved = subject.changes("temper", [one, every])
        st.text(
            "This model puts out no distribution over tokens on this text, so there is nothing to "
            f"sample from. A temperature of {temperature:g} on the scores of this head changes the "
            f"token's last state by {moved[0]:.2g}, and on those of every head by {moved[1]:.2g} "
            f"({subject.unit})."
        )
        return
    found = subject.run(
        "temperature",
        lambda model, cap: compare_temperatures(model, cap, subject.head, temperature),
        one,
    )
    _draw(subject, found, temperature)


def _draw(subject: Subject, found: TemperedOutput, temperature: float) -> None:
    first, *said = [
        f"{way}: entropy {found.entropy[way]:.2f} nats, moved by {found.moved[way]:.3f}"
        for way in found.entropy
    ]
    finding = "Temperature on " + "; ".join(said) + f". {first.capitalize()}."
    st.text(finding)
    st.text("Moved by: total variation of the output, 0 to 1.")
    draw_bars(
        "claim_temperature",
        found.table,
        f"Probabilities of the likeliest {name_predictions(subject.capture)} in four ways. "
        + finding,
        title="probability",
        colours=[BEFORE, SOLID["weight"], hexes("score")[-3], SOLID["contribution"]],
        lying=True,
        script=write_call(
            compare_temperatures, "model, capture, head", temperature=temperature, then=".table"
        ),
    )


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
