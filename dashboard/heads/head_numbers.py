"""The numbers of the page of heads: each measure with its null, its ceiling and its words."""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.detectors import HEAD_MEASURES
from attnviz.errors import AttnvizError
from attnviz.experiments.every_head import HeadGrids, measure_effect, read_profile, read_survey
from attnviz.experiments.output_tokens import find_output_row, has_output
from attnviz.progress import ignore_progress
from dashboard.heads import long_heads, survey_source, words
from dashboard.session import all_heads, backend, page_capture, slow_results
from dashboard.session.outcome import NOTHING_OUT
from dashboard.session.selection import HEAD_CHOICES, ON_REPEATED, SettledSelection, read_span
from dashboard.widgets import text_place

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from attnviz.capture import Capture
    from attnviz.detectors import HeadProfile
    from attnviz.models import LoadedModel
    from attnviz.survey import Survey


@dataclass(frozen=True)
class Numbers:
    """One measure of all heads, with its words."""

    title: str
    definition: str
    unit: str
    ceiling_words: str
    null_words: str
    grids: HeadGrids
    falls: bool = False
    found: list[tuple[int, int]] | None = None  # None: no such line is drawn
    rows: str = ""

    @property
    def values(self) -> "NDArray[Any]":
        """(layer, head)"""
        return self.grids.values

    @property
    def strength(self) -> "NDArray[Any]":
        """(layer, head): larger for what stands out more."""
        return -self.values if self.falls else self.values


def titles() -> dict[str, str]:
    found = {name: measure.title for name, measure in HEAD_MEASURES.items()}
    found |= {again: f"{found[name]}, random tokens" for name, again in ON_REPEATED.items()}
    return found | {"effect": "Effect on the output"}


def options(selection: SettledSelection, capture: "Capture") -> list[str]:
    """The measures that the stack has."""

    def has(name: str) -> bool:
        measure = HEAD_MEASURES.get(plain(name))
        return selection.stack != "cross" or measure is None or not measure.square

    return [name for name in HEAD_CHOICES if has(name)]


def plain(name: str) -> str:
    """The measure of which a name is the number on repeated random tokens; else the name."""
    return next((own for own, again in ON_REPEATED.items() if again == name), name)


