"""The whole head before and after a what-if, as maps on one scale, and their difference."""

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from dashboard import place, scripts
from dashboard.experiment import MAPS
from dashboard.experiment_state import widget
from dashboard.figure import numbers
from dashboard.outcome import Outcome
from dashboard.selection import Selection

if TYPE_CHECKING:
    from attnviz.head import Head

_MOST = 1000  # cells that a table holds


def draw(outcome: Outcome, before: "Head", selection: Selection, of: str) -> None:
    """The whole head before, after, and the difference: its weights or its scores."""
    from attnviz.charts.heat import heat, heats

    after = outcome.head(selection)
    of = st.segmented_control(
        "Maps of",
        list(MAPS),
        format_func=MAPS.__getitem__,
        required=True,
        help="What the three maps show of the head.",
        **widget("maps", of),
    )
    first, second = (_matrix(head, of) for head in (before, after))
    # a hidden cell has a weight after as before, which is 0, but no score
    both = before.allowed if of == "weights" else before.allowed & after.allowed
    low, high, ramp = _ends(first, second, of)
    difference = np.where(both, np.where(both, second, 0) - np.where(both, first, 0), 0)
    reach = float(np.abs(difference).max()) or 1.0
    words = {"queries": place.labels(before.query_tokens), "keys": place.labels(before.key_tokens)}
    scale = {"colours": ramp, "low": low, "high": high}
    signed = {"colours": "signed", "low": -reach, "high": reach}
    drawn: list[dict[str, Any]] = [
        {"title": "Before", "values": first, "shown": before.allowed, **scale},
        {"title": "After", "values": second, "shown": after.allowed, **scale},
        {"title": "After minus before", "values": difference, "shown": both, **signed},
    ]
    drawn = [options | {"row": selection.query, **words} for options in drawn]
    with st.container(horizontal=True, gap="small"):
        for options in drawn:
            title = options["title"]
            with st.container(width=268):
                st.altair_chart(
                    heat(**options),
                    key=f"if_map_{title}",
                    width="content",
                    alt=_map_alt(title, of, difference, before),
                )
    table = _map_table(first, second, both, words)
    chart = heats(drawn, columns=3)
    alt = "The head before and after."
    script = scripts.what_if_maps(of, _MOST)
    numbers("if_maps", table, alt, chart=chart, change=outcome.change, script=script)


def _matrix(head: "Head", of: str) -> Any:
    if of == "weights":
        return head.weights
    return np.where(head.allowed, head.scores, 0)


def _ends(first: Any, second: Any, of: str) -> tuple[float, float, str]:
    """One scale for both: weights from 0 to 1, scores to the largest size of the two."""
    if of == "weights":
        return 0.0, 1.0, "weight"
    reach = max(float(np.abs(first).max()), float(np.abs(second).max())) or 1.0
    return -reach, reach, "score"


def _map_alt(title: str, of: str, difference: Any, head: "Head") -> str:
    at = np.unravel_index(int(np.abs(difference).argmax()), difference.shape)
    size = difference[at]
    finding = (
        "no cell changed"
        if size == 0
        else f"the largest change is {size:+.3g}, from {place.named(head.query_tokens, at[0])} to "
        f"{place.named(head.key_tokens, at[1])}"
    )
    return f"{title}: map of the {of} of the head, {finding}."


def _map_table(first: Any, second: Any, both: Any, words: dict[str, list[str]]) -> Any:
    """The cells that changed, the largest change first."""
    import pandas as pd

    query, key = np.nonzero(both & (first != second))
    frame = pd.DataFrame(
        {
            "From": [words["queries"][q] for q in query],
            "To": [words["keys"][k] for k in key],
            "Before": first[query, key],
            "After": second[query, key],
        }
    )
    frame["Difference"] = frame["After"] - frame["Before"]
    order = frame["Difference"].abs().sort_values(ascending=False, kind="stable").index
    return frame.loc[order[:_MOST]]
