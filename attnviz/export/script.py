"""The Python that makes the numbers of a view again, for a reader to run and to change."""

from collections.abc import Mapping, Sequence
from typing import Any

from attnviz.export.changes import as_python, from_data
from attnviz.export.provenance import loadable


def of_head(source: Mapping[str, Any]) -> str:
    """A script whose `scores` and `weights`, (query, key), are those of a view of one head, and
    whose `chart` is its picture. `source` is as a view of a head has it.

    Texts and names stand in it as literals of Python: whatever they hold, none of it is run.
    """
    place = source["place"]
    profile = place.get("picture") == "row profile"
    drawn = "from attnviz.charts.row_profile import row_profile"
    row = place["query"]
    lines = [
        *_write_start(source, drawn if profile else "from attnviz import charts"),
        _write_head("head", place),
        "",
        *_write_arrays(place),
        "",
        f"chart = row_profile(head.rows({row}, {row + 1}))" if profile else _write_chart(place),
    ]
    return "\n".join(lines) + "\n"


def of_heads(source: Mapping[str, Any]) -> str:
    """A script whose `values`, `null` and `ceiling`, {measure: (layer, head)}, are those of a view
    of all heads."""
    place = source["place"]
    rows = f", rows={place['rows']!r}" if place.get("rows") else ""
    lines = [
        *_write_start(source, "from attnviz.detectors import profile"),
        f"names = {place['measures']!r}",
        f"found = profile(capture, {place['stack']!r}, measures=names{rows})",
        "values = {name: found.values[name] for name in names}",
        "null = {name: found.null(name) for name in names}",
        "ceiling = {name: found.ceilings[name] for name in names}",
    ]
    return "\n".join(lines) + "\n"


def of_overview(source: Mapping[str, Any]) -> str:
    """A script whose `weights`, (query, key), are those of a view of a whole head in blocks, and
    whose `chart` is its picture."""
    place = source["place"]
    step = place["step"]
    lines = [
        *_write_start(
            source,
            "from attnviz.charts.overview_chart import overview_map",
            "from attnviz.heads.overview import overview",
        ),
        _write_head("head", place),
        "",
        "found = overview(head)",
        f"weights = found.weights  # the largest in each block of {step} x {step} cells",
        f"chart = overview_map(found, query={place['query']}, near={place['near']})",
    ]
    return "\n".join(lines) + "\n"


def of_two_heads(source: Mapping[str, Any], *, apart: bool) -> str:
    """A script whose `a` and `b` are the heads of a view of two, and whose `chart` is its picture;
    `found.values` is their difference where they are not `apart`."""
    place, second = source["place"], source["second"]
    more = ["from attnviz.charts.compared import compared"]
    if not apart:
        more.append("from attnviz.heads.comparison import difference")
    lines = [*_write_start(source, *more, also=second), _write_head("a", place["a"])]
    if source["model"] != second["model"]:
        lines += ["", *_write_model(second["model"])]
    runs = [(side["model"], _write_run(side)) for side in (source, second)]
    if runs[0] != runs[1]:
        lines += runs[1][1]
    lines += [_write_head("b", place["b"]), ""]
    if not apart:
        lines.append(f"found = difference(a, b, {place['of']!r})  # (query, key), B minus A")
    options = {name: place[name] for name in ("query", "other_query", "of", "weight_colour")}
    options |= {"names": tuple(place["names"]), "near": place["near"]}
    given = ", ".join(f"{name}={value!r}" for name, value in options.items() if value is not None)
    return "\n".join([*lines, f"chart = compared(a, b, {given})"]) + "\n"


def count_interventions(source: Mapping[str, Any]) -> str:
    """How many interventions the numbers are of, for a title; "" where there are none."""
    count = len(source.get("interventions", []))
    return f", with {count} what-if{'s' * (count > 1)}" if count else ""


def _write_head(name: str, at: Mapping[str, Any]) -> str:
    of = f"layer={at['layer']}, head={at['head']}, stack={at['stack']!r}"
    return f"{name} = capture.head({of})"


def of_capture(source: Mapping[str, Any], then: str = "") -> str:
    """A script that leads to the head that a table was measured on, and `then`: lines that make
    the table of `model`, `capture` and `head`, as far as the source knows of them."""
    place = source["place"]
    lines = _write_start(source)
    if "layer" in place:
        lines.append(_write_head("head", place))
        if not then:
            lines.append(f"row = head.contributions(query={place['query']})  # a row a key")
    if "second" in source:
        lines += ["", *_write_second(source, source["second"])]
    lines += ["", then.strip()] if then else []
    return "\n".join(lines) + "\n"


