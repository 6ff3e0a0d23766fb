"""Named heads: measures on the reader's text beside shuffled tokens and random tokens."""

from typing import Any

import numpy as np
import streamlit as st

from dashboard.misconceptions import scripts as scripts
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Reader
from dashboard.widgets import text_place
from dashboard.widgets.figure import figure

DRAWS = 3  # of shuffled and of random tokens
STRONG = 0.3  # a head with more of a measure has it to speak of
_ON = {"text": "your text", "shuffled": "shuffled tokens", "random": "random tokens"}


def _measure(reader: Reader) -> None:
    from attnviz.detectors import HEAD_MEASURES, SHARES, controls

    stack = reader.selection.stack
    grids = reader.watch(
        "named",
        lambda model, cap, step: controls(model, cap, stack, draws=DRAWS, progress=step),
    )
    at = (reader.selection.layer, reader.selection.head)
    own = {name: np.array([grids[on][m][at] for m in SHARES]) for on, name in _ON.items()}
    names = [HEAD_MEASURES[name].title for name in SHARES]
    _own(names, own)
    chosen = text_place.choose(
        "All heads by",
        SHARES,
        "claim_measure",
        "previous_token",
        words=lambda name: HEAD_MEASURES[name].title,
        help="The measure on the axes below.",
        width=220,
    )
    st.text(HEAD_MEASURES[chosen].definition)
    _all(grids, chosen, HEAD_MEASURES[chosen].title, at)


def _own(names: list[str], own: dict[str, np.ndarray]) -> None:
    import pandas as pd

    from attnviz.charts.paired_bars import BEFORE, paired_bars
    from attnviz.charts.palettes import SOLID

    lines = [
        f"{name} {_number(text)} on your text, {_number(mixed)} on shuffled tokens, "
        f"{_number(drawn)} on random ones"
        for name, text, mixed, drawn in zip(names, *own.values(), strict=True)
    ]
    finding = "This head. " + "; ".join(lines) + "."
    st.text(finding)
    chart = paired_bars(
        names,
        own,
        title="measure, 0 to 1",
        colours=[SOLID["weight"], SOLID["against"], BEFORE],
        lying=True,
    )
    table = pd.DataFrame({"Measure": names} | own)
    figure("claim_named", chart, finding, table, script=scripts.named_heads(_ON, DRAWS))


def _number(value: float) -> str:
    return "without a number" if np.isnan(value) else f"{value:.2f}"


def _all(grids: dict[str, Any], chosen: str, title: str, at: tuple[Any, Any]) -> None:
    import pandas as pd

    from attnviz.charts.scatter import scatter
    from attnviz.faithfulness import spearman

    text, mixed = (grids[on][chosen] for on in ("text", "shuffled"))
    both = np.isfinite(text) & np.isfinite(mixed)
    if both.sum() < 3:
        st.text("No query of this text and of its shuffled forms has a number by this measure.")
        return
    places = [(int(la), int(h)) for la, h in np.argwhere(both)]
    x, y = text[both], mixed[both]
    finding = (
        f"Over {len(places)} heads, {title.lower()} on your text and on its shuffled tokens "
        f"rank the heads alike at {spearman(x, y):.2f} (1 is the same order, 0 is none). "
        f"Of the {int((x > STRONG).sum())} heads above {STRONG:g} on your text, "
        f"{int(((x > STRONG) & (y > x / 2)).sum())} keep at least half of it on shuffled tokens."
    )
    st.text(finding)
    labels = [f"layer {la}, head {h}" for la, h in places]
    chart = scatter(
        labels,
        x,
        y,
        x_title=f"{title} on your text",
        y_title="on shuffled tokens",
        marked=places.index(at) if at in places else None,
        diagonal=True,
        named=0,
    )
    table = pd.DataFrame({"Head": labels, "Your text": x, "Shuffled": y})
    table["Random"] = grids["random"][chosen][both]
    figure("claim_all", chart, finding, table, script=scripts.all_heads(chosen, DRAWS))


ENTRY = Entry(
    key="named-heads",
    claim="Every head has a meaning that you can name",
    believed=(
        "A few heads do have a plain job, such as looking at the previous token, and papers give "
        "them names. With hundreds of heads to look at, it is easy to find one that seems to do "
        "grammar on the sentence at hand."
    ),
    true=(
        "A name is a hypothesis about what a head does on all texts. A measure on one text gauges "
        "the text as well as the head: a head that rests on the first token scores high on any "
        "text, and repetitions in the text lift whatever counts repetitions. Against shuffled and "
        "random tokens, a head that follows positions keeps its value; one that follows content "
        "loses it. Most heads stand somewhere in between, and many do several things."
    ),
    title="Measures of heads, on your text and on none",
    measure=_measure,
    carries=(
        f"Means over {DRAWS} shuffles and {DRAWS} draws of random tokens of the same length. A "
        "value that survives shuffling speaks against a meaning in the words, and for a habit of "
        "position. One that does not survive is no proof of a meaning either. Six measures are "
        "tried here; a head may do something that none of them sees."
    ),
    sources=(
        "Olsson et al. 2022, In-context Learning and Induction Heads, for measures on random "
        "tokens. Clark et al. 2019, What Does BERT Look At? Voita et al. 2019, Analyzing "
        "Multi-Head Self-Attention. Xiao et al. 2023, on attention sinks."
    ),
    planted=Planted(
        0,
        0,
        "A head written to look at the token before: its measure stays where it is on shuffled "
        "and random tokens. Its neighbour, head 1, looks for equal tokens.",
    ),
)
