"""Which head matters here: every head of the model taken away in turn, at one token."""

import time
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from attnviz.charts import grid
from attnviz.experiments.changed_rows import measure_changes
from attnviz.experiments.every_head import sweep_heads
from attnviz.experiments.output_tokens import find_output_row, has_output
from attnviz.progress import ignore_progress
from dashboard.session import backend, page_capture, slow_results, state
from dashboard.session.outcome import NOTHING_OUT
from dashboard.session.script_body import write_call
from dashboard.session.selection import SettledSelection
from dashboard.what_if.controls import pick
from dashboard.what_if.experiment import HOWS, Experiment
from dashboard.widgets import figure, text_place

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.capture import Capture
    from attnviz.models import LoadedModel

_BEST = 12  # heads offered by name


def sweep(experiment: Experiment, selection: SettledSelection, capture: "Capture") -> None:
    """The question, its cost, and, once it was asked, the answer."""
    if not has_output(capture):
        st.text(NOTHING_OUT)
        return
    ask = page_capture.make_ask(selection)
    stack, at = selection.stack, find_output_row(capture, selection.stack, selection.query)
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
        f"Takes away each of the {_count_heads(capture, stack)} heads in turn, at "
        f"{text_place.name_token(capture.query_tokens(stack), at)}, and measures how far the "
        "output moves."
    )
    name = ("sweep", how, stack, at)
    found = slow_results.show_result(
        "sweep",
        ask,
        name,
        lambda model, cap, step: sweep_heads(model, cap, stack, at, how=how, progress=step),
        cost=lambda: _cost(ask, stack, how, at),
        label="Measure every head",
    )
    if found is not None:
        script = write_call(sweep_heads, "model, capture", stack=stack, query=at, how=how)
        _draw(found, selection, capture, script)


def _count_heads(capture: "Capture", stack: str) -> int:
    return sum(capture.heads(layer, stack) for layer in capture.layers(stack))


def _cost(ask: backend.Ask, stack: str, how: str, at: int) -> float:
    """Seconds for all heads, from one timed layer in the middle of the model."""

    def timed(model: "LoadedModel", capture: "Capture") -> float:
        from attnviz.interventions import Ablate

        layers = capture.layers(stack)
        layer = layers[len(layers) // 2]
        heads = range(capture.heads(layer, stack))
        gone = [[Ablate(layer, head, stack, how=how, queries=(at,))] for head in heads]
        started = time.perf_counter()
        measure_changes(model, capture, gone, at)
        spent = time.perf_counter() - started
        return spent * _count_heads(capture, stack) / len(heads)

    return backend.get_experiment(ask, ("sweep cost", how, stack, at), timed, ignore_progress)


def _draw(
    ranked: "pd.DataFrame", selection: SettledSelection, capture: "Capture", script: str
) -> None:
    from attnviz.faithfulness.agreement import has_logits

    unit = "Total variation, 0 to 1" if has_logits(capture) else "1 - cosine of the state, 0 to 2"
    values = np.full((ranked["Layer"].max() + 1, ranked["Head"].max() + 1), np.nan, np.float32)
    values[ranked["Layer"], ranked["Head"]] = ranked["Change"]
    own = ranked[(ranked["Layer"] == selection.layer) & (ranked["Head"] == selection.head)].index
    best, median = ranked.iloc[0], float(ranked["Change"].median())
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
            figure.draw_figure_export("sweep", finding, chart, ranked, script=script)


def _open(ranked: "pd.DataFrame", selection: SettledSelection) -> None:
    """The twin of a click on the grid, for the keyboard."""
    places = [(int(row["Layer"]), int(row["Head"])) for _, row in ranked[:_BEST].iterrows()]
    changes = dict(zip(places, ranked["Change"][:_BEST], strict=True))
    own = (selection.layer, selection.head)
    names = {at: f"layer {at[0]}, head {at[1]}: {change:.4f}" for at, change in changes.items()}
    key = state.set_widget("sweep_open", own if own in places else None, list(names.values()))

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