class Measured:
    """All that is known of the heads on this page, measured now or taken from the store."""

    def __init__(self, selection: SettledSelection, capture: "Capture") -> None:
        self.selection, self.capture = selection, capture
        self.ask = page_capture.make_ask(selection)
        stack = selection.stack
        self.text = long_heads.profile(self.ask, capture, stack)
        self.survey = survey_source.opened(selection, capture)
        self.at = find_output_row(capture, stack, selection.query)

    @property
    def random(self) -> "HeadProfile | None":
        """The measures on repeated random tokens, made when they are first asked for: the picture
        of the text does not wait for them."""
        return self._probe[0]

    @property
    def missing(self) -> list[str]:
        """Measures that the survey was made without: it is of another version."""
        known = self.survey.measures if self.survey is not None else HEAD_MEASURES
        return [name for name in HEAD_MEASURES if name not in known]

    @property
    def why(self) -> str:
        """Why there are none on repeated random tokens; empty where there are."""
        return self._probe[1]

    @cached_property
    def _probe(self) -> "tuple[HeadProfile | None, str]":
        stack = self.selection.stack
        if stack == "cross":
            return None, ""
        with slow_results.draw_bar("Measuring on repeated random tokens") as step:
            try:
                found = all_heads.measure_repeated(self.ask, stack, step)
            except AttnvizError as error:
                return None, f"Nothing on repeated random tokens. {error.what} {error.why}"
        return found, ""

    def numbers(self, name: str) -> Numbers | None:
        """One measure; None where it is not there, or not yet."""
        if name == "effect":
            return self._effect()
        if name in ON_REPEATED.values():
            if self.random is None:
                return None
            return self._of(self.random, plain(name), titles()[name], words.REPEATED)
        if self.survey is not None:
            return None if name in self.missing else self._surveyed(self.survey, name)
        return self._of(self.text, name, titles()[name], "")

    def _of(self, profile: "HeadProfile", name: str, title: str, more: str) -> Numbers:
        measure = HEAD_MEASURES[name]
        counted = profile.counted[name]
        most = int(np.nanmax(counted))
        return Numbers(
            title,
            measure.definition + more,
            measure.unit,
            measure.ceiling,
            measure.null,
            read_profile(profile, name),
            measure.falls,
            profile.found(name) if np.isfinite(profile.ceilings[name]).any() else None,
            f"{most:,} of {self._queries(profile):,} rows count{self._sample(profile)}.",
        )

    def _surveyed(self, survey: "Survey", name: str) -> Numbers:
        from attnviz.detectors.profiles import find_beyond_half, measure_rise

        measure = HEAD_MEASURES[name]
        layers, heads = self.text.values["entropy"].shape
        grids = read_survey(survey, name, self.selection.stack, (layers, heads))
        rows = survey.grid(name, "rows", self.selection.stack)
        most = int(np.nanmax(rows)) if np.isfinite(rows).any() else 0
        return Numbers(
            titles()[name],
            f"{measure.definition} Mean over all rows that count of all texts of the survey.",
            measure.unit,
            measure.ceiling,
            measure.null,
            grids,
            measure.falls,
            find_beyond_half(measure_rise(*vars(grids).values(), falls=measure.falls)),
            f"{most:,} rows of {survey.texts:,} texts count.",
        )

    def _sample(self, profile: "HeadProfile") -> str:
        """How many rows were looked at, where these are not all."""
        if profile is not self.text:
            return ""
        rows = long_heads.rows_measured(self.ask, self.capture, self.selection.stack)
        count = len(self.capture.query_tokens(self.selection.stack))
        return "" if rows is None else f", of {count:,} in the text, evenly spread"

    def _queries(self, profile: "HeadProfile") -> int:
        return int(np.nanmax(profile.counted["entropy"]))

    # Effect: runs of the model, so on demand

    @property
    def _name(self) -> tuple[Any, ...]:
        return ("effect", self.selection.stack, self.at)

    def _effect(self) -> Numbers | None:
        if not backend.has_experiment(self.ask, self._name):
            return None
        grids: HeadGrids = backend.get_experiment(self.ask, self._name, _never, ignore_progress)
        predicts = self.capture.logits is not None and len(self.capture.logits) > 0
        return Numbers(
            titles()["effect"],
            words.EFFECT if predicts else words.EFFECT_ON_STATES,
            "nats" if predicts else "none, 0 to 2",
            "None that is known before the model runs." if predicts else "2: turned around.",
            "0: a head that changes nothing.",
            grids,
        )

    def ask_for_effect(self) -> None:
        """The button, with its cost; or why there is none."""
        if not has_output(self.capture):
            st.text(NOTHING_OUT)
            return
        token = text_place.name_token(self.capture.query_tokens(self.selection.stack), self.at)
        st.text(f"Each head puts out zeros at {token} in turn, and the model runs on from there.")
        slow_results.show_result(
            "heads_effect",
            self.ask,
            self._name,
            lambda model, cap, step: self._run(model, cap, None, step),
            cost=self._cost,
            label="Measure the effect of every head",
        )

    def _run(self, model: "LoadedModel", capture: "Capture", layers: Any, step: Any) -> HeadGrids:
        stack = self.selection.stack
        return measure_effect(model, capture, stack, self.at, layers=layers, progress=step)

    def _cost(self) -> float:
        """Seconds for all heads, from one timed layer in the middle of the model."""
        layers = self.capture.layers(self.selection.stack)

        def timed(model: "LoadedModel", capture: "Capture") -> float:
            started = time.perf_counter()
            self._run(model, capture, [layers[len(layers) // 2]], None)
            return (time.perf_counter() - started) * len(layers)

        name = ("effect cost", *self._name)
        return backend.get_experiment(self.ask, name, timed, ignore_progress)


def _never(model: "LoadedModel", capture: "Capture") -> Any:
    raise AssertionError("asked for only where it was made before")


def kept(selection: SettledSelection, numbers: Numbers | None, shape: tuple[int, int]) -> Any:
    """(layer, head) bool: the heads that the filters leave in."""
    left = np.ones(shape, bool)
    if selection.layers is not None:
        first, last = read_span(selection.layers)
        left[:first], left[last + 1 :] = False, False
    if selection.above and numbers is not None:
        with np.errstate(invalid="ignore"):
            if numbers.falls:
                left &= numbers.values * selection.above <= numbers.grids.null
            else:
                left &= numbers.values >= numbers.grids.null * selection.above
    return left


def ranked(numbers: Numbers, left: Any) -> list[tuple[int, int]]:
    """The heads left in that have a number, what stands out most first."""
    places = np.argwhere(left & np.isfinite(numbers.values))
    order = np.argsort(-numbers.strength[tuple(places.T)], kind="stable")
    return [(int(layer), int(head)) for layer, head in places[order]]


def table(
    measured: Measured, names: list[str], left: Any, order: list[tuple[int, int]]
) -> "pd.DataFrame":
    """A row a head, in this order; the rest of the heads left in after them."""
    there = np.isfinite(measured.text.values["entropy"]) & left
    rest = [(int(la), int(h)) for la, h in np.argwhere(there) if (int(la), int(h)) not in order]
    places = [*order, *rest]
    columns: dict[str, Any] = {
        "Layer": [layer for layer, _ in places],
        "Head": [head for _, head in places],
    }
    for name in names:
        numbers = measured.numbers(name)
        if numbers is not None:
            at = tuple(np.array(places, int).reshape(-1, 2).T)
            columns[numbers.title] = numbers.values[at]
    return pd.DataFrame(columns)


def formats(measured: Measured, names: list[str]) -> dict[str, Any]:
    """Widths, digits and help of the table's columns."""
    found: dict[str, Any] = {
        name: st.column_config.NumberColumn(format="%d", width=60) for name in ("Layer", "Head")
    }
    for name in names:
        numbers = measured.numbers(name)
        if numbers is not None:
            help = f"{numbers.definition} Unit: {numbers.unit}."
            found[numbers.title] = st.column_config.NumberColumn(format="%.3f", help=help)
    return found
