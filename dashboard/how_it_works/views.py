"""The four steps, of a real head and of the invented one, for export."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from attnviz.charts.describe_steps import describe_four_steps
from attnviz.charts.four_steps import four_steps
from attnviz.experiments.invented_head import follow_keys, invent_head
from attnviz.progress import ignore_progress
from dashboard.session import backend
from dashboard.session.script_body import write_call
from dashboard.session.selection import SettledSelection
from dashboard.widgets.figure_views import view_figure

if TYPE_CHECKING:
    from attnviz.export import View
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
    head = backend.get_capture(ask, ignore_progress).head(
        selection.layer, selection.head, selection.stack
    )
    finding = " ".join(describe_four_steps(head, query=row, keys=keys))
    chart = four_steps(head, query=row, keys=keys, lit=lit)
    of = replace(selection, query=row)
    table = follow_keys(head, row, keys)
    script = write_call(follow_keys, "head", query=row, keys=keys)
    return view_figure(ask, of, "four_steps", finding, chart, table, None, script=script, link=link)


def toy_steps(toy: "Toy", lit: int | None, *, link: str) -> "View":
    """The four steps of the invented head."""
    from attnviz.export import table_view

    head = toy.head()
    keys = list(range(len(head.key_tokens)))
    settings = ", ".join(f"{name}={value!r}" for name, value in toy.settings.items())
    imports = f"from {invent_head.__module__} import {invent_head.__name__}\n"
    return table_view(
        follow_keys(head, 0, keys),
        lambda: four_steps(head, query=0, keys=keys, lit=lit),
        title="Attention in four steps, on an invented head",
        finding=" ".join(describe_four_steps(head, query=0, keys=keys)),
        about={"place": {"kind": "table", "figure": "toy", **asdict(toy)}},
        script=write_call(
            follow_keys, f"invent_head({settings})", query=0, keys=keys, imports=imports
        ),
        stem="four-steps",
        link=link,
    )
