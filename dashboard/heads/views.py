"""What Heads shows, for export."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnviz.detectors import HEAD_MEASURES
from attnviz.experiments.every_head import measure_effect, read_profile, read_survey
from attnviz.experiments.output_tokens import find_output_row
from attnviz.progress import ignore_progress, ignore_step
from dashboard.heads import head_charts
from dashboard.heads.head_numbers import Numbers, plain
from dashboard.session import all_heads, backend
from dashboard.session.script_body import write_call
from dashboard.session.selection import SHIPPED_SURVEY, SettledSelection

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from attnviz.capture import Capture
    from attnviz.export import View


def heads(
    ask: backend.Ask,
    selection: SettledSelection,
    numbers: Numbers | None,
    left: Any,
    order: Any,
    finding: str,
    *,
    link: str,
) -> "View":
    """Every head by its measures, and the picture of them as the page has it. Of what is measured
    on another text or by other runs, that measure alone."""
    from attnviz.export import heads_view

    capture = backend.get_capture(ask, ignore_progress)
    stack, measure = selection.stack, selection.measure

    def chart() -> Any:
        drawn = backend.has_experiment(ask, all_heads.maps_name(stack))
        if numbers is not None and (selection.view == "measure" or not drawn):
            return head_charts.grid(selection, numbers, left)[0]
        maps = all_heads.make_maps(ask, stack, ignore_step)
        return head_charts.maps(selection, numbers, left, order, maps)[0]

    if numbers is not None and (selection.survey or measure not in kept_with_all()):
        return _one_measure(capture, selection, numbers, finding, chart, link)
    found = all_heads.measure_profile(ask, stack, ignore_step)
    return heads_view(
        capture, stack, measure=measure, found=found, chart=chart, finding=finding, link=link
    )


def kept_with_all() -> "Collection[str]":
    """The measures of Heads that are all in one file, whichever is drawn."""
    return HEAD_MEASURES


def _one_measure(
    capture: "Capture",
    selection: SettledSelection,
    numbers: Numbers,
    finding: str,
    chart: "Callable[[], Any]",
    link: str,
) -> "View":
    """A row a head of the measure that is drawn, with its null and its ceiling."""
    from attnviz.export import table_view
    from attnviz.export.provenance import of_capture, of_model, versions
    from attnviz.export.script import of_capture as script_of

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
        numbers.grids.table(numbers.title),
        chart,
        title=f"{capture.info.name}, {selection.stack}: {numbers.title.lower()} of every head",
        finding=finding,
        capture=capture if on_text else None,
        about={**made, "place": about},
        script=script_of({**made, "place": about}, script),
        stem=f"{capture.info.name}-{selection.measure.replace('_', '-')}",
        link=link,
    )


def _of_measure(capture: "Capture", selection: SettledSelection, title: str) -> str:
    """Python that makes the table of one measure."""
    stack, measure, then = selection.stack, selection.measure, f".table({title!r})"
    if measure == "effect":
        query = find_output_row(capture, stack, selection.query)
        return write_call(measure_effect, "model, capture", stack=stack, query=query, then=then)
    if measure in kept_with_all():
        imports = "from attnviz.survey import open_survey\n"
        survey = f"open_survey({selection.survey!r})"
        if selection.survey == SHIPPED_SURVEY:
            imports = "from attnviz.survey.shipped import shipped\n"
            survey = f"shipped({capture.info.name!r})"
        options = {"measure": measure, "stack": stack}
        return write_call(read_survey, survey, imports=imports, **options, then=then)
    imports, measure = "from attnviz.detectors import profile, repeated\n", plain(measure)
    found = f"profile(repeated(model), {stack!r}, measures=[{measure!r}])"
    return write_call(read_profile, found, measure=measure, imports=imports, then=then)
