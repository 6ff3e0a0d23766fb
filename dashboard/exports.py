"""The views of the pages, made from names and numbers alone: for export, with nothing kept."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboard.heads import scripts as heads_scripts
from dashboard.how_it_works import scripts
from dashboard.server.turns import silent
from dashboard.session import all_heads, backend
from dashboard.session.selection import SHIPPED_SURVEY, Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import pandas as pd

    from attnviz.capture import Capture
    from attnviz.export import View
    from attnviz.heads.head import Head
    from attnviz.interventions import Intervention
    from dashboard.heads.head_numbers import Numbers
    from dashboard.how_it_works.toy import Toy


def explore(ask: backend.Ask, selection: Selection, *, link: str) -> "View":
    """The head and the row that Explore shows."""
    from attnviz.export import head_view

    capture = backend.capture(ask, silent)
    return head_view(capture, **_place(selection), link=link, **_looks(selection))


def _place(selection: Selection) -> dict[str, Any]:
    return {
        "layer": selection.layer,
        "head": selection.head,
        "stack": selection.stack,
        "query": selection.query,
    }


def _looks(selection: Selection) -> dict[str, Any]:
    return {
        "stage": None if selection.stage == "softmax" else selection.stage,
        "measure": selection.by,
        "near": selection.near,
        "score_colour": selection.scores,
        "weight_colour": selection.weights,
        "order": selection.order,
    }


def overview(ask: backend.Ask, selection: Selection, near: int, *, link: str) -> "View":
    """The whole head of a long text from afar."""
    from attnviz.export import overview_view

    capture = backend.capture(ask, silent)
    at = _place(selection)
    found = backend.overview(ask, at["stack"], at["layer"], at["head"], lambda share: None)
    return overview_view(capture, **at, near=near, found=found, link=link)


def row(ask: backend.Ask, selection: Selection, *, link: str) -> "View":
    """The row that is read, on all keys of a long text."""
    from attnviz.export import row_view

    return row_view(backend.capture(ask, silent), **_place(selection), link=link)


def grid(ask: backend.Ask, selection: Selection, *, link: str) -> "View":
    """All heads by the measure of the sidebar's grid, which looks at some rows of a long text."""
    from attnviz import charts
    from attnviz.detectors import HEAD_MEASURES
    from attnviz.export import heads_view

    capture = backend.capture(ask, silent)
    stack, name = str(selection.stack), selection.grid
    found, about = all_heads.shares(ask, stack), HEAD_MEASURES[name]

    def chart() -> Any:
        return charts.grid(
            found.values[name],
            layer=int(selection.layer or 0),
            head=int(selection.head or 0),
            measure_title=about.title,
            low=about.low,
            high=about.high,
        )

    rows = all_heads.ROWS
    return heads_view(capture, stack, measure=name, rows=rows, found=found, chart=chart, link=link)


def architectures(verdict: str, *, link: str) -> "View":
    """The table of architectures, those of one verdict or all."""
    from attnviz.export import table_view
    from attnviz.models import support

    table = support.table()
    made = support.measured()["transformers"]
    kept, script = table, "from attnviz.models import support\n\ntable = support.table()\n"
    if verdict != "all":
        kept = table[table["verdict"] == verdict]
        script += f'table = table[table["verdict"] == {verdict!r}]\n'
    counts = table["verdict"].value_counts()
    return table_view(
        kept.reset_index(drop=True),
        title=f"Text architectures of transformers {made}: {verdict}",
        finding="; ".join(f"{count} {name}" for name, count in counts.items()) + ".",
        about={"place": {"kind": "table", "figure": "architectures", "verdict": verdict}},
        script=script,
        stem="architectures",
        link=link,
    )


def what_if(ask: backend.Ask, selection: Selection, change: "Intervention", *, link: str) -> "View":
    """The head as a what-if left it, with its numbers before."""
    from attnviz.export import head_view
    from dashboard.session.outcome import made

    before = backend.capture(ask, silent)
    found = made(ask, change, selection)
    return head_view(
        found.after,
        **_place(selection),
        interventions=[change],
        baseline=before,
        link=link,
    )


def heads(
    ask: backend.Ask,
    selection: Selection,
    numbers: "Numbers | None",
    left: Any,
    order: Any,
    finding: str,
    *,
    link: str,
) -> "View":
    """Every head by its measures, and the picture of them as the page has it. Of what is measured
    on another text or by other runs, that measure alone."""
    from attnviz.export import heads_view
    from dashboard.heads import panels as page

    capture = backend.capture(ask, silent)
    stack, measure = str(selection.stack), selection.measure

    def chart() -> Any:
        drawn = backend.has_experiment(ask, all_heads.maps_name(stack))
        if numbers is not None and (selection.view == "measure" or not drawn):
            return page.grid(selection, numbers, left)[0]
        maps = all_heads.maps(ask, stack, _no_step)
        return page.maps(selection, numbers, left, order, maps)[0]

    if numbers is not None and (selection.survey or measure not in kept_with_all()):
        return _one_measure(capture, selection, numbers, finding, chart, link)
    found = all_heads.profile(ask, stack, _no_step)
    return heads_view(
        capture, stack, measure=measure, found=found, chart=chart, finding=finding, link=link
    )


def kept_with_all() -> "Collection[str]":
    """The measures of Heads that are all in one file, whichever is drawn."""
    from attnviz.detectors import HEAD_MEASURES

    return HEAD_MEASURES


