"""Which head matters here: every head of the model taken away in turn, at one token."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.charts import grid
from dashboard.server.turns import silent
from dashboard.session import backend, page_capture, slow_results, state
from dashboard.session.outcome import NOTHING_OUT, moved, place_of_output, puts_out
from dashboard.session.selection import SettledSelection
from dashboard.what_if import scripts as scripts
from dashboard.what_if.controls import pick
from dashboard.what_if.experiment import HOWS, Experiment
from dashboard.widgets import figure, text_place

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.models import LoadedModel

_BEST = 12  # heads offered by name


def sweep(experiment: Experiment, selection: SettledSelection, capture: "Capture") -> None:
    """The question, its cost, and, once it was asked, the answer."""
    if not puts_out(capture):
        st.text(NOTHING_OUT)
        return
    ask = page_capture.ask_of(selection)
    at = place_of_output(capture, selection)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        how = pick(
            "In a head's place",
            "sweep",
            experiment,
            HOWS,
            help="Nothing is what the model never met in training; its own mean, or its output "
            "at other tokens, is closer to what it knows.",
            width=250,
        )
    st.text(
        f"Takes away each of the {len(_heads(capture, selection))} heads in turn, at "
        f"{text_place.named(capture.query_tokens(selection.stack), at)}, and measures how far the "
        "output moves."
    )
    name = ("sweep", how, selection.stack, at)
    found = slow_results.result(
        "sweep",
        ask,
        name,
        lambda model, cap, tell: measure(model, cap, selection, how, at, tell),
        cost=lambda: _cost(ask, selection, how, at),
        label="Measure every head",
    )
    if found is not None:
        _draw(found, selection, capture, scripts.sweep(selection.stack, how, at))


def _heads(capture: "Capture", selection: SettledSelection) -> list[tuple[int, int]]:
    stack = selection.stack
    return [(la, h) for la in capture.layers(stack) for h in range(capture.heads(la, stack))]


def _gone(selection: SettledSelection, layer: int, how: str, at: int, heads: range) -> "list[Any]":
    from attnviz.interventions import Ablate

    return [[Ablate(layer, h, selection.stack, how=how, queries=(at,))] for h in heads]


def _cost(ask: backend.Ask, selection: SettledSelection, how: str, at: int) -> float:
    """Seconds for all heads, from one timed layer in the middle of the model."""

    def timed(model: "LoadedModel", capture: "Capture") -> float:
        from attnviz.interventions import effects

        layers = capture.layers(selection.stack)
        layer = layers[len(layers) // 2]
        heads = range(capture.heads(layer, selection.stack))
        started = time.perf_counter()
        effects(model, capture, _gone(selection, layer, how, at, heads))
        spent = time.perf_counter() - started
        return spent * len(_heads(capture, selection)) / len(heads)

    return backend.experiment(ask, ("sweep cost", how, selection.stack, at), timed, silent)


def measure(
    model: "LoadedModel",
    capture: "Capture",
    selection: SettledSelection,
    how: str,
    at: int,
    tell: Callable[[int, int], None],
) -> "pd.DataFrame":
    """A row a head: layer, head, how far the output moves without it."""
    from attnviz.interventions import effects

    rows: list[dict[str, float]] = []
    total = len(_heads(capture, selection))
    for layer in capture.layers(selection.stack):
        heads = range(capture.heads(layer, selection.stack))

        def progress(some: int, _: int, done: int = len(rows)) -> None:
            tell(done + some, total)

        outputs = effects(
            model,
            capture,
            _gone(selection, layer, how, at, heads),
            progress=progress,
        )
        rows += [
            {"Layer": layer, "Head": head, "Change": moved(capture, output, at)}
            for head, output in zip(heads, outputs, strict=True)
        ]
    return pd.DataFrame(rows)


def _draw(
    found: "pd.DataFrame", selection: SettledSelection, capture: "Capture", script: str
) -> None:
    from attnviz.faithfulness.agreement import has_logits

    unit = "Total variation, 0 to 1" if has_logits(capture) else "1 - cosine of the state, 0 to 2"
    values = np.full((found["Layer"].max() + 1, found["Head"].max() + 1), np.nan, np.float32)
    values[found["Layer"], found["Head"]] = found["Change"]
    ranked = found.sort_values("Change", ascending=False, kind="stable").reset_index(drop=True)
    own = ranked[(ranked["Layer"] == selection.layer) & (ranked["Head"] == selection.head)].index
    best, median = ranked.iloc[0], float(found["Change"].median())
    finding = (
        f"Layer {best['Layer']:.0f}, head {best['Head']:.0f} moves the output most, by "
        f"{best['Change']:.4f}; half of the heads move it by less than {median:.4f}."
    )
    st.text(finding)
    if len(own):
        st.text(
            f"The head shown above is number {own[0] + 1} of {len(ranked)}, with "
            f"{ranked['Change'][own[0]]:.4f}."
        )
    _open(ranked, selection)
    key = f"sweep_grid_{selection.layer}_{selection.head}"

    def on_pick() -> None:
        picked = st.session_state[key]["selection"].get("pick_head")
        if picked:
            state.change(layer=int(picked[0]["layer"]), head=int(picked[0]["head"]))
        else:
            state.touch()

    chart = grid(
        values,
        layer=selection.layer,
        head=selection.head,
        measure_title=unit,
        low=0.0,
        high=float(best["Change"]) or 1.0,
    )
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=460):
            st.altair_chart(
                chart,
                key=key,
                on_select=on_pick,
                selection_mode="pick_head",
                alt=f"Every head, coloured by how far the output moves without it. {finding}",
            )
        with st.container(width=330):
            st.dataframe(
                ranked,
                hide_index=True,
                key="sweep_table",
                height=330,
                column_config={"Change": st.column_config.NumberColumn(format="%.6f", help=unit)},
                alt=f"Every head with its change, the largest first. {finding}",
            )
            figure.export("sweep", finding, chart, ranked, script=script)


def _open(ranked: "pd.DataFrame", selection: SettledSelection) -> None:
    """The twin of a click on the grid, for the keyboard."""
    places = [(int(row["Layer"]), int(row["Head"])) for _, row in ranked[:_BEST].iterrows()]
    changes = dict(zip(places, ranked["Change"][:_BEST], strict=True))
    own = (selection.layer, selection.head)
    names = {at: f"layer {at[0]}, head {at[1]}: {change:.4f}" for at, change in changes.items()}
    key = state.show("sweep_open", own if own in places else None, list(names.values()))

    def go() -> None:
        if st.session_state[key] in places:
            layer, head = st.session_state[key]
            state.change(layer=layer, head=head)

    st.selectbox(
        "Open one of the strongest",
        places,
        format_func=names.__getitem__,
        key=key,
        on_change=go,
        placeholder="Choose a head",
        width=260,
    )
