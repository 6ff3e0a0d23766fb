"""Rerun: make the numbers of a file again from what it says about itself, and compare."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import BadInput, ModelRefused
from attnviz.export import provenance
from attnviz.export.changes import from_data
from attnviz.export.script import asked_of

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.export.view import View
    from attnviz.interventions import Run
    from attnviz.models import LoadedModel

Progress = Callable[[str, float | None], None]
TOLERANCES = {"float32": 1e-5, "float64": 1e-5}
"""How far apart, as a part of the largest number, arrays of a run in that type may be and still
count as the same; any other type is held to 5e-3."""


@dataclass(frozen=True, eq=False)
class Saved:
    """A file that was read back.

    Attributes:
        arrays: {name: array}, as they were saved; empty for a picture or a script, which hold the
            provenance alone.
        provenance: where the numbers come from: model, revision, dtype, input, tokens, place,
            what-ifs, versions, the order and the units of the axes.
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
            same in every bit, infinite where one side is masked or undefined and the other not.
            Empty for a picture or a script, which hold no arrays to compare.
        tolerance: up to here they count as the same.
        notes: what else is not as it was: other versions, another machine.
    """

    view: "View"
    differences: Mapping[str, float]
    tolerance: float
    notes: tuple[str, ...]

    @property
    def same(self) -> bool:
        return all(difference <= self.tolerance for difference in self.differences.values())

    @property
    def identical(self) -> bool:
        """Whether every bit is the same."""
        return not any(self.differences.values())

    @property
    def words(self) -> str:
        """What came of it, in one sentence."""
        if not self.differences:
            return "The file holds no arrays to compare; they were made again."
        worst = max(self.differences, key=lambda name: self.differences[name])
        if self.identical:
            return f"The same in every bit, all {len(self.differences)} arrays."
        verdict = "The same" if self.same else "Not the same"
        return (
            f"{verdict}: the largest difference is {self.differences[worst]:.1e} of the largest "
            f"number, in {worst}; up to {self.tolerance:.0e} counts as the same."
        )


def rerun(
    saved: "Saved",
    model: "LoadedModel | None" = None,
    *,
    progress: Progress | None = None,
    other_revision: bool = False,
) -> Rerun:
    """Run a view that was read from a file again, and compare every array.

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
    made = _note(saved.provenance)
    kind = made.get("place", {}).get("kind")
    if kind not in _MADE:
        raise BadInput(
            what="This view cannot be run again from its file.",
            why="It is a table of a page, a head by itself or a matrix that somebody gave: its "
            "numbers are in the file, and how they were made is not.",
            todo="Open the link in its provenance, where it has one.",
        )
    _check_fields(made, kind)
    loaded = _model(made["model"], model, progress)
    if not other_revision:
        _same_weights(made["model"], loaded)
    view = _MADE[kind](made, loaded, other_revision)
    again = view.arrays
    differences = {
        name: _difference(old, again.get(name)) for name, old in sorted(saved.arrays.items())
    }
    tolerance = TOLERANCES.get(loaded.info.dtype, 5e-3)
    return Rerun(view, differences, tolerance, _notes(made, view.provenance))


class _Note(dict[str, Any]):
    """A part of a provenance; what it should have and has not makes it none of ours."""

    def __missing__(self, name: str) -> Any:
        raise provenance.not_ours()


