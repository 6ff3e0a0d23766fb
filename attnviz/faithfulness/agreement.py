"""Agreement: what a row's weights say of each token, beside what happens when it is taken away."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from attnviz.errors import BadInput, UnsupportedModel
from attnviz.faithfulness.gradient import weight_gradient
from attnviz.faithfulness.logit_attribution import DirectPath, direct_path, refuse_indirect
from attnviz.heads.distances import cosine_distance, kendall, logit_variation, spearman
from attnviz.heads.head import Head
from attnviz.heads.softmax import Array
from attnviz.interventions import HideKeys, Intervention, ZeroValue, effects
from attnviz.interventions.engine import model_output, output_to_compare
from attnviz.progress import Step

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.capture.result import Capture
    from attnviz.models import LoadedModel

SAID = {
    "weight": "The attention weight.",
    "weighted_value_norm": "The weight times the length of the value.",
    "contribution_norm": "The length of what the key adds, through the output projection.",
    "gradient_x_weight": "The weight times how fast the token's logit grows with it, without its "
    "sign.",
    "direct_logit": "What the key adds to the token's logit straight through the final norm, whose "
    "scale is frozen at its value of this run, and the unembedding, without its sign.",
}
"""What can be read off without taking anything away."""
MEASURED = {
    "key_hiding": "The change of the output when this query of this head may not see the key.",
    "value_zeroing": "The change when the key's value is 0 for this head (after Mohebbi et al. "
    "2023, who zero it in every head).",
    "token_erasure": "The change when no head of any layer may see the token.",
}
"""What happens when something is taken away: total variation of the output distribution, 0 to 1,
or 1 minus the cosine of the query's last hidden state for a model that predicts no tokens."""
SHUFFLES = 1000
NOISE = 1e-6
"""A change of the output below it is rounding, and no effect."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """One row's keys by every measure.

    Attributes:
        table: a row a key the query may see: position, token, then the columns of SAID and
            MEASURED; NaN where a measure does not apply to the model.
        unit: what the measured columns are.
        direct: the straight way to the logit that `direct_logit` is measured by, where there is
            one.
        no_direct: why there is none, in words.
    """

    table: "pd.DataFrame"
    unit: str
    direct: DirectPath | None = None
    no_direct: str = ""

    def correlation(self, said: str, measured: str, how: str = "spearman") -> float:
        """Rank correlation of two columns, "spearman" or "kendall", -1 to 1; NaN where one does
        not vary or apply."""
        correlate = {"spearman": spearman, "kendall": kendall}[how]
        pair = self._compared[[said, measured]].dropna()
        return correlate(pair[said], pair[measured]) if len(pair) > 1 else float("nan")

    @property
    def ranks(self) -> "pd.DataFrame":
        """The table with ranks in the place of numbers: 1 for the largest without its sign, and
        the mean rank for keys that are equal."""
        names = [*SAID, *MEASURED]
        ranks = self._compared[names].abs().rank(ascending=False)
        return self.table[["position", "token"]].join(ranks)

    @cached_property
    def _compared(self) -> "pd.DataFrame":
        """The table with changes that are rounding put at 0, where they are equal."""
        table = self.table.copy()
        for name in MEASURED:
            table[name] = table[name].mask(table[name].abs() < NOISE, 0.0)
        return table

    @cached_property
    def chance(self) -> float:
        """What 95 in 100 random orders of as many keys stay under, as a Spearman correlation
        without its sign: agreement below it is no agreement."""
        rng = np.random.default_rng(0)
        count = len(self.table)
        if count < 3:
            return 1.0
        order = np.arange(count)
        found = [abs(spearman(order, rng.permutation(count))) for _ in range(SHUFFLES)]
        return float(np.quantile(found, 0.95))


def agreement(
    model: "LoadedModel",
    capture: "Capture",
    layer: int,
    head: int,
    query: int | None = None,
    *,
    stack: str | None = None,
    token_id: int | None = None,
    erase: bool = True,
    progress: Step | None = None,
) -> Agreement:
    """Every key of one row by weight, by contribution, by gradient, and by what taking it away
    does to the output.

    Args:
        query: the row; the last by default, whose output is what a decoder predicts from.
        stack: "decoder", "encoder" or "cross"; as for `Capture.head`. A token is erased from the
            attention of this stack.
        token_id: whose logit the gradient and the direct attribution are of; by default the
            token that is likeliest without any change.
        erase: also hide each token from every head, which takes longer.
        progress: called with (done, total).

    Raises:
        BadInput: there is no such layer, head or query, or no logits for the token asked for.
    """
    if token_id is not None and not has_logits(capture):
        raise BadInput(
            what=f"There is no logit of token {token_id}.",
            why="The model gives no logits on this text.",
            todo="Leave token_id out, or choose a model with a language-modelling head.",
        )
    stack, query = locate_row(capture, layer, query, stack)
    shown = capture.head(layer, head, stack)
    row = shown.contributions(query)
    keys = np.flatnonzero(shown.allowed[query]).tolist()
    if not keys:
        raise BadInput(
            what=f"Query {query} attends to nothing.",
            why="There is no weight to compare with anything.",
            todo="Choose another query.",
        )
    table = row.iloc[keys].reset_index(drop=True)
    table = table[["position", "token", "weight", "weighted_value_norm", "contribution_norm"]]
    if token_id is None and has_logits(capture):
        token_id = int(model_output(capture)[-1].argmax())
    table["gradient_x_weight"] = _gradient(model, capture, shown, query, token_id)[keys]
    path, why = _direct(model, capture, shown, query, token_id)
    table["direct_logit"] = np.nan if path is None else np.abs(path.of_keys(shown, query)[keys])
    kinds: dict[str, list[Intervention]] = {
        "key_hiding": [HideKeys(layer, head, stack, keys=(k,), queries=(query,)) for k in keys],
        "value_zeroing": [ZeroValue(layer, head, stack, key=k) for k in keys],
        "token_erasure": [HideKeys(stack=stack, keys=(k,)) for k in keys] if erase else [],
    }
    whatifs = [[one] for ones in kinds.values() for one in ones]
    outputs = effects(model, capture, whatifs, progress=progress)
    changes = [output_change(capture, output, query) for output in outputs]
    for name, ones in kinds.items():
        table[name] = changes[: len(ones)] if ones else np.nan
        changes = changes[len(ones) :]
    unit = "total variation, 0 to 1" if has_logits(capture) else "1 - cosine, 0 to 2"
    return Agreement(table, unit, path, why)


def has_logits(capture: "Capture") -> bool:
    return capture.logits is not None and len(capture.logits) > 0


def output_change(capture: "Capture", output: Array, query: int) -> float:
    """How far an output is from the baseline's: of the distribution over tokens, or, where there
    is none, of the query's last hidden state; a model with two sides gives those of its decoder,
    whose last stands for a query beyond them."""
    before = output_to_compare(capture)
    if has_logits(capture):
        return logit_variation(before, output)
    return float(cosine_distance(before, output)[min(query, len(before) - 1)])


def locate_row(
    capture: "Capture", layer: int, query: int | None, stack: str | None
) -> tuple[str, int]:
    """(stack, row): the stack asked for or the capture's own, and the row or the last."""
    block = capture.block(layer, stack)
    return block.stack, block.queries - 1 if query is None else query


def _gradient(
    model: "LoadedModel", capture: "Capture", shown: Head, query: int, token_id: int | None
) -> Array:
    if token_id is None or shown.v is None:
        return np.full(shown.allowed.shape[1], np.nan, np.float32)
    slope = weight_gradient(
        model, capture, shown.layer, shown.head, query, token_id, stack=shown.stack
    )
    return np.abs(shown.weights[query] * slope)


def _direct(
    model: "LoadedModel", capture: "Capture", shown: Head, query: int, token_id: int | None
) -> tuple[DirectPath | None, str]:
    """The straight way from a row to a token's logit; or none, and why in words."""
    if token_id is None:
        return None, "This model gives no logits on this text."
    if query != capture.logit_positions[-1]:
        return None, (
            f"The logits are those of token {capture.logit_positions[-1]}. What is added at "
            "another token gets there through later layers only, not straight."
        )
    try:
        path = direct_path(model, capture, token_id)
        refuse_indirect(path, capture.block(shown.layer, shown.stack))
    except UnsupportedModel as reason:
        return None, reason.why
    return path, ""
