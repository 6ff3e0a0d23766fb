"""Named heads: measures on the reader's text beside shuffled tokens and random tokens."""

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from dashboard import place
from dashboard.figure import figure
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.reader import Reader

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.models import LoadedModel

DRAWS = 3
STRONG = 0.3  # a head with more of a measure has it to speak of
_KINDS = ("your text", "shuffled tokens", "random tokens")


def _measure(reader: Reader) -> None:
    from attnviz.detectors import HEAD_MEASURES, SHARES

    grids = reader.watch(
        "named", lambda model, cap, step: grids_of(model, cap, reader.selection.stack, step)
    )
    at = (reader.selection.layer, reader.selection.head)
    own = {kind: np.array([grids[kind][m][at] for m in SHARES]) for kind in _KINDS}
    names = [HEAD_MEASURES[name].title for name in SHARES]
    _own(names, own)
    chosen = place.choose(
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


def grids_of(
    model: "LoadedModel", capture: "Capture", stack: str | None, step: Any
) -> dict[str, dict[str, np.ndarray]]:
    """{kind of text: {measure: (layer, head)}}; shuffled and random ones are means of `DRAWS`."""
    from attnviz.detectors import SHARES, profile

    def measured(one: "Capture") -> dict[str, np.ndarray]:
        return profile(one, stack, measures=SHARES).values

    grids = {_KINDS[0]: measured(capture)}
    total = 1 + 2 * DRAWS
    step(1, total)
    for kind, make in zip(_KINDS[1:], (shuffled, drawn_at_random), strict=True):
        several = []
        for seed in range(DRAWS):
            several.append(measured(_capture(model, capture, make(model, capture, seed))))
            step(1 + (kind == _KINDS[2]) * DRAWS + len(several), total)
        grids[kind] = {name: _mean([one[name] for one in several]) for name in SHARES}
    return grids


def _mean(grids: list[np.ndarray]) -> np.ndarray:
    """The mean over draws that have a number; NaN where none has one."""
    stacked = np.stack(grids)
    count = np.isfinite(stacked).sum(axis=0)
    return np.where(count > 0, np.nansum(stacked, axis=0) / np.maximum(count, 1), np.nan)


def _capture(model: "LoadedModel", capture: "Capture", ids: Any) -> "Capture":
    import attnviz

    target = capture.forward.get("decoder_input_ids")
    more = {} if target is None else {"decoder_input_ids": target}
    return attnviz.capture(model, input_ids=ids, **more)


def _free(model: "LoadedModel", capture: "Capture") -> tuple[np.ndarray, np.ndarray]:
    """The ids of the text, and the places whose token may be exchanged: none of a special one."""
    ids = capture.forward["input_ids"][0].cpu().numpy().copy()
    special = set(getattr(model.tokenizer, "all_special_ids", None) or [])
    return ids, np.array([i for i, token in enumerate(ids) if int(token) not in special], int)


def shuffled(model: "LoadedModel", capture: "Capture", seed: int) -> list[int]:
    """The same tokens in another order; special tokens stay where they are."""
    ids, free = _free(model, capture)
    ids[free] = np.random.default_rng(seed).permutation(ids[free])
    return ids.tolist()


def drawn_at_random(model: "LoadedModel", capture: "Capture", seed: int) -> list[int]:
    """Tokens drawn evenly from the vocabulary; special tokens stay where they are."""
    ids, free = _free(model, capture)
    size = int(model.hf.get_input_embeddings().weight.shape[0])
    special = np.array(list(getattr(model.tokenizer, "all_special_ids", None) or []), int)
    pool = np.setdiff1d(np.arange(size), special)
    ids[free] = np.random.default_rng(seed).choice(pool, len(free))
    return ids.tolist()


def _own(names: list[str], own: dict[str, np.ndarray]) -> None:
    import pandas as pd

    from attnviz.charts.paired_bars import BEFORE, paired_bars
    from attnviz.charts.palettes import SOLID

    lines = [
        f"{name} {_number(own[_KINDS[0]][i])} on your text, {_number(own[_KINDS[1]][i])} on "
        f"shuffled tokens, {_number(own[_KINDS[2]][i])} on random ones"
        for i, name in enumerate(names)
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
    figure("claim_named", chart, finding, pd.DataFrame({"Measure": names} | own))


def _number(value: float) -> str:
    return "without a number" if np.isnan(value) else f"{value:.2f}"


def _all(grids: dict[str, Any], chosen: str, title: str, at: tuple[Any, Any]) -> None:
    import pandas as pd

    from attnviz.charts.scatter import scatter
    from attnviz.faithfulness import spearman

    text, mixed = (grids[kind][chosen] for kind in _KINDS[:2])
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
    table["Random"] = grids[_KINDS[2]][chosen][both]
    figure("claim_all", chart, finding, table)


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
