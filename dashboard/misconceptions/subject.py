"""The subject of a measurement: the chosen model, text, head and row."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from attnviz.experiments.changed_rows import measure_changes
from attnviz.experiments.output_tokens import has_output
from attnviz.progress import ignore_progress
from dashboard.session import backend, page_capture, slow_results
from dashboard.session.outcome import NOTHING_OUT
from dashboard.session.script_body import write_call
from dashboard.session.selection import SettledSelection
from dashboard.widgets import text_place

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from attnviz.capture import Capture
    from attnviz.heads.head import Head
    from attnviz.models import LoadedModel


class Subject:
    """What is chosen, and short ways to measure on it.

    Attributes:
        selection: settled on the capture.
        capture: of the reader's text.
        row: the position of the selected query.
    """

    def __init__(self, selection: SettledSelection, capture: "Capture") -> None:
        self.selection, self.capture, self.row = selection, capture, selection.query
        self.ask = page_capture.make_ask(selection)
        self.at: dict[str, Any] = {
            "layer": selection.layer,
            "head": selection.head,
            "stack": selection.stack,
        }

    @cached_property
    def head(self) -> "Head":
        return self.capture.head(**self.at)

    @cached_property
    def seen(self) -> "NDArray[np.int_]":
        """The keys that the row may look at."""
        return np.flatnonzero(self.head.allowed[self.row])

    @cached_property
    def keys(self) -> list[str]:
        """Labels of all keys, different from one another."""
        return text_place.number_labels(self.head.key_tokens)

    @property
    def seen_keys(self) -> list[str]:
        return [self.keys[key] for key in self.seen]

    def key(self, position: int) -> str:
        """A key in a sentence, as text."""
        return text_place.name_token(self.head.key_tokens, int(position))

    @property
    def query(self) -> str:
        """The row's token in a sentence, as text."""
        return text_place.name_token(self.head.query_tokens, self.row)

    @property
    def heaviest(self) -> int:
        """The key with the largest weight of the row."""
        return int(self.head.weights[self.row].argmax())

    def place_of(self, key: int) -> int:
        """The place of a key among those that the row may look at: its row in their tables."""
        return int(np.searchsorted(self.seen, key))

    @property
    def predicts(self) -> bool:
        """Whether the model puts out a distribution over tokens here."""
        return self.capture.logits is not None and len(self.capture.logits) > 0

    @property
    def unit(self) -> str:
        """What a change of the output is measured in."""
        if self.predicts:
            return "total variation of the output, 0 to 1"
        return "1 - cosine of the token's last state, 0 to 2"

    def attends(self) -> bool:
        """Whether the row looks at anything; says so where it does not."""
        if not len(self.seen):
            st.text(f"The row of {self.query} attends to nothing. Read from another token.")
        return len(self.seen) > 0

    def puts_out(self) -> bool:
        """Whether there is an output to compare; says so where there is none."""
        if not has_output(self.capture):
            st.text(NOTHING_OUT)
        return has_output(self.capture)

    def measure_row(
        self, function: "Callable[..., pd.DataFrame]", **options: Any
    ) -> "tuple[pd.DataFrame, str]":
        """What a function of the library says of the row, and the script that calls it."""
        table = function(self.head, self.row, **options)
        return table, write_call(function, "head", query=self.row, **options)

    def run(self, name: str, make: "Callable[[LoadedModel, Capture], Any]", *options: Any) -> Any:
        """A measurement of a moment: made now or taken from the store."""
        return backend.get_experiment(self.ask, self.name(name, *options), make, ignore_progress)

    def watch(self, key: str, make: slow_results.Make, *options: Any) -> Any:
        """A measurement of some seconds, with a bar while it lasts."""
        return slow_results.run_with_bar(st.empty(), key, self.ask, self.name(key, *options), make)

    def on_demand(
        self, key: str, make: slow_results.Make, label: str, cost: Callable[[], float]
    ) -> Any:
        """A slow measurement, behind a button; None until it was made."""
        return slow_results.show_result(key, self.ask, self.name(key), make, cost=cost, label=label)

    def has(self, key: str) -> bool:
        return backend.has_experiment(self.ask, self.name(key))

    def name(self, name: str, *options: Any) -> tuple[Any, ...]:
        """Everything a measurement depends on but model and text."""
        return (name, *self.at.values(), self.row, *options)

    def changes(self, name: str, whatifs: list[Any]) -> list[float]:
        """How far the output moves under each what-if, each a tuple of interventions."""
        row = self.row
        return self.run(
            name, lambda model, cap: measure_changes(model, cap, whatifs, row), tuple(whatifs)
        )


def slight(difference: float) -> str:
    """A difference that may be nothing but rounding, or nothing at all."""
    return f"{difference:.0e}" if difference else "0"
