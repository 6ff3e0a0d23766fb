"""All heads by one measure: on a text, on its controls, in a survey, and each head taken away."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnviz.experiments.changed_rows import measure_changes
from attnviz.progress import Step

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.detectors import HeadProfile
    from attnviz.models import LoadedModel


@dataclass(frozen=True, eq=False)
class HeadGrids:
    """One measure of all heads: values, null, ceiling, each (layer, head); NaN where there is no
    number, or no ceiling that is known."""

    values: NDArray[Any]
    null: NDArray[Any]
    ceiling: NDArray[Any]

    def table(self, title: str) -> pd.DataFrame:
        """A row a head: "Layer", "Head", the values under `title`, "Null" and "Ceiling"."""
        layers, heads = np.indices(self.values.shape)
        columns: dict[str, Any] = {"Layer": layers, "Head": heads, title: self.values}
        columns |= {"Null": self.null, "Ceiling": self.ceiling}
        return pd.DataFrame({name: grid.ravel() for name, grid in columns.items()})


def read_profile(profile: "HeadProfile", measure: str) -> HeadGrids:
    """One measure of a profile: with `attnviz.detectors.repeated` of random tokens, else of a text.

    >>> import attnviz
    >>> from attnviz.detectors import profile, repeated
    >>> found = profile(repeated(attnviz.load("planted-circuit")), measures=["induction"])
    >>> read_profile(found, "induction").table("Induction")["Induction"].idxmax()
    3
    """
    return HeadGrids(profile.values[measure], profile.null(measure), profile.ceilings[measure])


class Grids(Protocol):
    """A survey: one statistic of one measure, (layer, head)."""

    def grid(self, measure: str, statistic: str, stack: str) -> NDArray: ...


def read_survey(
    survey: Grids, measure: str, stack: str, shape: tuple[int, int] = (0, 0)
) -> HeadGrids:
    """One measure of an `attnviz.survey.Survey`: means over its texts. NaN fills up to `shape`.

    >>> from attnviz.survey.shipped import shipped
    >>> read_survey(shipped("smollm2-135m"), "induction", "decoder").values.shape
    (30, 9)
    """
    grids = []
    for statistic in ("mean", "null", "ceiling"):
        values = survey.grid(measure, statistic, stack)
        more = [(0, max(0, size - own)) for size, own in zip(shape, values.shape, strict=True)]
        grids.append(np.pad(values, more, constant_values=np.nan))
    return HeadGrids(*grids)


def measure_effect(
    model: "LoadedModel",
    capture: "Capture",
    stack: str,
    query: int,
    *,
    layers: list[int] | None = None,
    progress: Step | None = None,
) -> HeadGrids:
    """How far the output moves without each head, as `attnviz.detectors.effect`: nats, without a
    known ceiling, or 1 - cosine, 0 to 2. The null is 0.

    >>> import attnviz
    >>> model = attnviz.load("planted-circuit")
    >>> capture = attnviz.capture(model, "red fox ran home red fox ran")
    >>> found = measure_effect(model, capture, "decoder", query=7)
    >>> found.table("Effect").nlargest(1, "Effect")[["Layer", "Head"]].values.tolist()
    [[1, 0]]
    """
    from attnviz.detectors import effect
    from attnviz.faithfulness.agreement import has_logits

    values = effect(model, capture, stack, query=query, layers=layers, progress=progress)
    ceiling = np.full_like(values, np.nan if has_logits(capture) else 2)
    return HeadGrids(values, np.where(np.isnan(values), np.nan, 0), ceiling)


@dataclass(frozen=True, eq=False)
class ControlTexts:
    """The measures of `attnviz.detectors.SHARES` on a text and on its controls.

    grids: {"text", "shuffled" or "random": {measure: (layer, head), 0 to 1}}; NaN where no query
        has a number.
    """

    grids: Mapping[str, Mapping[str, NDArray[Any]]]

    def of_head(self, layer: int, head: int) -> pd.DataFrame:
        """A row a "Measure": its number on "your text", "shuffled tokens" and "random tokens"."""
        from attnviz.detectors import HEAD_MEASURES, SHARES

        texts = {"text": "your text", "shuffled": "shuffled tokens", "random": "random tokens"}
        columns = {
            title: [self.grids[text][name][layer, head] for name in SHARES]
            for text, title in texts.items()
        }
        return pd.DataFrame({"Measure": [HEAD_MEASURES[name].title for name in SHARES]} | columns)

    def of_measure(self, measure: str) -> pd.DataFrame:
        """A row a "Head" that has a number on both: "Your text", "Shuffled", and "Random"."""
        text, mixed, drawn = (self.grids[name][measure] for name in ("text", "shuffled", "random"))
        both = np.isfinite(text) & np.isfinite(mixed)
        names = [f"layer {layer}, head {head}" for layer, head in np.argwhere(both).tolist()]
        columns = {"Your text": text[both], "Shuffled": mixed[both], "Random": drawn[both]}
        return pd.DataFrame({"Head": names} | columns)


def measure_on_controls(
    model: "LoadedModel",
    capture: "Capture",
    stack: str,
    *,
    draws: int = 3,
    progress: Step | None = None,
) -> ControlTexts:
    """Measures of all heads on the text, on its tokens shuffled and on random tokens, the latter
    two as means over so many draws; see `attnviz.detectors.controls`.

    >>> import attnviz
    >>> model = attnviz.load("planted-circuit")
    >>> capture = attnviz.capture(model, "red fox ran home red fox")
    >>> found = measure_on_controls(model, capture, "decoder")
    >>> found.of_head(0, 0).set_index("Measure").loc["Previous token"].round(1).tolist()
    [1.0, 1.0, 1.0]
    """
    from attnviz.detectors import controls

    return ControlTexts(controls(model, capture, stack, draws=draws, progress=progress))


def sweep_heads(
    model: "LoadedModel",
    capture: "Capture",
    stack: str,
    query: int,
    *,
    how: str = "zero",
    progress: Step | None = None,
) -> pd.DataFrame:
    """Every head of a stack taken away in turn at one token: "Layer", "Head" and the "Change" of
    the output (see `measure_changes`), the largest first.

    `how`: what stands in a head's place, as for `attnviz.interventions.Ablate`. Source: Michel et
    al. 2019, "Are Sixteen Heads Really Better than One?"

    >>> import attnviz
    >>> model = attnviz.load("planted-circuit")
    >>> capture = attnviz.capture(model, "red fox ran home red fox ran")
    >>> sweep_heads(model, capture, "decoder", query=7).iloc[0][["Layer", "Head"]].tolist()
    [1.0, 0.0]
    """
    from attnviz.interventions import Ablate

    layers = capture.layers(stack)
    total = sum(capture.heads(layer, stack) for layer in layers)
    rows: list[dict[str, float]] = []
    for layer in layers:
        # a layer at a time: its heads share their runs, and no more outputs are held than these
        heads = range(capture.heads(layer, stack))
        gone = [[Ablate(layer, head, stack, how=how, queries=(query,))] for head in heads]

        def report(some: int, _: int, done: int = len(rows)) -> None:
            if progress:
                progress(done + some, total)

        changes = measure_changes(model, capture, gone, query, progress=report)
        rows += [
            {"Layer": layer, "Head": head, "Change": change}
            for head, change in zip(heads, changes, strict=True)
        ]
    table = pd.DataFrame(rows).sort_values("Change", ascending=False, kind="stable")
    return table.reset_index(drop=True)