def _note(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _Note({name: _note(part) for name, part in value.items()})
    return [_note(part) for part in value] if isinstance(value, list) else value


_AT = {"layer": int, "head": int, "stack": str}
_MODEL = {"name": str, "revision": str, "dtype": str, "architecture": str}
_PLACE: dict[str, dict[str, type]] = {
    "head": {**_AT, "query": int, "stage": str, "measure": str, "rows": list, "keys": list}
    | {"looks": dict},
    "heads": {"stack": str, "measure": str, "measures": list},
    "overview": {**_AT, "query": int, "near": int},
    "two heads": {"a": dict, "b": dict, "of": str, "names": list},
}


def _check_fields(made: Mapping[str, Any], kind: str) -> None:
    """Refuse what was damaged so that a name, a place or a list is something else: what goes wrong
    in the run itself is then the run's own."""
    parts: list[tuple[Any, Mapping[str, type]]] = [
        (made["place"], _PLACE[kind]),
        (made["model"], _MODEL),
        (made["input"], {"asked": dict}),
    ]
    if kind == "two heads":
        second = made["second"]
        if not isinstance(second, dict):
            raise provenance.not_ours()
        parts += [(second["model"], _MODEL), (second["input"], {"asked": dict})]
        parts += [(made["place"][side], _AT) for side in ("a", "b")]
    for part, fields in parts:
        whole = isinstance(part, dict)
        if not whole or not all(isinstance(part[name], one) for name, one in fields.items()):
            raise provenance.not_ours()


def _model(
    about: Mapping[str, Any], model: "LoadedModel | None", progress: Progress | None
) -> "LoadedModel":
    if model is not None:
        return model
    if not provenance.loadable(about):
        raise BadInput(
            what="The file names a model that was given as an object or a folder.",
            why="No name loads it.",
            todo="Give it: saved.again(model), with what attnviz.wrap or attnviz.load returned.",
        )
    import attnviz
    from attnviz.models.catalog import CATALOG

    pinned = None if about["name"] in CATALOG else about["revision"]
    return attnviz.load(about["name"], dtype=about["dtype"], revision=pinned, progress=progress)


def _same_weights(about: Mapping[str, Any], loaded: "LoadedModel") -> None:
    info = loaded.info
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


def _captured(made: Mapping[str, Any], model: "LoadedModel") -> "Capture | Run":
    import attnviz
    from attnviz.capture import capture

    given = made["input"]
    changes = [from_data(change) for change in made.get("interventions", [])]
    asked = asked_of(given)
    found = capture(model, asked.pop("text", None), **asked)
    for side in ("input_ids", "decoder_input_ids"):
        if side in given and found.forward[side][0].tolist() != list(given[side]):
            raise BadInput(
                what="The text has other tokens than it had when the file was made.",
                why="The tokenizer is not the same, or the target was generated anew.",
                todo="Give the model with the tokenizer it had then.",
            )
    return attnviz.run(model, interventions=changes, baseline=found) if changes else found


def _head(made: Mapping[str, Any], model: "LoadedModel", other: bool) -> "View":
    from attnviz.export.one_head_view import head_view

    place = made["place"]
    return head_view(
        _captured(made, model),
        place["layer"],
        place["head"],
        place["stack"],
        query=place["query"],
        stage=None if place["stage"] == "softmax" else place["stage"],
        measure=place["measure"],
        near=place["near"],
        places=(place["rows"], place["keys"]),
        link=made.get("link", ""),
        **place["looks"],
    )


def _heads(made: Mapping[str, Any], model: "LoadedModel", other: bool) -> "View":
    from attnviz.export.all_heads_view import heads_view

    place = made["place"]
    return heads_view(
        _captured(made, model),
        place["stack"],
        measure=place["measure"],
        measures=place["measures"],
        rows=place.get("rows"),
        link=made.get("link", ""),
    )


def _overview(made: Mapping[str, Any], model: "LoadedModel", other: bool) -> "View":
    from attnviz.export.long_text_views import overview_view

    place = made["place"]
    at = {name: place[name] for name in ("layer", "head", "stack", "query", "near")}
    return overview_view(_captured(made, model), link=made.get("link", ""), **at)


def _after(made: Mapping[str, Any], model: "LoadedModel") -> "Capture":
    """The capture of one side, with its what-ifs."""
    from attnviz.interventions import Run

    found = _captured(made, model)
    return found.capture if isinstance(found, Run) else found


def _two_heads(made: Mapping[str, Any], model: "LoadedModel", other: bool) -> "View":
    """Both sides again; the second model is loaded by its name where it is another one. `other`:
    its weights may be others too."""
    from attnviz.export.two_heads_view import compare_view

    place, second = made["place"], made["second"]
    first = _after(made, model)
    loaded = model
    if second["model"] != made["model"]:
        loaded = _model(second["model"], None, None)
        if not other:
            _same_weights(second["model"], loaded)
    captures = [first, _after(second, loaded)]
    a, b = (
        capture.head(at["layer"], at["head"], at["stack"])
        for capture, at in zip(captures, (place["a"], place["b"]), strict=True)
    )
    names = ("query", "other_query", "of", "weight_colour", "near")
    return compare_view(
        a,
        b,
        (provenance.of_capture(captures[0]), provenance.of_capture(captures[1])),
        names=tuple(place["names"]),
        link=made.get("link", ""),
        **{name: place[name] for name in names},
    )


_MADE: dict[str, Callable[[Mapping[str, Any], "LoadedModel", bool], "View"]] = {
    "head": _head,
    "heads": _heads,
    "overview": _overview,
    "two heads": _two_heads,
}


def _difference(old: NDArray, new: NDArray | None) -> float:
    """The largest difference as a part of the largest number; infinite where they cannot be
    compared, 0.0 where every bit is the same."""
    if new is None or new.shape != old.shape:
        return float("inf")
    if np.array_equal(old, new, equal_nan=old.dtype.kind == "f"):
        return 0.0
    if old.dtype.kind != "f":
        return float("inf")
    seen = np.isfinite(old)
    if (seen != np.isfinite(new)).any() or (np.isnan(old) != np.isnan(new)).any():
        return float("inf")
    apart = np.abs(old[seen].astype(np.float64) - new[seen])
    return float(apart.max(initial=0) / max(float(np.abs(old[seen]).max(initial=0)), 1e-30))


def _notes(made: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    before, here = made["versions"], now["versions"]
    names = [name for name in {**before, **here} if before.get(name) != here.get(name)]
    return tuple(
        f"{name}: {before.get(name, 'unknown')} then, {here.get(name, 'unknown')} now"
        for name in names
    )
