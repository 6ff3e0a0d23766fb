"""The view of one head: scores, mask, weights and contributions of the rows and keys drawn."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnviz.charts.scene import Scene, scene
from attnviz.errors import BadInput, TooLarge
from attnviz.export import naming, notebook, provenance, script
from attnviz.export.changes import as_data
from attnviz.export.view import REASON, WHY_MASKED, Axis, Quantity, View
from attnviz.heads.contributions import MEASURES
from attnviz.heads.row_frame import frame_contributions

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.heads.head import Head
    from attnviz.interventions import Run
    from attnviz.interventions.kinds import Intervention
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
    """One head of a capture, or of a run with what-ifs, as `attnviz.charts.explore` draws it.

    Its arrays, each (query, key) float32 but for the reasons (uint8): "scores" as softmax received
    them, -inf where masked; "weights"; "mask_reason"; the contribution measure by its name; where
    `stage` is given, "stage"; "sink" (query,) where the model has one; with what-ifs,
    "baseline_scores" and "baseline_weights". Places count from 0 in the text; axes are (query,
    key). Of a long text the arrays are of the window that is drawn, and the title says so.

    Args:
        of: from `attnviz.capture` or `attnviz.run`.
        layer, head, stack: as for `Capture.head`.
        query: the row that is read; the last that is no special token by default.
        stage, measure, near: as for `attnviz.charts.explore`.
        places: rows and keys, where they are not to be those drawn.
        whole: all rows and keys, up to `MOST_CELLS`.
        interventions, baseline: of a capture that a what-if left behind, and the one before; the
            what-ifs are known of a run's own capture, the baseline of a run.
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
    capture, changes, before = _opened(of, interventions, baseline)
    one = capture.head(layer, head, stack)
    row = _last(one.query_tokens) if query is None else query
    window = scene(one, query=row, stage=stage, measure=measure, padding="hide", near=near)
    drawn = window
    if whole:
        places = (range(one.allowed.shape[0]), range(one.allowed.shape[1]))
    if places is not None:
        drawn = _placed(drawn, places)
    _fits(drawn)
    look = _LOOKS | looks
    if set(look) != set(_LOOKS):
        raise BadInput(
            what=f"A view has no {', '.join(sorted(set(look) - set(_LOOKS)))}.",
            todo=f"Its looks are {', '.join(_LOOKS)}.",
        )
    source = _source(capture, one, drawn, changes, look, link, near)
    return View(
        title=_title(drawn, window, capture, changes),
        finding=_finding(one, row),
        axes=_axes(drawn),
        made=lambda: _quantities(
            drawn, None if before is None else before.head(layer, head, one.stack)
        ),
        drawn=lambda: _chart(drawn, near, look),
        source=source,
        script=script.of_head(source),
        stem=naming.stem(capture.info.name, f"L{layer}H{head}", "what-if" if changes else ""),
        table=lambda: frame_contributions(one, row),
        flexible=True,
    )


def bare_view(one: "Head", query: int | None = None) -> View:
    """A head by itself, as a notebook shows it. A head does not know the text and the weights it
    was made with: for files that can be run again, see `head_view`."""
    whole, held = one.whole or one, range(one.first, one.first + one.allowed.shape[0])
    row = _last(one.query_tokens) if query is None else query
    row = row if query is not None or row in held else held[-1]
    window = scene(whole, query=row, stage=None, measure="contribution_norm", padding="hide")
    drawn = window
    if one.whole is not None:  # the picture needs the head that the rows are of
        drawn = _placed(
            window, ([at for at in window.rows.tolist() if at in held], window.keys.tolist())
        )
    source = {
        "model": {"name": one.model or "no model", "revision": "", "dtype": one.dtype},
        "place": {"kind": "bare", "stack": one.stack, "layer": one.layer, "head": one.head},
        "versions": provenance.versions(),
    }
    return View(
        title=f"{one.model or 'Head'}, {one.stack} layer {one.layer}, head {one.head}"
        + _shown(drawn, window),
        finding=_finding(whole, row),
        axes=_axes(drawn),
        made=lambda: _quantities(drawn, None),
        drawn=lambda: _chart(window, None, _LOOKS),
        source=source,
        script="",
        stem=naming.stem(one.model, f"L{one.layer}H{one.head}"),
        table=lambda: frame_contributions(one, row),
        flexible=True,
    )


