"""Statistics: what every head measured over many texts, in a size that does not grow with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnviz.detectors.measures import HEAD_MEASURES

if TYPE_CHECKING:
    from attnviz.detectors import HeadProfile

MEASURES = tuple(HEAD_MEASURES)
QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
STATISTICS = ("texts", "rows", "mean", "null", "ceiling", "text_mean", "variance", *QUANTILES)
ACCURACY = 0.01
"""How far a quantile may be off, as a part of itself."""
LEAST, LARGEST = 1e-4, 1e5
"""Numbers under the first count as 0 for quantiles, those over the second as the second."""
_STEP = np.log((1 + ACCURACY) / (1 - ACCURACY))
BINS = int(np.ceil(np.log(LARGEST / LEAST) / _STEP)) + 1


@dataclass(eq=False)
class Statistics:
    """Sums over texts, for each measure, layer and head of one stack.

    Adding texts in another order gives the same counts, and the same means and variances but for
    the rounding of float64. The bins of the quantiles grow by a constant factor: Masson et al.
    2019, "DDSketch", section 2.1.

    Shapes are (measure, layer, head), measures as in MEASURES:
        texts: how many texts have a number here.
        rows: how many query rows these numbers are means of.
        total, null, ceiling: sums over rows of the measure, of what stands against it, and of the
            largest possible.
        mean, squares: of the texts' numbers, and the sum of their squared distances from it.
        bins: (measure, layer, head, bin) how many texts' numbers fall into each.
    """

    texts: NDArray[np.int64]
    rows: NDArray[np.int64]
    total: NDArray[np.float64]
    null: NDArray[np.float64]
    ceiling: NDArray[np.float64]
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]
    bins: NDArray[np.int32]

    @classmethod
    def empty(cls, layers: int, heads: int) -> "Statistics":
        shape = (len(MEASURES), layers, heads)
        texts, rows = np.zeros((2, *shape), np.int64)
        total, null, ceiling, mean, squares = np.zeros((5, *shape))
        bins = np.zeros((*shape, BINS), np.int32)
        return cls(texts, rows, total, null, ceiling, mean, squares, bins)

    def take(self, profile: "HeadProfile") -> None:
        """Count one text in.

        Mean and squares: Welford 1962, "Note on a Method for Calculating Corrected Sums of Squares
        and Products".
        """
        values = _stack_measures(profile.values)
        counted = np.isfinite(values)
        rows = np.where(counted, _stack_measures(profile.counted), 0).astype(np.int64)
        self.texts += counted
        self.rows += rows
        self.total += np.nan_to_num(values) * rows
        self.null += np.nan_to_num(_stack_measures({n: profile.null(n) for n in MEASURES})) * rows
        self.ceiling += np.nan_to_num(_stack_measures(profile.ceilings)) * rows
        apart = np.where(counted, values - self.mean, 0)
        self.mean += apart / np.maximum(self.texts, 1)
        self.squares += apart * np.where(counted, values - self.mean, 0)
        at = np.nonzero(counted)
        self.bins[(*at, _bin(values[at]))] += 1

    def add(self, other: "Statistics") -> None:
        """Take over the texts of another statistics of the same heads.

        Means and squares: Chan, Golub and LeVeque 1979, "Updating Formulae and a Pairwise
        Algorithm for Computing Sample Variances".
        """
        texts = self.texts + other.texts
        share = other.texts / np.maximum(texts, 1)
        apart = other.mean - self.mean
        self.squares += other.squares + apart**2 * self.texts * share
        self.mean += apart * share
        self.texts = texts
        for name in ("rows", "total", "null", "ceiling", "bins"):
            getattr(self, name).__iadd__(getattr(other, name))

    def grids(self, name: str) -> dict[str, NDArray]:
        """{statistic: (layer, head)} of one measure; NaN where no text has a number.

        Of STATISTICS, "mean", "null" and "ceiling" are means over all query rows of all texts;
        "text_mean", "variance" (of a sample) and the quantiles "q05" to "q95" are over texts, each
        of which has one number; "texts" and "rows" count.
        """
        at = MEASURES.index(name)
        texts, rows = self.texts[at], self.rows[at]
        each = np.where(rows > 0, rows, np.nan)
        found: dict[str, NDArray] = {"texts": texts, "rows": rows}
        found |= {
            "mean": self.total[at] / each,
            "null": self.null[at] / each,
            "ceiling": self.ceiling[at] / each,
            "text_mean": np.where(texts > 0, self.mean[at], np.nan),
            "variance": self.squares[at] / np.where(texts > 1, texts - 1, np.nan),
        }
        for quantile, share in QUANTILES.items():
            found[quantile] = _quantile(self.bins[at], texts, share)
        return found

    def arrays(self) -> Mapping[str, NDArray]:
        """Every array by its name, to be kept in a file."""
        return vars(self)


def _stack_measures(grids: Mapping[str, NDArray]) -> NDArray[np.float64]:
    return np.stack([np.asarray(grids[name], np.float64) for name in MEASURES])


def _bin(values: NDArray) -> NDArray[np.int64]:
    inside = np.log(np.clip(values, LEAST, LARGEST) / LEAST) / _STEP
    place = np.minimum(np.ceil(inside), BINS - 1)
    return np.where(values < LEAST, 0, np.maximum(place, 1)).astype(np.int64)


def _quantile(bins: NDArray, texts: NDArray, share: float) -> NDArray[np.float64]:
    """The number of the text at this share of the way from the least to the largest."""
    rank = np.floor(share * np.maximum(texts - 1, 0))
    place = (np.cumsum(bins, axis=-1) <= rank[..., None]).sum(axis=-1)
    middle = LEAST * np.exp(place * _STEP) * 2 / (1 + np.exp(_STEP))  # as far from either end
    found = np.where(place == 0, 0.0, middle)
    return np.where(texts > 0, found, np.nan)
