"""A mask against a low score, and a row that may look at nothing."""

import numpy as np
import streamlit as st

from attnviz.charts.paired_bars import BEFORE
from attnviz.charts.palettes import SOLID, hexes
from attnviz.experiments.one_row import LOWS, mask_key
from attnviz.heads.softmax import weigh
from dashboard.misconceptions.entry import Entry
from dashboard.misconceptions.subject import Subject, slight
from dashboard.widgets import text_place
from dashboard.widgets.figure import draw_bars


def _measure(subject: Subject) -> None:
    if not subject.attends():
        return
    key = text_place.draw_choice(
        "Key",
        [int(k) for k in subject.seen],
        "claim_masked",
        subject.heaviest,
        words=subject.keys.__getitem__,
        help="The key that is masked, or given a low score.",
        width=200,
    )
    table, script = subject.measure_row(mask_key, key=key)
    ways = table.columns[1:]
    left = table.loc[subject.place_of(key)]
    finding = (
        f"What is left of the weight on {subject.key(key)}: "
        + ", ".join(f"{left[way]:.3g} {way}" for way in ways)
        + "."
    )
    st.text(finding)
    draw_bars(
        "claim_mask",
        table,
        finding,
        title="weight, share of the row",
        colours=[BEFORE, SOLID["against"], hexes("score")[-3], SOLID["weight"]],
        series={way: way for way in ways if "10,000" not in way},
        script=script,
    )
    if subject.puts_out():
        _effects(subject, key)
    _nothing(subject)


def _effects(subject: Subject, key: int) -> None:
    """What the model puts out with the key at a low score and with it masked."""
    from attnviz.interventions import AddToScore, HideKeys

    score = float(subject.head.scores[subject.row, key])
    low, masked = subject.changes(
        "mask",
        [
            (AddToScore(**subject.at, query=subject.row, key=key, amount=LOWS[0] - score),),
            (HideKeys(**subject.at, keys=(key,), queries=(subject.row,)),),
        ],
    )
    st.text(
        f"Its score here is {score:.3g}. Put at {LOWS[0]:g}, the output moves by {low:.2g}; "
        f"masked, by {masked:.2g} ({subject.unit})."
    )


def _nothing(subject: Subject) -> None:
    """A row whose keys are all masked, and one whose scores are all very low."""
    from attnviz.interventions import HideKeys

    every = tuple(int(k) for k in subject.seen)
    hidden = HideKeys(keys=every, queries=(subject.row,)).apply(subject.head)
    low = weigh(np.full((1, len(every)), LOWS[-1], np.float32))[0][0]
    own = subject.head.scores[subject.row, subject.seen]
    shifted = weigh((own + np.float32(LOWS[-1]))[None])[0][0]
    plain = weigh(own[None])[0][0]
    st.text(
        f"Every key masked: the weights add up to {hidden.weights[subject.row].sum():g}, and the "
        f"row attends to nothing. Every score at {LOWS[-1]:,.0f} instead: the weights add up to "
        f"{low.sum():.4f}, {low[0]:.3f} on each of {len(every)} keys, masked ones and all. "
        f"{-LOWS[-1]:,.0f} taken from every score: no weight moves by more than "
        f"{slight(float(np.abs(shifted - plain).max()))}, "
        "and that is rounding."
    )


ENTRY = Entry(
    key="mask",
    claim="A mask is a very negative number somewhere",
    believed=(
        "Much code writes it so: add a large negative number to the scores that must not count, "
        "and softmax turns them into something that prints as 0."
    ),
    true=(
        "A masked key is no candidate: it has no score, and its weight is exactly 0. A low score "
        "is a score, and softmax looks at differences. If all scores of a row are equally low, it "
        "shares the weight out among them as if nothing were masked. A row that may look at "
        "nothing has no weights at all; filled with a large negative number, it comes out even "
        "over the very keys that were to be hidden. And a low score that is only somewhat low "
        "leaves some weight."
    ),
    title="One key masked, and one row without keys",
    measure=_measure,
    carries=(
        "Arithmetic that holds for every softmax. In models whose code adds a large negative "
        "number, ordinary rows come out the same as with a mask; the difference shows in rows "
        "without any key, as padding makes them, and in half precision, where large negative "
        "numbers run out of range."
    ),
    sources="Vaswani et al. 2017, section 3.2.3, sets masked scores to minus infinity.",
)
