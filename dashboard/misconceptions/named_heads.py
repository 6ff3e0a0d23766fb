"""Named heads: measures on the chosen text beside shuffled tokens and random tokens."""

import numpy as np
import streamlit as st

from attnviz.charts.paired_bars import BEFORE
from attnviz.charts.palettes import SOLID
from attnviz.charts.scatter import scatter
from attnviz.detectors import HEAD_MEASURES, SHARES
from attnviz.experiments.every_head import ControlTexts, measure_on_controls
from attnviz.heads.distances import spearman
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Subject
from dashboard.session.script_body import write_call
from dashboard.widgets import text_place
from dashboard.widgets.figure import draw_bars, draw_figure

DRAWS = 3  # of shuffled and of random tokens
STRONG = 0.3  # a head with more of a measure has it to speak of


def _measure(subject: Subject) -> None:
    stack = subject.selection.stack
    found: ControlTexts = subject.watch(
        "named",
        lambda model, cap, step: measure_on_controls(model, cap, stack, draws=DRAWS, progress=step),
    )
    _draw_head(subject, found)
    chosen = text_place.draw_choice(
        "All heads by",
        SHARES,
        "claim_measure",
        "previous_token",
        words=lambda name: HEAD_MEASURES[name].title,
        help="The measure on the axes below.",
        width=220,
    )
    st.text(HEAD_MEASURES[chosen].definition)
    _draw_all(subject, found, chosen, HEAD_MEASURES[chosen].title)


def _script(subject: Subject, table: str) -> str:
    stack, call = subject.selection.stack, measure_on_controls
    return write_call(call, "model, capture", stack=stack, draws=DRAWS, then=f".{table}")


def _draw_head(subject: Subject, found: ControlTexts) -> None:
    layer, head, _ = subject.at.values()
    table = found.of_head(layer, head)
    lines = [
        f"{name} {_number(text)} on your text, {_number(mixed)} on shuffled tokens, "
        f"{_number(drawn)} on random ones"
        for name, text, mixed, drawn in table.itertuples(index=False)
    ]
    finding = "This head. " + "; ".join(lines) + "."
    st.text(finding)
    draw_bars(
        "claim_named",
        table,
        finding,
        title="measure, 0 to 1",
        colours=[SOLID["weight"], SOLID["against"], BEFORE],
        lying=True,
        script=_script(subject, f"of_head({layer}, {head})"),
    )


def _number(value: float) -> str:
    return "without a number" if np.isnan(value) else f"{value:.2f}"


def _draw_all(subject: Subject, found: ControlTexts, chosen: str, title: str) -> None:
    table = found.of_measure(chosen)
    if len(table) < 3:
        st.text("No query of this text and of its shuffled forms has a number by this measure.")
        return
    names, x, y = (table[name].to_numpy() for name in ("Head", "Your text", "Shuffled"))
    finding = (
        f"Over {len(table)} heads, {title.lower()} on your text and on its shuffled tokens "
        f"rank the heads alike at {spearman(x, y):.2f} (1 is the same order, 0 is none). "
        f"Of the {int((x > STRONG).sum())} heads above {STRONG:g} on your text, "
        f"{int(((x > STRONG) & (y > x / 2)).sum())} keep at least half of it on shuffled tokens."
    )
    st.text(finding)
    (own,) = np.nonzero(names == f"layer {subject.at['layer']}, head {subject.at['head']}")
    chart = scatter(
        names.tolist(),
        x,
        y,
        x_title=f"{title} on your text",
        y_title="on shuffled tokens",
        marked=int(own[0]) if len(own) else None,
        diagonal=True,
        named=0,
    )
    script = _script(subject, f"of_measure({chosen!r})")
    draw_figure("claim_all", chart, finding, table, script=script)


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
