"""A high weight and what happens without the token: hidden, its value zeroed, or erased."""

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.charts.scatter import find_drawn, scatter
from attnviz.experiments.changed_rows import (
    SAID,
    TAKEN,
    KeyRemoval,
    measure_changes,
    remove_keys,
)
from dashboard.misconceptions.entry import Entry, Planted
from dashboard.misconceptions.subject import Subject
from dashboard.session import state
from dashboard.session.script_body import write_call
from dashboard.widgets import text_place
from dashboard.widgets.figure import draw_figure, draw_figure_export, draw_numbers

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.faithfulness import Agreement
    from attnviz.models import LoadedModel


def _measure(subject: Subject) -> None:
    if not (subject.attends() and subject.puts_out()):
        return
    head, row = subject.head, subject.row
    removal: KeyRemoval = subject.watch(
        "agreement", lambda model, cap, step: remove_keys(model, cap, head, row, progress=step)
    )
    erased = subject.has("erasing")
    if erased:
        removal = _erase(subject)
    found = removal.agreement
    words = TAKEN | {"token_erasure": f"Token hidden from every {_heads(subject)}"}
    options = [name for name in words if found.table[name].notna().any()]
    with st.container(horizontal=True, gap="small"):
        said = text_place.draw_choice(
            "Read off",
            [name for name in SAID if found.table[name].notna().any()],
            "claim_said",
            "weight",
            words=SAID.__getitem__,
            help="What the row itself says of each key, without taking anything away.",
            width=220,
        )
        taken = text_place.draw_choice(
            "Taken away",
            options,
            "claim_taken",
            options[0],
            words=words.__getitem__,
            help="What is done to a key, to see how far the output moves without it.",
            width=260,
        )
    table_script, ranks_script = (
        write_call(remove_keys, "model, capture, head", query=row, erase=erased, then=then)
        for then in (".table", ".ranks")
    )
    _scatter(subject, removal, said, taken, table_script)
    _correlations(found, {name: words[name] for name in options})
    _ranks(removal, ranks_script)
    _direct(subject, found)
    _sink(subject, found)
    if not erased and _erase(subject) is not None:
        st.rerun()


def _heads(subject: Subject) -> str:
    """The heads that a token is erased from, those of one stack, in words."""
    one = len(subject.capture.stacks) == 1
    return "head" if one else f"{subject.selection.stack} head"


def _erase(subject: Subject) -> Any:
    """The same with every token hidden from every head: on a button, for it takes longer."""
    head, row = subject.head, subject.row
    return subject.on_demand(
        "erasing",
        lambda model, cap, step: remove_keys(model, cap, head, row, erase=True, progress=step),
        f"Also hide each token from every {_heads(subject)}",
        lambda: _cost(subject),
    )


def _cost(subject: Subject) -> float:
    """Seconds to hide every token from every head, from a few timed tokens, which share a run."""

    def timed(model: "LoadedModel", capture: "Capture") -> float:
        from attnviz.interventions import HideKeys

        half = len(subject.seen) // 2
        keys, stack = [int(key) for key in subject.seen[half : half + 4]], subject.selection.stack
        hidden = [[HideKeys(stack=stack, keys=(key,))] for key in keys]
        started = time.perf_counter()
        measure_changes(model, capture, hidden, subject.row)
        return (time.perf_counter() - started) * len(subject.seen) / len(keys)

    return subject.run("erasing cost", timed)


def _scatter(subject: Subject, removal: KeyRemoval, said: str, taken: str, script: str) -> None:
    found, table = removal.agreement, removal.agreement.table
    x, y = table[said].to_numpy(float), table[taken].to_numpy(float)
    correlation = found.correlation(said, taken)
    left_out = len(table) - int(find_drawn(x, y, log=True).sum())
    finding = (
        f"Between {SAID[said].lower()} and the change of the output, the rank correlation over "
        f"{len(table)} keys is {_number(correlation)}. Of random orders of as many keys, 95 in 100 "
        f"stay below {found.chance:.2f}."
    )
    st.text(finding)
    chart = None
    if left_out < len(table):
        chart = scatter(
            subject.seen_keys,
            x,
            y,
            x_title=f"{SAID[said]} (log scale)",
            y_title=f"change: {found.unit} (log scale)",
            log=True,
        )
        draw_figure("claim_use", chart, f"A point for each key. {finding}")
    if left_out:
        st.text(f"Not drawn, because a logarithm has no 0: {left_out} keys.")
    draw_numbers("claim_use", removal.table, finding, chart=chart, script=script)


