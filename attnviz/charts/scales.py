"""From a number to a colour: the domain, the title and the printed marks of each colour scale."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnviz.charts.palettes import Ramp, ramp

ScoreColour = Literal["zero", "row"]
WeightColour = Literal["unit", "fit", "log"]
_CROWDED = 0.2  # share of a colour bar that two numbers need between them
LOG_FLOOR = 1e-4  # weights below it share the lightest colour of the log scale

STAGE_TITLES = {
    "dot": "Scores, product of query and key",
    "scaled": "Scores, scaled product",
    "capped": "Scores, after the soft cap",
    "biased": "Scores, with position bias",
    "tempered": "Scores, divided by the temperature",
    "masked": "Scores, masked",
    "position bias": "Position bias alone",
    "content to position": "Content to position alone",
    "position to content": "Position to content alone",
    "bias in the mask": "Bias in the mask alone",
    "added by you": "Added by you alone",
    "watched": "Scores, as watched",
}


@dataclass(frozen=True)
class ColourScale:
    """One colour for one number.

    Attributes:
        title, note: the stage and the mode, in words.
        low, high: the numbers at the two ends of the printed bar: of the unmasked cells.
        start, end: where the bar's ends lie on the ramp, 0 to 1.
        colours: the ramp, light to dark.
        marks: numbers printed on the bar.
        log: positions are taken of the logarithm; what is below `low` has its colour.
    """

    title: str
    note: str
    low: float
    high: float
    start: float
    end: float
    colours: Ramp
    marks: tuple[float, ...]
    log: bool = False

    def position(self, values: NDArray) -> NDArray[np.float64]:
        """Where each number lies on the ramp, 0 to 1; NaN stays NaN."""
        values = np.asarray(values, np.float64)
        low, high = self.low, self.high
        if self.log:
            values = np.log10(np.maximum(values, low))
            low, high = np.log10(low), np.log10(high)
        if high == low:
            return np.where(np.isnan(values), np.nan, self.start)
        share = ((values - low) / (high - low)).clip(0, 1)
        return self.start + share * (self.end - self.start)


def score_scale(scores: NDArray, stage: str | None, colour: ScoreColour) -> ColourScale:
    """The scale of scores: (query, key), -inf or NaN where there is nothing to colour.

    "zero" gives equal sizes below and above 0 equal distances from the neutral middle. Where all
    scores lie on one side, the whole of a one-hue ramp goes from the smallest to the largest.
    "row" expects scores less the largest of their row.
    """
    title = "Scores, as softmax receives them" if stage is None else STAGE_TITLES.get(stage, stage)
    low, high = _ends(scores)
    if colour == "row":
        note = "relative to the row's largest"
        return ColourScale(title, note, low, 0, 0, 1, ramp("below"), (low, 0))
    if low >= 0 or high <= 0:
        side = "all above 0" if low >= 0 else "all below 0"
        return ColourScale(title, side, low, high, 0, 1, ramp("below"), (low, high))
    reach = max(-low, high)
    start, end = 0.5 + low / (2 * reach), 0.5 + high / (2 * reach)
    crowded = min(-low, high) < _CROWDED * (high - low)  # 0 would run into an end
    marks = (low, high) if crowded else (low, 0.0, high)
    return ColourScale(title, "centred on 0", low, high, start, end, ramp("score"), marks)


def weight_scale(weights: NDArray, sink: NDArray, colour: WeightColour) -> ColourScale:
    """The scale of weights and of the sink beside them. No scale changes the weights."""
    colours = ramp("weight")
    if colour == "log":
        title = f"Weights, log scale, {LOG_FLOOR:g} to 1"
        marks = (LOG_FLOOR, 1e-2, 1.0)
        return ColourScale(title, "", LOG_FLOOR, 1, 0, 1, colours, marks, log=True)
    if colour == "fit":
        high = max(_ends(weights)[1], _ends(sink)[1])
        title = f"Weights, fitted to 0 to {short(high)}"
        return ColourScale(title, "", 0, high, 0, 1, colours, (0, high))
    return ColourScale("Weights, 0 to 1", "", 0, 1, 0, 1, colours, (0, 0.5, 1))


def short(value: float) -> str:
    """A number as a label: three significant digits and a true minus sign."""
    return f"{value + 0.0:.3g}".replace("-", "\u2212")


def _ends(values: NDArray) -> tuple[float, float]:
    finite = np.asarray(values)[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
