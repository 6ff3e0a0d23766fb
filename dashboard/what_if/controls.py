"""The controls of a what-if: what is changed, where, and by how much."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard.session import backend
from dashboard.session.selection import SettledSelection
from dashboard.what_if.experiment import (
    CHANGES,
    COLDEST,
    HOTTEST,
    HOWS,
    MOST_ADDED,
    ROWS,
    SCOPES,
    Experiment,
)
from dashboard.what_if.link import refuse, widget
from dashboard.widgets import text_place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from attnviz.capture import Capture
    from attnviz.heads.head import Head
    from attnviz.interventions import Intervention


@dataclass(frozen=True)
class WhatIf:
    """What the reader asks for, and how it is said: fixed words and tokens, as text."""

    change: "Intervention"
    words: str


@dataclass(frozen=True, eq=False)
class _Here:
    """What the controls of a change may look at."""

    experiment: Experiment
    selection: SettledSelection
    head: "Head"
    at: dict[str, Any]  # layer, head and stack of an intervention

    @property
    def row(self) -> int:
        return self.selection.query

    @cached_property
    def weights(self) -> "NDArray[np.float32]":
        """(key,) of the row that is read; of a long text, no more is worked out."""
        if len(self.head.allowed) <= backend.MAX_TOKENS:
            return self.head.weights[self.row]
        return self.head.rows(self.row, self.row + 1).weights[0]

    def key(self, seen: list[int], help: str) -> int:
        """A picker of one key out of those seen; at first the heaviest of the row."""
        names = text_place.number_labels(self.head.key_tokens)
        chosen = self.experiment.key
        if chosen is not None and chosen not in seen:
            refuse("key", None, "it is no token that can be chosen here")
        if chosen not in seen:
            chosen = max(seen, key=lambda key: self.weights[key])
        return st.selectbox(
            "Key",
            seen,
            format_func=names.__getitem__,
            help=help,
            width=190,
            **widget("key", chosen, [names[key] for key in seen]),
        )

    def of(self, key: int) -> str:
        return text_place.name_token(self.head.key_tokens, key)

    @property
    def reader(self) -> str:
        return text_place.name_token(self.head.query_tokens, self.row)

    @property
    def seen(self) -> list[int]:
        """The keys that the row may look at."""
        return [int(key) for key in self.head.allowed[self.row].nonzero()[0]]

    def rows(self, title: str) -> bool:
        """Whether every row is meant, or only the one that is read."""
        help = "One row of the matrix, or all of them."
        return pick(title, "rows", self.experiment, ROWS, help=help, width=150) == "every"

    def number(self, title: str, name: str, help: str, **options: Any) -> Any:
        shown = widget(name, getattr(self.experiment, name))
        return st.number_input(title, help=help, width=170, **options, **shown)


def pick(
    title: str,
    name: str,
    experiment: Experiment,
    options: dict[str, str],
    *,
    help: str,
    width: int,
) -> str:
    """A picker of one of some fixed options, at what the experiment has."""
    return st.selectbox(
        title,
        list(options),
        format_func=options.__getitem__,
        help=help,
        width=width,
        **widget(name, getattr(experiment, name)),
    )


def controls(
    experiment: Experiment, selection: SettledSelection, capture: "Capture", head: "Head"
) -> WhatIf | None:
    """The pickers, and what they ask for; None where the row leaves nothing to change."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        with st.container(width=250):
            text_place.draw_query_picker(selection, capture)
        change = pick(
            "Change",
            "change",
            experiment,
            {name: change.title for name, change in CHANGES.items()},
            help="What is done to the attention before the model runs on.",
            width=230,
        )
        scope = pick(
            "Acting on",
            "on",
            experiment,
            SCOPES,
            help="How many heads are changed alike.",
            width=210,
        )
    here = _Here(experiment, selection, head, _at(selection, scope))
    if not here.seen and change in ("hide", "add", "set"):
        st.text(f"Token {here.reader} attends to nothing, so there is no key to choose.")
        return None
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        asked = _CONTROLS[change](here)
    return WhatIf(asked.change, f"{_where(selection, scope)}: {asked.words}")


def _at(selection: SettledSelection, scope: str) -> dict[str, Any]:
    return {
        "layer": None if scope == "stack" else selection.layer,
        "head": selection.head if scope == "head" else None,
        "stack": selection.stack,
    }


def _where(selection: SettledSelection, scope: str) -> str:
    if scope == "stack":
        return "In every head of every layer"
    if scope == "layer":
        return f"In every head of layer {selection.layer}"
    return f"In layer {selection.layer}, head {selection.head}"