def _correlations(found: "Agreement", taken: dict[str, str]) -> None:
    from attnviz.faithfulness.agreement import NOISE

    rows = [
        {"Read off": title} | {words: _both(found, said, name) for name, words in taken.items()}
        for said, title in SAID.items()
        if found.table[said].notna().any()
    ]
    chance = {"Read off": "Random order, 95 in 100 below (Spearman)"}
    rows.append(chance | dict.fromkeys(taken.values(), f"{found.chance:.2f}"))
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key="claim_correlations",
        alt="Rank correlations of what is read off with what is measured, and their chance level.",
    )
    st.text(
        f"Spearman's rank correlation, and Kendall's in brackets. Changes below {NOISE:g} are "
        "rounding and count as none."
    )


def _ranks(removal: KeyRemoval, script: str) -> None:
    """A switch, and under it the rank of every key by every measure."""
    if not st.toggle("Ranks of all keys", key="claim_ranks", on_change=state.touch):
        return
    ranks, alt = removal.ranks, "The rank of every key by every measure, 1 being the largest."
    st.dataframe(ranks, hide_index=True, key="claim_ranks_table", alt=alt)
    draw_figure_export("claim_ranks", alt, None, ranks, script=script)


def _both(found: "Agreement", said: str, name: str) -> str:
    """Spearman's correlation and Kendall's."""
    first, second = (found.correlation(said, name, how) for how in ("spearman", "kendall"))
    return _number(first) if np.isnan(first) else f"{_number(first)} ({_number(second)})"


def _number(correlation: float) -> str:
    return "undefined, as one side does not vary" if np.isnan(correlation) else f"{correlation:.2f}"


def _direct(subject: Subject, found: "Agreement") -> None:
    """How direct logit attribution was checked, or why there is none."""
    path = found.direct
    if path is None:
        st.text(f"Direct logit attribution is left out. {found.no_direct}")
        return
    ((token, _),) = subject.capture.top_tokens(1)
    own = float(path.of_keys(subject.head, subject.row).sum())
    frozen = f"The {path.norm} before the unembedding is frozen at its scale of this run, "
    frozen = f"{frozen}{path.scale:.4g}. " if path.norm != "no norm" else ""
    st.text(
        f'Direct logit attribution is for the likeliest next token, "{token.label}". {frozen}'
        f"The {len(path.parts)} parts of the residual stream and the biases add "
        f"up to {path.total:.4f}, and the model's own logit is {path.logit:.4f}. The keys of this "
        f"head add {own:+.4f} of it straight; what later layers make of them is not counted."
    )


def _sink(subject: Subject, found: "Agreement") -> None:
    """The first token: much weight, and often little behind it."""
    head, row = subject.head, subject.row
    if head.v is None or 0 not in subject.seen or len(subject.seen) < 3:
        return
    norms = np.linalg.norm(head.v[subject.seen], axis=1)
    rest = float(np.median(norms[1:]))
    first = found.table[found.table["position"] == 0].iloc[0]
    rank = int((found.table["key_hiding"] > first["key_hiding"]).sum()) + 1
    st.text(
        f"The first token here: weight {head.weights[row, 0]:.3f}, with a value vector "
        f"{norms[0] / rest if rest else float('nan'):.2f} times as long as the median of the other "
        f"keys. Hiding it changes the output by {first['key_hiding']:.2g}, which is number {rank} "
        f"of {len(found.table)}. Many heads of large models rest most of their weight on a first "
        "token whose value is short: weight that has to go somewhere."
    )


ENTRY = Entry(
    key="proves-use",
    claim="A high weight proves that the model used that token",
    believed=(
        "The picture looks like a pointer: this token looks at that one. And where a head attends "
        "to the right word, it is tempting to take that for the reason."
    ),
    true=(
        "A weight says how large the share of a token's value is in one head's mix. Whether the "
        "output depends on it is another question, and can be measured: hide the key from this "
        "row, set its value to 0, or hide the token from the whole model, and see how far the "
        "output moves. Weight and effect agree in some heads and not in others, and even where "
        "they agree, the effect of one head may be next to nothing."
    ),
    title="Weight against what happens without the token",
    measure=_measure,
    carries=(
        "One row of one head on one text. A correlation over few keys says little: compare it with "
        "the chance level. Hiding and zeroing put the model into a state that training never "
        "showed it. Direct attribution follows one way only, past all later layers, and holds the "
        "final norm still. An effect is a dependence of the output, not a reason in human terms."
    ),
    sources=(
        "Jain and Wallace 2019, Attention is not Explanation. Serrano and Smith 2019, Is Attention "
        "Interpretable? Kobayashi et al. 2020, Attention is Not Only a Weight. Mohebbi et al. "
        "2023, Quantifying Context Mixing in Transformers (value zeroing). Elhage et al. 2021, A "
        "Mathematical Framework for Transformer Circuits (direct attribution to logits). Xiao et "
        "al. 2023, Efficient Streaming Language Models with Attention Sinks."
    ),
    planted=Planted(
        1,
        1,
        "A head that gives the first token nearly all its weight, and whose value there is a "
        "fiftieth of the others': hiding the token changes nothing.",
    ),
)
