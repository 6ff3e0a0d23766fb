"""A weight is not a learned parameter: one head on two texts, its parameters before and after."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from attnviz.charts.compared import compared
from attnviz.experiments.two_texts import TwoTexts, compare_texts
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Subject, slight
from dashboard.session import backend
from dashboard.session.script_body import write_call
from dashboard.widgets import text_place
from dashboard.widgets.example_texts import EXAMPLES
from dashboard.widgets.figure import draw_figure

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.models import LoadedModel


def _measure(subject: Subject) -> None:
    names = [name for name, text in EXAMPLES.items() if text != subject.selection.text]
    chosen = text_place.draw_choice(
        "The other text", names, "claim_other", names[0], help="From the examples.", width=250
    )

    def make(model: "LoadedModel", capture: "Capture") -> TwoTexts:
        ask = replace(subject.ask, text=EXAMPLES[chosen], cut_to=backend.MAX_TOKENS)
        text = backend.cut_text(model, ask)
        return compare_texts(model, capture, subject.head, text, **ask.tokenizing)

    found: TwoTexts = subject.run("checksum", make, chosen)
    first, second, third = found.checksums
    st.text(
        f"Parameters of the attention in layer {subject.selection.layer}: checksum {first} before "
        f"the runs, {second} after your text, {third} after the other one."
    )
    st.text(
        f"Your text run twice: no weight of this head differs by more than "
        f"{slight(found.repeat_error)}. The other text gives the head other weights, of another "
        "shape:"
    )
    chart = compared(
        subject.head,
        found.other,
        query=subject.row,
        other_query=len(found.other.weights) - 1,
        names=("Your text: weights", "The other text: weights"),
        bars=False,
    )
    means = found.table["Mean weight on the first token"]
    yours, others = ("unknown" if np.isnan(mean) else f"{mean:.2f}" for mean in means)
    alt = (
        "Maps of the weights of one head on two texts. The mean weight on the first token is "
        f"{yours} in yours and {others} in the other."
    )
    options = {"other_text": EXAMPLES[chosen], **subject.ask.tokenizing}
    script = write_call(compare_texts, "model, capture, head", then=".table", **options)
    draw_figure("claim_two", chart, alt, found.table, script=script)


ENTRY = Entry(
    key="learned-parameter",
    claim="An attention weight is a learned parameter",
    believed=(
        "The word weight has two meanings. The weights of a model are the numbers that training "
        "adjusted and that a file holds. The attention weights of a head are called by the same "
        "word."
    ),
    true=(
        "What is learned are the matrices that make queries, keys and values out of tokens. An "
        "attention weight is worked out anew for every pair of tokens of every text, and is "
        "forgotten afterwards. Another text gives other attention weights and leaves every "
        "parameter where it was."
    ),
    title="The same head on two texts",
    measure=_measure,
    carries=(
        "The checksum covers all numbers of this layer's attention, those of its other heads "
        "included. Equal checksums mean that not one bit of them changed."
    ),
    sources="Vaswani et al. 2017, Attention Is All You Need, section 3.2.",
    planted=Planted(
        1, 0, "Every parameter there was written by hand, and the weights still follow the text."
    ),
)