def _temper(here: _Here) -> WhatIf:
    from attnviz.interventions import Temper

    temperature = here.number(
        "Temperature",
        "temperature",
        "Above 1 makes weights more even, below 1 more pointed; 1 changes nothing.",
        min_value=COLDEST,
        max_value=HOTTEST,
        step=0.25,
    )
    return WhatIf(
        Temper(**here.at, temperature=temperature),
        f"scores divided by {temperature:g}, after any cap and bias and before the mask.",
    )


def _hide(here: _Here) -> WhatIf:
    from attnviz.interventions import HideKeys

    everywhere = here.rows("Hidden from")
    keys = list(range(len(here.head.key_tokens))) if everywhere else here.seen
    key = here.key(keys, "The token that may no longer be looked at.")
    return WhatIf(
        HideKeys(**here.at, keys=(key,), queries=None if everywhere else (here.row,)),
        f"{here.of(key)} hidden from {'every token' if everywhere else here.reader}.",
    )


def _add(here: _Here) -> WhatIf:
    from attnviz.interventions import AddToScore

    key = here.key(here.seen, "The key whose score is changed.")
    amount = here.number(
        "Add",
        "amount",
        "Added to one score, before the mask.",
        min_value=-MOST_ADDED,
        max_value=MOST_ADDED,
        step=0.5,
    )
    return WhatIf(
        AddToScore(**here.at, query=here.row, key=key, amount=amount),
        f"{amount:+g} on the score of {here.of(key)} for {here.reader}.",
    )


def _set(here: _Here) -> WhatIf:
    import numpy as np

    from attnviz.interventions import SetWeights

    key = here.key(here.seen, "The key that gets the weight.")
    weight = here.number(
        "Weight",
        "weight",
        "The others share the rest in the proportions they have now.",
        min_value=0.0,
        max_value=1.0,
        step=0.1,
    )
    row = here.weights.astype(np.float64)
    row[key] = 0
    rest = row.sum()
    if rest > 0:
        row *= (1 - weight) / rest
    row[key] = weight if rest > 0 else 1.0  # a lone key keeps all there is
    return WhatIf(
        SetWeights(**here.at, query=here.row, weights=tuple(row.tolist())),
        f"for {here.reader}, {here.of(key)} gets the weight {row[key]:g}, and the other keys "
        "share the rest as before.",
    )


def _permute(here: _Here) -> WhatIf:
    from attnviz.interventions import Permute

    everywhere = here.rows("Rows")
    seed = here.number(
        "Deal", "deal", "Another number, another deal.", min_value=0, max_value=99_999, step=1
    )
    return WhatIf(
        Permute(**here.at, query=None if everywhere else here.row, seed=seed),
        f"weights of {'every row' if everywhere else f'the row of {here.reader}'} dealt out at "
        f"random among the keys it may see, deal {seed}.",
    )


def _flatten(here: _Here) -> WhatIf:
    from attnviz.interventions import Flatten

    everywhere = here.rows("Rows")
    return WhatIf(
        Flatten(**here.at, query=None if everywhere else here.row),
        f"{'every row' if everywhere else f'the row of {here.reader}'} even over the keys it "
        "may see.",
    )


def _zero(here: _Here) -> WhatIf:
    from attnviz.interventions import ZeroValue

    keys = list(range(len(here.head.key_tokens)))
    key = here.key(keys, "The token whose value vector becomes 0.")
    return WhatIf(
        ZeroValue(**here.at, key=key),
        f"the value of {here.of(key)} set to 0; its weights stay, and bring nothing.",
    )


def _ablate(here: _Here) -> WhatIf:
    from attnviz.interventions import Ablate

    everywhere = here.rows("At")
    how = pick(
        "In its place",
        "instead",
        here.experiment,
        HOWS,
        help="What goes into the output projection instead of what the head puts out.",
        width=230,
    )
    return WhatIf(
        Ablate(**here.at, how=how, queries=None if everywhere else (here.row,)),
        f"the output at {'every token' if everywhere else here.reader} replaced by "
        f"{HOWS[how].lower()}.",
    )


_CONTROLS: dict[str, Callable[[_Here], WhatIf]] = {
    "temper": _temper,
    "hide": _hide,
    "add": _add,
    "set": _set,
    "permute": _permute,
    "flatten": _flatten,
    "zero": _zero,
    "ablate": _ablate,
}