def _write_second(source: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """The head of the other side, as `other`."""
    lines = [] if second["model"] == source["model"] else _write_model(second["model"])
    lines += _write_run(second)
    return [*lines, _write_head("other", second["place"])]


def _write_start(
    source: Mapping[str, Any], *more: str, also: Mapping[str, Any] | None = None
) -> list[str]:
    """Imports, those of the interventions of the source `also` too; the model and, where the source
    has an input, its run."""
    changes = [*source.get("interventions", []), *(also or {}).get("interventions", [])]
    kinds = sorted({change["kind"] for change in changes})
    return [
        "# Made with attnviz. Layers, heads and positions count from 0.",
        "import attnviz",
        *more,
        *([f"from attnviz.interventions import {', '.join(kinds)}"] if kinds else []),
        "",
        *_write_model(source["model"]),
        *(_write_run(source) if "input" in source else []),
    ]


def _write_model(model: Mapping[str, Any]) -> list[str]:
    if not loadable(model):
        return [
            "# No name loads this model: put the object and its tokenizer here.",
            f"model = attnviz.wrap(hf_model, tokenizer, name={model['name']!r})",
        ]
    options = [repr(model["name"])]
    if model["dtype"] != "float32":
        options.append(f"dtype={model['dtype']!r}")
    if _is_commit(model["revision"]):
        options.append(f"revision={model['revision']!r}")
    return [
        f"model = attnviz.load({', '.join(options)})",
        f"assert model.info.revision == {model['revision']!r}  # the weights it was made with",
    ]


def _is_commit(revision: str) -> bool:
    return len(revision) == 40 and set(revision) <= set("0123456789abcdef")


def _write_run(source: Mapping[str, Any]) -> list[str]:
    asked, changes = asked_of(source["input"]), source.get("interventions", [])
    lines = []
    options = ["model"]
    if "text" in asked:
        lines.append(f"text = {asked['text']!r}")
        options.append("text")
    options += [f"{name}={value!r}" for name, value in asked.items() if name != "text"]
    if not changes:
        return [*lines, f"capture = attnviz.capture({', '.join(options)})"]
    whatifs = [f"    {as_python(from_data(change))}," for change in changes]
    return [
        *lines,
        "whatifs = [",
        *whatifs,
        "]",
        f"run = attnviz.run({', '.join([*options, 'interventions=whatifs'])})",
        "capture = run.capture  # run.baseline is the capture without the what-ifs",
    ]


def asked_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a capture is to be asked for; by its ids where nothing more is known of it. A target
    that the model wrote is given as it was."""
    if given["asked"]:
        asked = dict(given["asked"])
        if "decoder_input_ids" in given and "target" not in asked:
            asked["decoder_input_ids"] = given["decoder_input_ids"]
        return asked
    ids = ("input_ids", "attention_mask", "decoder_input_ids")
    return {name: given[name] for name in ids if name in given}


def _write_arrays(place: Mapping[str, Any]) -> list[str]:
    rows, keys = place["rows"], place["keys"]
    if len(rows) == place["of_rows"] and len(keys) == place["of_keys"]:
        return [
            "scores = head.scores  # (query, key), as softmax received them; -inf where masked",
            "weights = head.weights  # (query, key), 0 to 1",
        ]
    return [
        f"rows, keys = {_write_places(rows)}, {_write_places(keys)}  # of "
        f"{place['of_rows']} queries and {place['of_keys']} keys",
        "part = head.rows(rows[0], rows[-1] + 1)",
        "at = [row - rows[0] for row in rows]",
        "scores = part.scores[at][:, keys]  # (query, key), as softmax received them",
        "weights = part.weights[at][:, keys]  # (query, key), 0 to 1",
    ]


def _write_places(places: Sequence[int]) -> str:
    first, last = places[0], places[-1]
    if list(places) == list(range(first, last + 1)):
        return f"range({first}, {last + 1})"
    return repr(list(places))


def _write_chart(place: Mapping[str, Any]) -> str:
    options = {
        "query": place["query"],
        "stage": None if place["stage"] == "softmax" else place["stage"],
        "measure": place["measure"],
        "near": place["near"],
        **place["looks"],
    }
    default = {"stage": None, "measure": "contribution_norm", "near": None}
    default |= {"score_colour": "zero", "weight_colour": "unit", "order": "text"}
    words = [f"{k}={v!r}" for k, v in options.items() if k == "query" or v != default[k]]
    return f"chart = charts.explore(head, {', '.join(words)})"
