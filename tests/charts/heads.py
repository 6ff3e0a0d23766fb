"""Heads by hand, and a reader of the charts made of them."""

import base64
import io
import json
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from attnviz.heads.head import Head
from attnviz.tokens import Token

EYE = np.eye(3, dtype=np.float32)


def tokens(*labels: str, special: tuple[int, ...] = ()) -> list[Token]:
    return [
        Token(number, label, label, number, None, None, special=number in special)
        for number, label in enumerate(labels)
    ]


def head_of(scores: ArrayLike, labels: list[str] | None = None, **options: Any) -> Head:
    """A head with these scores; its values are unit vectors, so contributions are weights."""
    scores = np.asarray(scores, np.float32)
    queries, keys = scores.shape
    labels = labels or [f"t{n}" for n in range(max(queries, keys))]
    defaults = {
        "v": np.ones((keys, 1)),
        "w_o": np.ones((1, 1)),
        "given": {"scaled": scores},
        "query_tokens": tokens(*labels[:queries]),
        "key_tokens": tokens(*labels[:keys]),
    }
    return Head(None, None, **(defaults | options))


def causal(scores: ArrayLike, labels: list[str] | None = None, **options: Any) -> Head:
    scores = np.asarray(scores)
    return head_of(scores, labels, allowed=np.tril(np.ones(scores.shape, bool)), **options)


def random_scores(queries: int, keys: int | None = None, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(queries, keys or queries)) * 2


class Read:
    """What a chart holds."""

    def __init__(self, chart: alt.LayerChart) -> None:
        self.spec = chart.to_dict()
        self.params = {
            param["name"]: param.get("value", param.get("expr")) for param in self.spec["params"]
        }
        for name, value in self.params.items():
            if isinstance(value, str) and value.startswith("sequence("):
                self.params[name] = list(range(*json.loads(f"[{value[9:-1]}]")))
        for name, value in self.params.items():
            if "query_" in name and value == name.replace("query_", "key_"):  # sent once for both
                self.params[name] = self.params[value]
        self.units = list(_units(self.spec))

    def pictures(self) -> list[NDArray[np.uint8]]:
        """(y, x, rgba) of every picture, in drawing order."""
        urls = [u["encoding"]["url"]["value"] for u in self.units if _mark(u) == "image"]
        urls = [self.params[url["expr"]] if isinstance(url, dict) else url for url in urls]
        return [pixels(url) for url in urls]

    def map_of(self, shape: tuple[int, int], number: int = 0) -> NDArray[np.uint8]:
        """The picture of this shape, a pixel a cell: 0 the scores, 1 the weights."""
        return [p for p in self.pictures() if p.shape[:2] == shape][number]

    def titles(self) -> list[str]:
        """Fixed lines of text."""
        found = [
            axis.get("labelExpr", "")
            for unit in self.units
            for channel in ("x", "y")
            if (axis := unit["encoding"].get(channel, {}).get("axis"))
        ]
        return [json.loads(text) for text in found if text.startswith('"')]


def pixels(url: str) -> NDArray[np.uint8]:
    data = base64.b64decode(url.removeprefix("data:image/png;base64,"))
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"))


def _units(spec: dict[str, Any]) -> Any:
    for layer in spec["layer"]:
        if "layer" in layer:
            yield from _units(layer)
        else:
            yield layer


def _mark(unit: dict[str, Any]) -> str:
    return unit["mark"]["type"]
