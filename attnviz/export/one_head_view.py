"""The view of one head: scores, mask, weights and contributions of the rows and keys drawn."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnviz import charts
from attnviz.charts.scene import Scene, scene
from attnviz.errors import BadInput, TooLarge
from attnviz.export import naming, notebook, provenance, script
from attnviz.export.changes import as_data
from attnviz.export.view import REASON, WHY_MASKED, Axis, Quantity, View
from attnviz.heads.contributions import MEASURES
from attnviz.heads.row_frame import frame_contributions
from attnviz.interventions import Run

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.heads.head import Head
    from attnviz.interventions import Intervention
    from attnviz.tokens import Token

MOST_CELLS = 4_194_304  # of one array: 2,048 tokens square
_LOOKS = {"score_colour": "zero", "weight_colour": "unit", "order": "text"}
_SCORE = "score: real number without a unit, as softmax receives it; -inf where masked"
_STAGE = "score at this stage: real number without a unit"
_WEIGHT = "probability, 0 to 1; a row plus its sink adds up to 1"


def head_view(
    of: "Capture | Run",
    layer: int,
    head: int,
    stack: str | None = None,
    *,
    query: int | None = None,
    stage: str | None = None,
    measure: str = "contribution_norm",
    near: int | None = None,
    places: tuple[Sequence[int], Sequence[int]] | None = None,
    whole: bool = False,
    interventions: Sequence["Intervention"] = (),
    baseline: "Capture | None" = None,
    link: str = "",
    **looks: Any,
) -> View:
    """One head of a capture, or of a run with interventions, as `attnviz.charts.explore` draws it.

    Its arrays, each (query, key) float32 but for the reasons (uint8): "scores" as softmax received
    them, -inf where masked; "weights"; "mask_reason"; the contribution measure by its name; where
    `stage` is given, "stage"; "sink" (query,) where the model has one; with interventions,
    "baseline_scores" and "baseline_weights". Places count from 0 in the text; axes are (query,
    key). Of a long text the arrays are of the window that is drawn, and the title says so.

    Args:
        of: from `attnviz.capture` or `attnviz.run`.
        layer, head, stack: as for `Capture.head`.
        query: the selected query; the last that is no special token by default.
        stage, measure, near: as for `attnviz.charts.explore`.
        places: rows and keys, where they are not to be those drawn.
        whole: all rows and keys, up to `MOST_CELLS`.
        interventions, baseline: of a capture with interventions, and the one without. A run's own
            capture knows its interventions, and a run its baseline too.
        link: an address that shows the same.
        looks: score_colour, weight_colour and order, as for `attnviz.charts.explore`.

    Raises:
        BadInput: no such head, row, stage or measure.
        TooLarge: the whole of a text too long for it.

    >>> import attnviz
    >>> capture = attnviz.capture(attnviz.load("planted-circuit"), "red fox red fox")
    >>> view = head_view(capture, layer=1, head=0)
    >>> view.arrays["weights"].shape, view.quantities["weights"].axes
    ((5, 5), ('query', 'key'))
    """
    capture = provenance.find_capture(of)
    changes = tuple(interventions) or tuple(capture.interventions)
    if isinstance(of, Run) and of.interventions:
        baseline = of.baseline
    one = capture.head(layer, head, stack)
    row = _last_query(one.query_tokens) if query is None else query
    window = scene(one, query=row, stage=stage, measure=measure, padding="hide", near=near)
    drawn = window
    if whole:
        places = (range(one.allowed.shape[0]), range(one.allowed.shape[1]))
    if places is not None:
        drawn = _choose_places(drawn, places)
    _check_size(drawn)
    look = _LOOKS | looks
    if set(look) != set(_LOOKS):
        raise BadInput(
            what=f"A view has no {', '.join(sorted(set(look) - set(_LOOKS)))}.",
            todo=f"Its looks are {', '.join(_LOOKS)}.",
        )
    made = provenance.of_view(_describe_place(drawn, near, look), link, capture)
    source = made | {"interventions": [as_data(change) for change in changes]}
    stack = "" if len(capture.stacks) == 1 else f"{one.stack}, "
    where = f"{capture.info.name}, {stack}layer {layer}, head {head}"
    return _assemble(
        drawn,
        lambda: charts.explore(
            one, query=row, stage=drawn.stage, measure=measure, near=near, **look
        ),
        None if baseline is None else baseline.head(layer, head, one.stack),
        title=f"{where}{script.count_interventions(source)}: scores and weights"
        + _say_places(drawn, window),
        source=source,
        script=script.of_head(source),
        stem=naming.stem(capture.info.name, f"L{layer}H{head}", "what-if" if changes else ""),
    )


def bare_view(one: "Head", query: int | None = None) -> View:
    """A head by itself, as a notebook shows it. A head does not know the text and the weights it
    was made with: for files that can be run again, see `head_view`."""
    whole, held = one.whole or one, range(one.first, one.first + one.allowed.shape[0])
    row = _last_query(one.query_tokens) if query is None else query
    row = row if query is not None or row in held else held[-1]
    window = scene(whole, query=row, stage=None, measure="contribution_norm", padding="hide")
    drawn = window
    if one.whole is not None:  # the picture needs the head that the rows are of
        rows = [at for at in window.rows.tolist() if at in held]
        drawn = _choose_places(window, (rows, window.keys.tolist()))
    place = {"kind": "bare", "stack": one.stack, "layer": one.layer, "head": one.head}
    model = {"name": one.model or "no model", "revision": "", "dtype": one.dtype}
    return _assemble(
        drawn,
        lambda: charts.explore(whole, query=row),
        title=f"{one.model or 'Head'}, {one.stack} layer {one.layer}, head {one.head}"
        + _say_places(drawn, window),
        source={"model": model} | provenance.of_view(place),
        script="",
        stem=naming.stem(one.model, f"L{one.layer}H{one.head}"),
    )


def _assemble(
    drawn: Scene, draw_chart: Callable[[], Any], before: "Head | None" = None, **named: Any
) -> View:
    """The view of a scene: of its head, its selected query, its rows and its keys."""
    one, row = drawn.head, drawn.query
    return View(
        finding=charts.describe_pair(one, row),
        axes=[
            token_axis("query", drawn.rows, one.query_tokens),
            token_axis("key", drawn.keys, one.key_tokens),
        ],
        make_quantities=lambda: _make_quantities(drawn, before),
        draw_chart=draw_chart,
        table=lambda: frame_contributions(one, row),
        flexible=True,
        **named,
    )


def _last_query(tokens: "Sequence[Token]") -> int:
    own = [token.position for token in tokens if not token.special]
    return own[-1] if own else len(tokens) - 1


def _choose_places(drawn: Scene, places: tuple[Sequence[int], Sequence[int]]) -> Scene:
    rows, keys = (np.array(sorted(set(side)), np.int64) for side in places)
    for side, found, count in zip(
        ("query", "key"), (rows, keys), drawn.head.allowed.shape, strict=True
    ):
        if not len(found) or found[0] < 0 or found[-1] >= count:
            raise BadInput(
                what=f"There are no such places of the {side}.",
                why=f"They run from 0 to {count - 1}.",
                todo="Choose from these, one at least.",
            )
    return Scene(drawn.head, drawn.query, rows, keys, drawn.stage, drawn.measure_name)


def _check_size(drawn: Scene) -> None:
    cells = len(drawn.rows) * len(drawn.keys)
    if cells > MOST_CELLS:
        raise TooLarge(
            what=f"{len(drawn.rows):,} x {len(drawn.keys):,} cells are too many for one file.",
            why=f"A file takes {MOST_CELLS:,} cells.",
            todo="Give rows and keys, or leave the whole out: then it is the window drawn.",
        )


def _say_places(drawn: Scene, window: Scene) -> str:
    """Which rows and keys the arrays have, and which the picture, where it has others."""
    kept = _say_span(drawn.rows, drawn.keys)
    if kept == (pictured := _say_span(window.rows, window.keys)):
        return f", {drawn.note}" if drawn.note else ""
    queries, keys = drawn.head.allowed.shape
    return f", {kept} of {queries:,} and {keys:,}; the picture shows {pictured}"


def _say_span(rows: NDArray[np.int64], keys: NDArray[np.int64]) -> str:
    return f"rows {_say_list(rows.tolist())} and keys {_say_list(keys.tolist())}"


def _say_list(places: list[int]) -> str:
    """Places in words; only neighbours are a span."""
    first, last = places[0], places[-1]
    if last - first + 1 == len(places):
        return f"{first} to {last}"
    if len(places) <= 12:
        return ", ".join(map(str, places))
    return f"{first} to {last}, {len(places):,} of them"


def token_axis(
    name: str,
    places: NDArray[np.int64],
    tokens: "Sequence[Token]",
    columns: Sequence[str] = ("token", "label", "id"),
) -> Axis:
    """The axis "query" or "key" at these places of a text, with columns such as `query_token`."""
    fields = {"token": "text", "label": "label", "id": "id"}
    shown = [tokens[place] for place in places.tolist()] if tokens else []
    known = columns if tokens else ()
    return Axis(
        name,
        places,
        {f"{name}_{column}": [getattr(t, fields[column]) for t in shown] for column in known},
    )


def _make_quantities(drawn: Scene, before: "Head | None") -> Mapping[str, Quantity]:
    both = ("query", "key")
    plain = Scene(drawn.head, drawn.query, drawn.rows, drawn.keys, None, drawn.measure_name)
    found = {
        "scores": Quantity(plain.scores, both, _SCORE, masked=True),
        "weights": Quantity(plain.weights, both, _WEIGHT),
        REASON: Quantity(plain.reason, both, WHY_MASKED),
    }
    if drawn.stage is not None:
        found["stage"] = Quantity(drawn.scores, both, f"{_STAGE}: {drawn.stage}")
    if drawn.measure_name != "weight":
        unit = MEASURES[drawn.measure_name].unit
        found[drawn.measure_name] = Quantity(plain.parts, both, unit)
    if plain.has_sink:
        found["sink"] = Quantity(plain.sink, ("query",), "probability on no token, 0 to 1")
    if before is not None:
        old = Scene(before, drawn.query, drawn.rows, drawn.keys, None, drawn.measure_name)
        without = "before the interventions"
        found["baseline_scores"] = Quantity(old.scores, both, f"{_SCORE}; {without}")
        found["baseline_weights"] = Quantity(old.weights, both, f"{_WEIGHT}; {without}")
    return found


def _describe_place(drawn: Scene, near: int | None, looks: Mapping[str, Any]) -> dict[str, Any]:
    """What a rerun and a script need to know of what is shown."""
    one = drawn.head
    return {
        "kind": "head",
        "stack": one.stack,
        "layer": one.layer,
        "head": one.head,
        "query": drawn.query,
        "near": near,
        "stage": drawn.stage or "softmax",
        "stages": one.panel_names,
        "measure": drawn.measure_name,
        "rows": drawn.rows.tolist(),
        "keys": drawn.keys.tolist(),
        "of_rows": one.allowed.shape[0],
        "of_keys": one.allowed.shape[1],
        "scaling": one.scaling,
        "softcap": one.softcap,
        "window": one.window,
        "looks": dict(looks),
    }


def bundle(head: "Head") -> dict[str, str]:
    """A head as a notebook shows it."""
    return notebook.bundle(bare_view(head))