def _one_measure(
    capture: "Capture",
    selection: Selection,
    numbers: "Numbers",
    finding: str,
    chart: "Callable[[], Any]",
    link: str,
) -> "View":
    """A row a head of the measure that is drawn, with its null and its ceiling."""
    import numpy as np
    import pandas as pd

    from attnviz.export import table_view
    from attnviz.export.provenance import of_capture, of_model, versions
    from attnviz.export.script import of_capture as script_of

    layers, heads = np.indices(numbers.values.shape)
    columns = {"Layer": layers, "Head": heads, numbers.title: numbers.values}
    columns |= {"Null": numbers.null, "Ceiling": numbers.ceiling}
    on_text = selection.measure == "effect"
    surveyed = selection.survey and selection.measure in kept_with_all()
    about = {"kind": "table", "figure": selection.measure, "stack": selection.stack}
    about |= {"definition": numbers.definition, "unit": numbers.unit}
    about |= {"survey": Path(selection.survey).name} if surveyed else {}
    # random tokens and a survey are texts of their own: the reader's is not behind them
    made = {"model": of_model(capture.info), "versions": versions()}
    made = of_capture(capture) if on_text else made
    script = _of_measure(capture, selection, numbers.title)
    return table_view(
        pd.DataFrame({name: grid.ravel() for name, grid in columns.items()}),
        chart,
        title=f"{capture.info.name}, {selection.stack}: {numbers.title.lower()} of every head",
        finding=finding,
        capture=capture if on_text else None,
        about={**made, "place": about},
        script=script_of({**made, "place": about}, script),
        stem=f"{capture.info.name}-{selection.measure.replace('_', '-')}",
        link=link,
    )


def _of_measure(capture: "Capture", selection: Selection, title: str) -> str:
    """Python that makes the table of one measure."""
    from attnviz.faithfulness.agreement import has_logits
    from dashboard.heads.head_numbers import plain
    from dashboard.what_if.sweep import place_of_output

    stack, measure = str(selection.stack), selection.measure
    if measure == "effect":
        most = None if has_logits(capture) else 2.0
        return heads_scripts.effect(stack, place_of_output(capture, selection), title, most)
    if measure in kept_with_all():
        folder = "" if selection.survey == SHIPPED_SURVEY else selection.survey
        return heads_scripts.surveyed(capture.info.name, folder, stack, measure, title)
    return heads_scripts.repeated(stack, plain(measure), title)


def figure(
    ask: backend.Ask,
    selection: Selection,
    name: str,
    finding: str,
    chart: Any,
    table: "pd.DataFrame | None",
    change: "Intervention | None",
    others: Sequence[tuple[backend.Ask, Selection]] = (),
    script: str = "",
    *,
    link: str,
) -> "View":
    """A chart of a page with its table; `change` is the what-if that it is about, `others` whose
    numbers are in it too, `script` the lines of Python that make the table."""
    from attnviz.export import table_view
    from attnviz.export.changes import as_data
    from attnviz.export.provenance import of_capture
    from attnviz.export.script import of_capture as script_of

    more = [of_capture(backend.capture(a, silent)) | {"place": _place(s)} for a, s in others]
    capture = backend.capture(ask, silent)
    changes = [] if change is None else [as_data(change)]
    about: dict[str, Any] = {
        "place": {"kind": "table", "figure": name, **_place(selection)},
        "interventions": changes,
        **({"second": more[0]} if more else {}),
    }
    return table_view(
        table,
        None if chart is None else lambda: chart,
        title=f"{capture.info.name}, layer {selection.layer}, head {selection.head}: "
        + finding.split(":")[0].split(". ")[0],
        finding=finding,
        capture=capture,
        about=about,
        script=script_of(of_capture(capture) | about, script),
        stem=name.replace("_", "-"),
        link=link,
    )


def compare(
    asks: tuple[backend.Ask, backend.Ask],
    a: Selection,
    b: Selection,
    of: str,
    names: tuple[str, str],
    *,
    link: str,
) -> "View":
    """The two heads that are compared. Of A only the head is kept while B is made."""
    from attnviz.export import compare_view
    from attnviz.export.provenance import of_capture

    heads, made = [], []
    for ask, side in zip(asks, (a, b), strict=True):
        capture = backend.capture(ask, silent)
        heads.append(capture.head(side.layer, side.head, side.stack))
        made.append(of_capture(capture))
        del capture
    return compare_view(
        heads[0],
        heads[1],
        (made[0], made[1]),
        query=a.query,
        other_query=b.query,
        of=of,
        weight_colour=a.weights,
        names=names,
        near=a.near,
        link=link,
    )


def real_steps(
    ask: backend.Ask,
    selection: Selection,
    row: int,
    keys: list[int],
    lit: int | None,
    *,
    link: str,
) -> "View":
    """The four steps of one row of a head, for the keys that are followed."""
    from attnviz.charts.describe_steps import describe_four_steps
    from attnviz.charts.four_steps import four_steps

    head = backend.capture(ask, silent).head(
        int(selection.layer or 0), int(selection.head or 0), selection.stack
    )
    finding = " ".join(describe_four_steps(head, query=row, keys=keys))
    chart = four_steps(head, query=row, keys=keys, lit=lit)
    of = replace(selection, query=row)
    table = _followed(head, row, keys)
    script = scripts.followed(row, keys)
    return figure(ask, of, "four_steps", finding, chart, table, None, script=script, link=link)


def toy_steps(toy: "Toy", lit: int | None, *, link: str) -> "View":
    """The four steps of the invented head."""
    from attnviz.charts.describe_steps import describe_four_steps
    from attnviz.charts.four_steps import four_steps
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
    import pandas as pd

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


def matrix(first: Any, second: Any, *, link: str) -> "View":
    """The matrix that is checked, with its verdict."""
    from attnviz import check_matrix
    from attnviz.export import matrix_view

    return matrix_view(first, second, verdict=check_matrix(first, second).verdict, link=link)


def _no_step(done: int, total: int) -> None:
    pass
