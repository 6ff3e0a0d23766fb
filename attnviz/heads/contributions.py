"""What each token adds to a head's output: weights times values, through the output projection.

For one query i and head, with weights a_ij, values v_j and the head's slice W_O of the output
projection, key j contributes the vector c_ij = a_ij v_j W_O, and the head's output is
o_i = sum_j c_ij: exactly, by linearity. The projection's bias belongs to no key and to no head.
Norms: Kobayashi et al. 2020, "Attention is Not Only a Weight", section 3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd

from attnviz.errors import BadInput
from attnviz.heads.softmax import Array, Mask

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.tokens import Token


class HeadRows(Protocol):
    """What contributions are worked out from: a `Head`, whole or some of its rows."""

    @property
    def v(self) -> Array | None: ...

    @property
    def w_o(self) -> Array | None: ...

    @property
    def instead(self) -> Array | None: ...

    @property
    def allowed(self) -> Mask: ...

    @property
    def scores(self) -> Array: ...

    @property
    def weights(self) -> Array: ...

    @property
    def key_tokens(self) -> "Sequence[Token]": ...


@dataclass(frozen=True)
class Measure:
    """A way to say how much one key contributes to one query."""

    title: str
    definition: str
    unit: str
    signed: bool = False


MEASURES = {
    "weight": Measure(
        "Weight",
        "The attention weight a_ij: the share of the row that softmax gives to the key.",
        "share of the row, 0 to 1",
    ),
    "value_norm": Measure(
        "Value norm",
        "The length of the key's value vector v_j. It does not depend on the query.",
        "length, 0 or more",
    ),
    "weighted_value_norm": Measure(
        "Weight x value norm",
        "a_ij times the length of v_j: how much the key puts into the head's output before the "
        "output projection.",
        "length, 0 or more",
    ),
    "contribution_norm": Measure(
        "Norm through W_O",
        "The length of a_ij v_j W_O: how much the key adds to the residual stream. Lengths of "
        "vectors that pull in different directions do not add up to the length of their sum.",
        "length, 0 or more",
    ),
    "signed_share": Measure(
        "Signed share",
        "The part of the head's output o_i that comes from the key, measured along o_i: "
        "(a_ij v_j W_O) . o_i / |o_i|^2. Negative where the key pulls against the output; a row "
        "adds up to 1.",
        "share of the head's output, adds up to 1",
        signed=True,
    ),
}


def row(head: HeadRows, query: int, *, of: str = "output") -> "pd.DataFrame":
    """One row a key: what it contributes to one query.

    Args:
        head: the head.
        query: the query's position, from 0.
        of: "output" measures after the head's slice of the output projection, "value" before it.

    Returns:
        A frame with the columns position (key), token (its text), score (as softmax received it,
        NaN where masked), weight, value_norm, weighted_value_norm, contribution_norm and
        signed_share (NaN where the output projection is out of reach, or the row's output is 0).

    Raises:
        BadInput: no such query, or an unknown `of`.
    """
    if of not in ("output", "value"):
        raise BadInput(
            what=f"Contributions of {of!r} are not defined.",
            todo="Ask for of='output' or of='value'.",
        )
    one = _Offers(head, slice(query, query + 1), projected=of == "output")
    scores = head.scores[query]
    return pd.DataFrame(
        {
            "position": np.arange(len(scores)),
            "token": [token.text for token in head.key_tokens] or [""] * len(scores),
            "score": np.where(head.allowed[query], scores, np.float32(np.nan)),
            "weight": head.weights[query],
            **{name: one.measure(name)[0] for name in MEASURES if name != "weight"},
        }
    )


def matrix(head: HeadRows, measure: str) -> Array:
    """(query, key) float32: one measure of MEASURES for every row; units as stated there.

    Raises:
        BadInput: the measure is unknown.
    """
    if measure not in MEASURES:
        raise BadInput(
            what=f"There is no contribution measure {measure!r}.",
            todo=f"Choose one of {', '.join(MEASURES)}.",
        )
    return _Offers(head, slice(None), projected=True).measure(measure)


class _Offers:
    """Some rows of a head, with the vector that each key offers: v_j, or v_j W_O."""

    def __init__(self, head: HeadRows, rows: slice, *, projected: bool) -> None:
        self.weights = head.weights[rows]
        self.values = head.v
        self.offers: Array | None = head.v
        if head.instead is not None:  # what the head puts out comes from no key
            self.values = self.offers = None
            return
        if projected:
            self.offers = None  # (key, d_model) where the output projection is within reach
            if head.v is not None and head.w_o is not None:
                self.offers = head.v @ head.w_o

    def measure(self, name: str) -> Array:
        if name == "weight":
            return self.weights
        if name == "value_norm":
            return np.broadcast_to(self._norms(self.values), self.weights.shape)
        if name == "weighted_value_norm":
            return self.weights * self._norms(self.values)
        if name == "contribution_norm":
            # |a v W_O| = a |v W_O|, so no (query, key, d_model) array is needed
            return self.weights * self._norms(self.offers)
        return self._signed_share()

    def _norms(self, vectors: Array | None) -> Array:
        if vectors is None:
            return np.full(self.weights.shape[1], np.nan, np.float32)
        return np.linalg.norm(vectors, axis=1)

    def _signed_share(self) -> Array:
        if self.offers is None:
            return np.full(self.weights.shape, np.nan, np.float32)
        output = self.weights @ self.offers  # (query, d_model)
        length = (output * output).sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            along = (output @ self.offers.T) / np.where(length > 0, length, np.float32(np.nan))
        return np.asarray(self.weights * along, np.float32)
