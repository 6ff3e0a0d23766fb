"""The row that is read: what the browser holds of a head, and what it looks up for one row.

The browser gets every number once, packed (see `packing`), and unpacks only the row in hand.
"""

import math
from typing import Any

import altair as alt
import numpy as np

from attnviz.charts import layers as draw
from attnviz.charts import packing
from attnviz.charts.describe import NOTHING, UNDEFINED, findings
from attnviz.charts.scene import Scene


def params(scene: Scene) -> list[alt.VariableParameter]:
    """Tokens and packed numbers, and what of them belongs to the row and the key in hand.

    "focus" is the place of the row under the pointer, else of the row that was picked;
    "spot_place" the place of the key under the pointer, or -1.
    """
    reason = np.where(scene.attends[:, None], scene.reason, packing.NOTHING)
    score_reason = np.where(scene.score_shown, 0, reason)
    constants: dict[str, Any] = {
        "digits": packing.DIGITS,
        "special_names": packing.NAMES,
        "row_text": findings(scene),
        "row_scores": packing.pack(packing.encode(scene.scores, score_reason)),
        "row_weights": packing.pack(packing.encode(scene.weights, reason)),
    }
    if scene.measure_name != "weight":
        constants["row_parts"] = packing.pack(packing.encode(scene.parts, reason))
    if scene.has_sink:
        constants["sinks"] = [
            None if math.isnan(sink) else float(f"{sink:.4g}") for sink in scene.sink.tolist()
        ]
    expressions = {
        "hovered": "isValid(hover.query)?indexof(query_positions,hover.query[0]):-1",
        "focus": f"hovered<0?{scene.place}:hovered",
        "spot_place": "isValid(spot.key)?indexof(key_positions,spot.key[0]):-1",
        "focus_scores": "row_scores[focus]",
        "focus_weights": "row_weights[focus]",
        "focus_name": _name("query", "focus"),
        # the place of the token read from, among the keys
        "read_place": "indexof(key_positions,query_positions[focus])" if scene.one_text else "-1",
    }
    if scene.measure_name != "weight":
        expressions["focus_parts"] = "row_parts[focus]"
    return [
        *_tokens(scene),
        *(draw.constant(name, value) for name, value in constants.items()),
        *(draw.param(name, expression) for name, expression in expressions.items()),
    ]


def _tokens(scene: Scene) -> list[alt.VariableParameter]:
    """Labels, positions and specialness of keys and queries; a text that looks at itself is sent
    once."""
    of_keys = {
        "labels": scene.key_labels,
        "special": [int(special) for special in scene.key_special],
        "positions": scene.keys.tolist(),
    }
    of_queries = {
        "labels": scene.query_labels,
        "special": [int(special) for special in scene.query_special],
        "positions": scene.rows.tolist(),
    }
    found = []
    for name, values in of_keys.items():
        same = values == of_queries[name]
        query = draw.param(f"query_{name}", f"key_{name}") if same else None
        found += [
            _listed(f"key_{name}", values),
            query or _listed(f"query_{name}", of_queries[name]),
        ]
    return found


def _listed(name: str, values: list) -> alt.Parameter:
    """A list as a parameter; positions that follow one another as their two ends."""
    if name.endswith("positions") and values == list(range(values[0], values[-1] + 1)):
        return draw.param(name, f"sequence({values[0]},{values[-1] + 1})")
    return draw.constant(name, values)


def fields(scene: Scene) -> dict[str, str]:
    """Field to expression: what each key's data row, known by its place `i`, holds for the row in
    hand: positions, codes, numbers, their text, the tooltip."""
    found = {
        "key": "key_positions[datum.i]",
        "to": _name("key", "datum.i"),
        "query": "query_positions[focus]",
    }
    tip = {
        "from (query)": "focus_name",
        "to (key)": "datum.to",
        "score": "datum.scores_text",
        "weight": "datum.weights_text",
    }
    names = ["scores", "weights"]
    if scene.measure_name != "weight":
        names.append("parts")
        tip[scene.measure.title] = "datum.parts_text"
    for name in names:
        code, value = f"datum.{name}_code", f"datum.{name}_value"
        none = f"{code}<{packing.SPECIAL}"
        found |= {
            f"{name}_at": packing.place(f"focus_{name}", "datum.i"),
            f"{name}_code": packing.unpacking(f"focus_{name}", f"datum.{name}_at"),
            f"{name}_value": f"{none}?0:{packing.number(code)}",
            f"{name}_text": f"{none}?special_names[{code}]:format({value},'.4~g')",
        }
    return found | {"tip": tooltip(tip)}


def measured(scene: Scene) -> str:
    """The prefix of the fields that hold the chosen measure."""
    return "weights" if scene.measure_name == "weight" else "parts"


def absent(scene: Scene) -> str:
    """An expression: the key has no number in this row, being masked or undefined."""
    code = f"datum.{measured(scene)}_code"
    return f"({code}<{packing.ZERO}||{code}==={packing.NOTHING})"


def sentence(place: str) -> str:
    """What a row finds, by its place among the rows drawn, as one expression."""
    found = f"row_text[{place}]"
    otherwise = f"{found}==='{UNDEFINED}'?' has undefined weights':' attends most to '+{found}"
    return f"{_name('query', place)}+({found}==='{NOTHING}'?' attends to nothing':{otherwise})"


def _name(kind: str, place: str) -> str:
    return f"'\"'+{kind}_labels[{place}]+'\" ('+{kind}_positions[{place}]+')'"


def tooltip(rows: dict[str, str]) -> str:
    """A tooltip's lines, title to expression, as one expression."""
    return "{" + ",".join(f"{draw.quoted(title)}:{text}" for title, text in rows.items()) + "}"
