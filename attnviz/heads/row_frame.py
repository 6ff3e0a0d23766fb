"""Row frame: one row of a head as a table, a row a key, for those who read numbers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnviz.heads.contributions import MEASURES
from attnviz.heads.masks import MASK_REASONS

if TYPE_CHECKING:
    from attnviz.heads.head import Head

NO_TOKEN = "(sink: no token)"


def frame_row(
    head: "Head", query: int, values: Mapping[str, NDArray[Any]], sink: Mapping[str, float]
) -> pd.DataFrame:
    """A row a key: "Position", "Token", "Mask" where some key is masked, and each of `values`,
    (key,), by its name.

    A masked key has no numbers and says why instead. A model with a sink logit has a last row for
    it, with the numbers of `sink`.
    """
    row = head.rows(query, query + 1)
    allowed = row.allowed[0]
    labels = [token.label for token in head.key_tokens] or [""] * len(allowed)
    columns: dict[str, Any] = {"Position": range(len(allowed)), "Token": labels}
    if not allowed.all():
        reasons = [f"masked: {MASK_REASONS[reason]}" for reason in row.mask_reason[0]]
        columns["Mask"] = np.where(allowed, "", reasons)
    columns |= {name: np.where(allowed, value, np.nan) for name, value in values.items()}
    frame = pd.DataFrame(columns)
    if row.sink_logit is None:
        return frame
    return pd.concat([frame, pd.DataFrame([{"Token": NO_TOKEN, **sink}])], ignore_index=True)


def frame_contributions(head: "Head", query: int) -> pd.DataFrame:
    """Score, weight and every measure of contribution of one row, by their titles; measures that
    are out of reach are left out."""
    row = head.rows(query, query + 1)
    frame = row.contributions(query)
    values = {"Score": frame["score"].to_numpy()}
    values |= {measure.title: frame[name].to_numpy() for name, measure in MEASURES.items()}
    values = {name: value for name, value in values.items() if not np.isnan(value).all()}
    return frame_row(head, query, values, {"Weight": float(row.sink[0])})