def _opened(
    of: "Capture | Run", changes: Sequence["Intervention"], before: "Capture | None"
) -> "tuple[Capture, tuple[Intervention, ...], Capture | None]":
    from attnviz.interventions import Run

    if isinstance(of, Run):
        return of.capture, of.interventions, of.baseline if of.interventions else None
    return of, tuple(changes) or tuple(of.interventions), before


def _last(tokens: "Sequence[Token]") -> int:
    own = [token.position for token in tokens if not token.special]
    return own[-1] if own else len(tokens) - 1


def _placed(drawn: Scene, places: tuple[Sequence[int], Sequence[int]]) -> Scene:
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


def _fits(drawn: Scene) -> None:
    cells = len(drawn.rows) * len(drawn.keys)
    if cells > MOST_CELLS:
        raise TooLarge(
            what=f"{len(drawn.rows):,} x {len(drawn.keys):,} cells are too many for one file.",
            why=f"A file takes {MOST_CELLS:,} cells.",
            todo="Give rows and keys, or leave the whole out: then it is the window drawn.",
        )


def _title(drawn: Scene, window: Scene, capture: "Capture", changes: Sequence[Any]) -> str:
    one = drawn.head
    stack = "" if len(capture.stacks) == 1 else f"{one.stack}, "
    what_if = f", with {len(changes)} what-if{'s' * (len(changes) > 1)}" if changes else ""
    where = f"{stack}layer {one.layer}, head {one.head}"
    return f"{capture.info.name}, {where}{what_if}: scores and weights{_shown(drawn, window)}"


def _shown(drawn: Scene, window: Scene) -> str:
    """Which rows and keys the arrays have, and which the picture, where it has others."""
    kept = _span(drawn.rows, drawn.keys)
    if kept == (pictured := _span(window.rows, window.keys)):
        return f", {drawn.note}" if drawn.note else ""
    queries, keys = drawn.head.allowed.shape
    return f", {kept} of {queries:,} and {keys:,}; the picture shows {pictured}"


def _span(rows: NDArray[np.int64], keys: NDArray[np.int64]) -> str:
    return f"rows {_listed(rows.tolist())} and keys {_listed(keys.tolist())}"


def _listed(places: list[int]) -> str:
    """Places in words; only neighbours are a span."""
    first, last = places[0], places[-1]
    if last - first + 1 == len(places):
        return f"{first} to {last}"
    if len(places) <= 12:
        return ", ".join(map(str, places))
    return f"{first} to {last}, {len(places):,} of them"


def _finding(one: "Head", query: int) -> str:
    from attnviz.charts import describe_pair

    return describe_pair(one, query)


def _axes(drawn: Scene) -> list[Axis]:
    sides = (
        ("query", drawn.rows, drawn.head.query_tokens),
        ("key", drawn.keys, drawn.head.key_tokens),
    )
    return [Axis(name, places, _tokens(name, places, tokens)) for name, places, tokens in sides]


def _tokens(name: str, places: NDArray[np.int64], tokens: "Sequence[Token]") -> dict[str, Any]:
    if not tokens:
        return {}
    shown = [tokens[place] for place in places.tolist()]
    return {
        f"{name}_token": [token.text for token in shown],
        f"{name}_label": [token.label for token in shown],
        f"{name}_id": [token.id for token in shown],
    }


def _quantities(drawn: Scene, before: "Head | None") -> Mapping[str, Quantity]:
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
        found["baseline_scores"] = Quantity(old.scores, both, f"{_SCORE}; before the what-ifs")
        found["baseline_weights"] = Quantity(old.weights, both, f"{_WEIGHT}; before the what-ifs")
    return found


def _chart(drawn: Scene, near: int | None, looks: Mapping[str, Any]) -> Any:
    from attnviz import charts

    options: dict[str, Any] = {"stage": drawn.stage, "measure": drawn.measure_name, **looks}
    return charts.explore(drawn.head, query=drawn.query, near=near, **options)


def _source(
    capture: "Capture",
    one: "Head",
    drawn: Scene,
    changes: Sequence["Intervention"],
    looks: Mapping[str, Any],
    link: str,
    near: int | None,
) -> dict[str, Any]:
    place = {
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
    found = provenance.of_capture(capture)
    found |= {"place": place, "interventions": [as_data(change) for change in changes]}
    return found | ({"link": link} if link else {})


def bundle(head: "Head") -> dict[str, str]:
    """A head as a notebook shows it."""
    return notebook.bundle(bare_view(head))
