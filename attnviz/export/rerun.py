"""Rerun: make the numbers of a file again from what it says about itself, and compare."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import attnviz
from attnviz.capture import capture
from attnviz.errors import BadInput, ModelRefused
from attnviz.export import provenance
from attnviz.export.all_heads_view import heads_view
from attnviz.export.changes import from_data
from attnviz.export.digests import bound_difference, hash_array, measure_difference
from attnviz.export.long_text_views import overview_view
from attnviz.export.one_head_view import head_view
from attnviz.export.script import asked_of
from attnviz.export.two_heads_view import compare_view
from attnviz.models.catalog import CATALOG
from attnviz.progress import Progress

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.export.view import View
    from attnviz.interventions import Run
    from attnviz.models import LoadedModel

TOLERANCES = {"float32": 1e-5, "float64": 1e-5}
"""How far apart, as a part of the largest number, arrays of a run in that type may be and still
count as the same; any other type is held to 5e-3."""


@dataclass(frozen=True, eq=False)
class Saved:
    """A file that was read back.

    Attributes:
        arrays: {name: array}, as they were saved, of NPZ and HTML; empty for every other kind of
            file, of which the provenance alone is read.
        provenance: where the numbers come from: model, revision, dtype, input, tokens, place,
            interventions, versions, the order and the units of the axes, the digests of the arrays.
    """

    arrays: dict[str, NDArray]
    provenance: dict[str, Any]

    def again(self, model: "LoadedModel | None" = None, **options: Any) -> "Rerun":
        """Run it again and compare; see `rerun`."""
        return rerun(self, model, **options)


@dataclass(frozen=True, eq=False)
class Rerun:
    """What came of making a view again.

    Attributes:
        view: made now.
        differences: {array: the largest difference, as a part of the largest number}; 0.0 is the
            same, infinite where one side is masked or undefined and the other not. Where another
            digest is all that is known, how far the largest numbers are apart: the arrays may be
            further. Empty for a file that has neither arrays nor their digests.
        tolerance: up to here they count as the same.
        notes: what else is not as it was: other versions, another machine.
        digests: {array: whether it is the same in every bit}, of those that the file has only the
            digest of. What the file itself holds of them, such as the cells of a CSV, is not read.
    """

    view: "View"
    differences: Mapping[str, float]
    tolerance: float
    notes: tuple[str, ...]
    digests: Mapping[str, bool] = field(default_factory=dict)

    @property
    def same(self) -> bool:
        """Whether all arrays are known to be the same, up to the tolerance. Of another digest that
        is not known, nor of a file that has nothing to compare."""
        return all(self.digests.values()) and self._worst <= self.tolerance

    @property
    def identical(self) -> bool:
        """Whether every bit is known to be the same."""
        return all(self.digests.values()) and self._worst == 0

    @property
    def _worst(self) -> float:
        return max(self.differences.values(), default=float("inf"))

    @property
    def words(self) -> str:
        """What came of it, in one or two sentences."""
        if not self.differences:
            return (
                "The file holds nothing to compare, no arrays and no digests; they were made again."
            )
        if self.identical:
            how = ", by their digests: no numbers were read from the file" if self.digests else ""
            return f"The same in every bit, all {len(self.differences)} arrays{how}."
        other = [name for name, same in self.digests.items() if not same]
        worst = max(other or self.differences, key=lambda name: self.differences[name])
        apart = f"{self.differences[worst]:.1e}"
        if other:
            return (
                f"Not the same in every bit: {', '.join(other)}. Their largest numbers differ by "
                f"up to {apart} of themselves, in {worst}; how far each number is apart, an NPZ of "
                "the view would tell."
            )
        verdict = "The same" if self.same else "Not the same"
        return (
            f"{verdict}: the largest difference is {apart} of the largest "
            f"number, in {worst}; up to {self.tolerance:.0e} counts as the same."
        )


def rerun(
    saved: "Saved",
    model: "LoadedModel | None" = None,
    *,
    progress: Progress | None = None,
    other_revision: bool = False,
) -> Rerun:
    """Run a view that was read from a file again, and compare every array: with the file's own
    where it has them (NPZ, HTML), else with their digests.

    Args:
        saved: from `attnviz.export.read`.
        model: the model, where no name loads it; by default it is loaded by its name.
        progress: as for `attnviz.load`.
        other_revision: go on where the weights are not those that the file names.

    Raises:
        ModelRefused: the weights, or the type they run in, are not those that the file names.
        BadInput: the model is needed and not given; the text has other tokens than it had; the
            file is of a view that no library can run again.
    """
    made = saved.provenance
    kind = _take(made.get("place", {}), {"kind": str | None})["kind"]
    if kind not in _VIEWS:
        raise BadInput(
            what="This view cannot be run again from its file.",
            why="It is a table of a page, a head by itself or a matrix that somebody gave: its "
            "numbers are in the file, and how they were made is not.",
            todo="Open the link in its provenance, where it has one.",
        )
    make, fields = _VIEWS[kind]
    place = _take(made["place"], fields)
    # all that the file says is looked at before anything runs: what fails later is not its fault
    parts = [made, made.get("second")] if kind == "two heads" else [made]
    sides = [_read_side(part) for part in parts]
    first = _find_model(sides[0]["model"], model, progress, other_revision)
    runs = [_run_again(sides[0], first)]
    for side in sides[1:]:
        same = side["model"] == sides[0]["model"]
        other = first if same else _find_model(side["model"], None, progress, other_revision)
        runs.append(_run_again(side, other))
    view = make(*runs, **place, link=made.get("link", ""))
    differences, digests = _compare(saved.arrays, made, view.arrays)
    tolerance = TOLERANCES.get(first.info.dtype, 5e-3)
    return Rerun(view, differences, tolerance, _list_changes(made, view.provenance), digests)


def _take(part: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """These fields of a part of a provenance; refuses the file where one has another type."""
    if not isinstance(part, dict):
        provenance.refuse_file()
    taken = {}
    for name, kind in fields.items():
        taken[name] = part.get(name)
        if isinstance(kind, dict):
            taken[name] = _take(taken[name], kind)
        elif not isinstance(taken[name], kind):
            provenance.refuse_file()
    return taken


def _read_side(made: Any) -> dict[str, Any]:
    """The model, the input and the interventions of one run."""
    side = _take(made, {"model": dict, "input": dict, "interventions": list | None})
    _take(side["model"], {"name": str, "revision": str, "dtype": str, "architecture": str})
    _take(side["input"], {"asked": dict})
    return side | {"interventions": [from_data(change) for change in side["interventions"] or []]}


def _find_model(
    about: Mapping[str, Any],
    model: "LoadedModel | None",
    progress: Progress | None,
    other_revision: bool,
) -> "LoadedModel":
    """The model that was given, or else the one that the name loads; refused where it is not the
    one of the file."""
    if model is None:
        if not provenance.loadable(about):
            raise BadInput(
                what="The file names a model that was given as an object or a folder.",
                why="No name loads it.",
                todo="Give it: saved.again(model), with what attnviz.wrap or attnviz.load "
                "returned.",
            )
        name, dtype = about["name"], about["dtype"]
        pinned = None if name in CATALOG else about["revision"]
        model = attnviz.load(name, dtype=dtype, revision=pinned, progress=progress)
    info = model.info
    if other_revision:
        return model
    if info.revision != about["revision"]:
        raise ModelRefused(
            what=f"The file was made with other weights of {about['name']}.",
            why=f"It names the revision {about['revision'] or 'none'}, and here is "
            f"{info.revision or 'none'}.",
            todo="Give the model it was made with, or other_revision=True to compare all the same.",
        )
    if info.dtype != about["dtype"] or info.architecture != about["architecture"]:
        raise ModelRefused(
            what="The model here is not the one that the file was made with.",
            why=f"That one was {about['architecture']} in {about['dtype']}, this one is "
            f"{info.architecture} in {info.dtype}.",
            todo="Give the model it was made with.",
        )
    return model


def _run_again(side: Mapping[str, Any], model: "LoadedModel") -> "Capture | Run":
    given, changes = side["input"], side["interventions"]
    asked = asked_of(given)
    found = capture(model, asked.pop("text", None), **asked)
    for name in ("input_ids", "decoder_input_ids"):
        if name in given and found.forward[name][0].tolist() != list(given[name]):
            raise BadInput(
                what="The text has other tokens than it had when the file was made.",
                why="The tokenizer is not the same, or the target was generated anew.",
                todo="Give the model with the tokenizer it had then.",
            )
    return attnviz.run(model, interventions=changes, baseline=found) if changes else found


def _make_head(
    of: "Capture | Run",
    *,
    stage: str,
    rows: list[int],
    keys: list[int],
    looks: Mapping[str, Any],
    **options: Any,
) -> "View":
    read = None if stage == "softmax" else stage
    return head_view(of, stage=read, places=(rows, keys), **options, **looks)


def _make_two_heads(
    one: "Capture | Run",
    other: "Capture | Run",
    *,
    a: Mapping[str, Any],
    b: Mapping[str, Any],
    names: list[str],
    **options: Any,
) -> "View":
    captures = provenance.find_capture(one), provenance.find_capture(other)
    heads = [of.head(**at) for of, at in zip(captures, (a, b), strict=True)]
    made = provenance.of_capture(captures[0]), provenance.of_capture(captures[1])
    return compare_view(heads[0], heads[1], made, names=(names[0], names[1]), **options)


_AT = {"layer": int, "head": int, "stack": str}
_HEAD = {"stage": str, "measure": str, "near": int | None, "rows": list, "keys": list}
_TWO = {"query": int, "other_query": int, "of": str, "weight_colour": str, "near": int | None}
_VIEWS: dict[str, tuple[Callable[..., "View"], Mapping[str, Any]]] = {
    "head": (_make_head, {**_AT, **_HEAD, "query": int, "looks": dict}),
    "heads": (heads_view, {"stack": str, "measure": str, "measures": list, "rows": int | None}),
    "overview": (overview_view, {**_AT, "query": int, "near": int}),
    "two heads": (_make_two_heads, {**_TWO, "a": _AT, "b": _AT, "names": list}),
}
"""What makes each kind of view again from its runs, and the fields of its place that say how."""


def _compare(
    old: Mapping[str, NDArray], made: Mapping[str, Any], new: Mapping[str, NDArray]
) -> tuple[dict[str, float], dict[str, bool]]:
    """`Rerun.differences` and `Rerun.digests`, of the arrays `old` and the provenance `made` of a
    file and of the arrays made now."""
    differences = {name: measure_difference(values, new.get(name)) for name, values in old.items()}
    digests = {}
    for name, about in made["arrays"].items():
        if "sha256" in about and name not in old:
            digests[name] = name in new and hash_array(new[name]) == about["sha256"]
            differences[name] = 0.0 if digests[name] else bound_difference(about, new.get(name))
    if digests:
        for axis in made["axis_order"]:
            name, places = f"{axis}_places", np.array(made["axes"][axis]["places"], np.int64)
            differences.setdefault(name, measure_difference(places, new.get(name)))
    return dict(sorted(differences.items())), digests


def _list_changes(made: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """What has another version now."""
    before, here = made["versions"], now["versions"]
    names = [name for name in {**before, **here} if before.get(name) != here.get(name)]
    return tuple(
        f"{name}: {before.get(name, 'unknown')} then, {here.get(name, 'unknown')} now"
        for name in names
    )
