"""A weight is not a learned parameter: one head on two texts, its parameters before and after."""

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from attnviz.charts.compared import compared
from dashboard.misconceptions import scripts as scripts
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Reader, slight
from dashboard.session import backend
from dashboard.widgets import text_place
from dashboard.widgets.example_texts import EXAMPLES
from dashboard.widgets.figure import figure

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.heads.head import Head
    from attnviz.models import LoadedModel


def checksum(model: "LoadedModel", module: str) -> str:
    """SHA-256 over every parameter of one attention block, first eight signs."""
    import torch

    found = hashlib.sha256()
    for name, parameter in sorted(model.hf.get_submodule(module).state_dict().items()):
        found.update(name.encode())
        found.update(parameter.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()[:8]


def _measure(reader: Reader) -> None:
    names = [name for name, text in EXAMPLES.items() if text != reader.selection.text]
    chosen = text_place.choose(
        "The other text", names, "claim_other", names[0], help="From the examples.", width=250
    )
    own = reader.run("checksum", lambda model, cap: _runs(model, cap, reader, EXAMPLES[chosen]),
                     chosen)  # fmt: skip
    sums, again, other = own
    st.text(
        f"Parameters of the attention in layer {reader.selection.layer}: checksum {sums[0]} before "
        f"the runs, {sums[1]} after your text, {sums[2]} after the other one."
    )
    st.text(
        f"Your text run twice: no weight of this head differs by more than {slight(again)}. The "
        "other text gives the head other weights, of another shape:"
    )
    titles = ("Your text: weights", "The other text: weights")
    last = len(other.weights) - 1
    chart = compared(
        reader.head, other, query=reader.row, other_query=last, names=titles, bars=False
    )
    frame = pd.DataFrame(
        {
            "Text": ["yours", "the other"],
            "Queries": [len(h.weights) for h in (reader.head, other)],
            "Keys": [h.weights.shape[1] for h in (reader.head, other)],
            "Largest weight off the first token": [_top(h) for h in (reader.head, other)],
            "Mean weight on the first token": [_first(h) for h in (reader.head, other)],
        }
    )
    script = scripts.two_texts(EXAMPLES[chosen], reader.ask.tokenizing)
    first = [f"{_first(h):.2f}" if len(h.weights) > 1 else "unknown" for h in (reader.head, other)]
    alt = (
        "Maps of the weights of one head on two texts. The mean weight on the first token is "
        f"{first[0]} in yours and {first[1]} in the other."
    )
    figure("claim_two", chart, alt, frame, script=script)


def _runs(
    model: "LoadedModel", capture: "Capture", reader: Reader, text: str
) -> tuple[list[str], float, "Head"]:
    """Checksums before and after two runs, the largest difference of two runs on one text, and
    the head on the other text."""
    import numpy as np

    block = capture.block(reader.selection.layer, reader.selection.stack)
    sums = [checksum(model, block.module)]
    ask = reader.ask
    second = backend.run_model(model, ask).head(**reader.at)
    sums.append(checksum(model, block.module))
    # read as the reader's own text is; the model writes what its decoder reads
    of_other = replace(ask, text=text, target="", cut_to=backend.MAX_TOKENS)
    other = backend.run_model(model, of_other).head(**reader.at)
    sums.append(checksum(model, block.module))
    return sums, float(np.abs(second.weights - reader.head.weights).max()), other


def _first(head: "Head") -> float:
    return float(head.weights[1:, 0].mean()) if len(head.weights) > 1 else float("nan")


def _top(head: "Head") -> float:
    return float(head.weights[1:, 1:].max(initial=0.0))


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
