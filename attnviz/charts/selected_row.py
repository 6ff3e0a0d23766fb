"""The row in focus: what the browser holds of a head, and what it looks up for one row.

The browser gets every number once, packed (see `packing`), and unpacks only the row in focus: the
one under the pointer, else the selected one.
"""

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from attnviz.charts import layers as draw
from attnviz.charts import packing
from attnviz.charts.describe import NOTHING, UNDEFINED, findings
from attnviz.charts.scene import Scene


def params(scene: Scene) -> list[alt.VariableParameter]:
    """Tokens and packed numbers of a head, and what of them belongs to the row in focus.

    "focus" is the place of the row in focus; "spot_place" that of the key under the pointer, or -1.
    """
    reason = np.where(scene.attends[:, None], scene.reason, packing.NOTHING)
    score_reason = np.where(scene.score_shown, 0, reason)
    constants: dict[str, Any] = {
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
        "focus": f"hovered<0?{scene.place}:hovered",
        "spot_place": "spotted",
        "focus_scores": "row_scores[focus]",
        "focus_weights": "row_weights[focus]",
        "focus_name": token_name("query", "focus"),
        # the place of the selected token among the keys
        "selected_place": "indexof(key_positions,query_positions[focus])"
        if scene.one_text
        else "-1",
    }
    if scene.measure_name != "weight":
        expressions["focus_parts"] = "row_parts[focus]"
    return [
        *unpacking_params(),
        *key_tokens(scene),
        *query_tokens(scene),
        *(draw.constant(name, value) for name, value in constants.items()),
        *(draw.param(name, expression) for name, expression in expressions.items()),
    ]


def unpacking_params() -> list[alt.VariableParameter]:
    """What the browser needs to unpack numbers."""
    return [
        draw.constant("digits", packing.DIGITS),
        draw.constant("special_names", packing.NAMES),
    ]


def key_tokens(scene: Scene, prefix: str = "") -> list[alt.VariableParameter]:
    """Labels, positions and specialness of the keys, as lists."""
    return [
        _list_param(f"{prefix}key_{name}", values) for name, values in _lists(scene, "key").items()
    ]


def query_tokens(scene: Scene, prefix: str = "") -> list[alt.VariableParameter]:
    """The same of the queries; what is as with the keys of this prefix is sent once."""
    of_keys = _lists(scene, "key")
    return [
        draw.param(f"{prefix}query_{name}", f"{prefix}key_{name}")
        if values == of_keys[name]
        else _list_param(f"{prefix}query_{name}", values)
        for name, values in _lists(scene, "query").items()
    ]


def _lists(scene: Scene, side: str) -> dict[str, list]:
    keys = side == "key"
    special = scene.key_special if keys else scene.query_special
    return {
        "labels": scene.key_labels if keys else scene.query_labels,
        "special": [int(one) for one in special],
        "positions": (scene.keys if keys else scene.rows).tolist(),
    }


def _list_param(name: str, values: list) -> alt.Parameter:
    """A list as a parameter; positions that follow one another as their two ends."""
    if name.endswith("positions") and values == list(range(values[0], values[-1] + 1)):
        return draw.param(name, f"sequence({values[0]},{values[-1] + 1})")
    return draw.constant(name, values)


def fields(scene: Scene) -> dict[str, str]:
    """What each key's data row holds for the row in focus; see `key_fields`."""
    numbers = {"score": ("scores", "focus_scores"), "weight": ("weights", "focus_weights")}
    if scene.measure_name != "weight":
        numbers[scene.measure.title] = ("parts", "focus_parts")
    return key_fields("", "", numbers)


def key_fields(keys: str, rows: str, numbers: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Field to expression: what each key's data row, known by its place `i`, holds for the row in
    focus: names, codes, numbers, their text, the tooltip.

    Args:
        keys, rows: the prefixes of the parameters about keys and about rows.
        numbers: title in the tooltip to (what the fields of a number begin with, the parameter
            that holds the packed row).
    """
    found = {"key": "datum.i", "to": token_name(f"{keys}key", "datum.i")}
    tip = {"from (query)": f"{rows}focus_name", "to (key)": "datum.to"}
    for title, (name, row) in numbers.items():
        code, value = f"datum.{name}_code", f"datum.{name}_value"
        none = f"{code}<{packing.SPECIAL}"
        found |= {
            f"{name}_at": packing.place(row, "datum.i"),
            f"{name}_code": packing.unpacking(row, f"datum.{name}_at"),
            f"{name}_value": f"{none}?0:{packing.number(code)}",
            f"{name}_text": f"{none}?special_names[{code}]:format({value},'.4~g')",
        }
        tip[title] = f"datum.{name}_text"
    return found | {"tip": tooltip(tip)}


def measure_prefix(scene: Scene) -> str:
    """The prefix of the fields that hold the chosen measure."""
    return "weights" if scene.measure_name == "weight" else "parts"


def is_absent(scene: Scene) -> str:
    """An expression: the key has no number in this row, being masked or undefined."""
    code = f"datum.{measure_prefix(scene)}_code"
    return f"({code}<{packing.ZERO}||{code}==={packing.NOTHING})"


def sentence(place: str) -> str:
    """What a row attends to, by its place among the rows drawn, as one expression."""
    found = f"row_text[{place}]"
    otherwise = f"{found}==='{UNDEFINED}'?' has undefined weights':' attends most to '+{found}"
    name = token_name("query", place)
    return f"{name}+({found}==='{NOTHING}'?' attends to nothing':{otherwise})"


def token_name(tokens: str, place: str) -> str:
    """A token's label and position, as an expression; `tokens` is "query" or "key", behind the
    prefix of their lists."""
    return f"'\"'+{tokens}_labels[{place}]+'\" ('+{tokens}_positions[{place}]+')'"


def tooltip(rows: dict[str, str]) -> str:
    """A tooltip's lines, title to expression, as one expression."""
    return "{" + ",".join(f"{draw.quote(title)}:{text}" for title, text in rows.items()) + "}"
