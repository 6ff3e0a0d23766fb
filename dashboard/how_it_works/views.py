"""The four steps, of a real head and of the invented one, for export."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pandas as pd

from attnviz.charts.describe_steps import describe_four_steps
from attnviz.charts.four_steps import four_steps
from dashboard.how_it_works import scripts
from dashboard.server.turns import silent
from dashboard.session import backend
from dashboard.session.selection import SettledSelection
from dashboard.widgets.figure_views import figure

if TYPE_CHECKING:
    from attnviz.export import View
    from attnviz.heads.head import Head
    from dashboard.how_it_works.toy import Toy


def real_steps(
    ask: backend.Ask,
    selection: SettledSelection,
    row: int,
    keys: list[int],
    lit: int | None,
    *,
    link: str,
) -> "View":
    """The four steps of one row of a head, for the keys that are followed."""
    head = backend.capture(ask, silent).head(selection.layer, selection.head, selection.stack)
    finding = " ".join(describe_four_steps(head, query=row, keys=keys))
    chart = four_steps(head, query=row, keys=keys, lit=lit)
    of = replace(selection, query=row)
    table = _followed(head, row, keys)
    script = scripts.followed(row, keys)
    return figure(ask, of, "four_steps", finding, chart, table, None, script=script, link=link)


def toy_steps(toy: "Toy", lit: int | None, *, link: str) -> "View":
    """The four steps of the invented head."""
    from attnviz.export import table_view

    head = toy.head()
    keys = list(range(len(head.key_tokens)))
    return table_view(
        _followed(head, 0, keys),
        lambda: four_steps(head, query=0, keys=keys, lit=lit),
        title="Attention in four steps, on an invented head",
        finding=" ".join(describe_four_steps(head, query=0, keys=keys)),
        about={"place": {"kind": "table", "figure": "toy", **asdict(toy)}},
        script=scripts.invented(head),
        stem="four-steps",
        link=link,
    )


def _followed(head: "Head", row: int, keys: list[int]) -> "pd.DataFrame":
    """A row a key that is followed: its score, NaN where masked, and its weight."""
    import numpy as np

    one = head.rows(row, row + 1)  # of a long text, no other row is worked out
    scores = np.where(one.allowed[0, keys], one.scores[0, keys], np.float32(np.nan))
    return pd.DataFrame(
        {
            "Key": keys,
            "Token": [head.key_tokens[key].label for key in keys],
            "Score": scores,
            "Weight": one.weights[0, keys],
        }
    )
