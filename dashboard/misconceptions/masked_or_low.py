"""A mask against a low score, and a row that may look at nothing."""

import numpy as np
import streamlit as st

from dashboard.misconceptions import scripts as scripts
from dashboard.misconceptions.entry import Entry
from dashboard.misconceptions.subject import Reader, slight
from dashboard.widgets import text_place
from dashboard.widgets.figure import figure

LOWS = (0.0, -10.0, -1e4)


def _measure(reader: Reader) -> None:
    import pandas as pd

    from attnviz.charts.paired_bars import BEFORE, paired_bars
    from attnviz.charts.palettes import SOLID, hexes

    if not reader.attends():
        return
    key = text_place.choose(
        "Key",
        [int(k) for k in reader.seen],
        "claim_masked",
        reader.heaviest,
        words=reader.keys.__getitem__,
        help="The key that is masked, or given a low score.",
        width=200,
    )
    found = rows(reader, key)
    series = {name: weights[reader.seen] for name, weights in found.items()}
    left = {name: float(weights[key]) for name, weights in found.items()}
    finding = (
        f"What is left of the weight on {reader.key(key)}: "
        + ", ".join(f"{weight:.3g} {name}" for name, weight in left.items())
        + "."
    )
    st.text(finding)
    colours = [BEFORE, SOLID["against"], hexes("score")[-3], SOLID["weight"]]
    shown = {name: series[name] for name in list(series) if "10,000" not in name}
    chart = paired_bars(reader.seen_keys, shown, title="weight, share of the row", colours=colours)
    table = pd.DataFrame({"Key": reader.seen_keys} | series)
    figure("claim_mask", chart, finding, table, script=scripts.mask(reader.row, key, LOWS))
    if reader.puts_out():
        _effects(reader, key)
    _nothing(reader)


def rows(reader: Reader, key: int) -> dict[str, np.ndarray]:
    """(key,) weights of the row: as it is, with low scores on one key, and with it masked."""
    from attnviz.heads.softmax import weigh
    from attnviz.interventions import HideKeys

    head, row = reader.head, reader.row
    found = {"as it is": head.weights[row]}
    for low in LOWS:
        scores = head.scores[row].copy()
        scores[key] = low
        found[f"at a score of {low:,.0f}"] = weigh(scores[None], head.sink_logit)[0][0]
    hidden = HideKeys(keys=(key,), queries=(row,)).apply(head)
    return found | {"masked": hidden.weights[row]}


def _effects(reader: Reader, key: int) -> None:
    """What the model puts out with the key at a low score and with it masked."""
    from attnviz.interventions import AddToScore, HideKeys

    score = float(reader.head.scores[reader.row, key])
    low, masked = reader.changes(
        "mask",
        [
            (AddToScore(**reader.at, query=reader.row, key=key, amount=LOWS[0] - score),),
            (HideKeys(**reader.at, keys=(key,), queries=(reader.row,)),),
        ],
    )
    st.text(
        f"Its score here is {score:.3g}. Put at {LOWS[0]:g}, the output moves by {low:.2g}; "
        f"masked, by {masked:.2g} ({reader.unit})."
    )


def _nothing(reader: Reader) -> None:
    """A row whose keys are all masked, and one whose scores are all very low."""
    from attnviz.heads.softmax import weigh
    from attnviz.interventions import HideKeys

    every = tuple(int(k) for k in reader.seen)
    hidden = HideKeys(keys=every, queries=(reader.row,)).apply(reader.head)
    low = weigh(np.full((1, len(every)), LOWS[-1], np.float32))[0][0]
    own = reader.head.scores[reader.row, reader.seen]
    shifted = weigh((own + np.float32(LOWS[-1]))[None])[0][0]
    plain = weigh(own[None])[0][0]
    st.text(
        f"Every key masked: the weights add up to {hidden.weights[reader.row].sum():g}, and the "
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
