"""Record the scores that the ready examples are made of, from the models of the catalog:

    python -m tests.matrix_check.record

rewrites attnviz/matrix_check/data/recorded.json, for the text, layers and heads that it names.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import attnviz
from attnviz.matrix_check import ready_examples
from attnviz.matrix_check.ready_examples import RECORDED

TARGET = Path(ready_examples.__file__).parent / "data" / "recorded.json"


def measure() -> dict[str, Any]:
    """What is recorded now, with the scores measured again, to six digits. A row ends with the
    last key that its query may look at."""
    measured = {"text": RECORDED["text"]}
    for name, of_model in RECORDED.items():
        if name != "text":
            cap = attnviz.capture(attnviz.load(name), RECORDED["text"])
            heads = [cap.head(of_model["layer"], head) for head in of_model["heads"]]
            measured[name] = of_model | {"scores": [_rows(head.scores) for head in heads]}
    return measured


def _rows(scores: np.ndarray) -> list[list[float]]:
    return [[float(f"{score:.6g}") for score in row if np.isfinite(score)] for row in scores]


def as_json(recorded: dict[str, Any]) -> str:
    """JSON with a row of scores a line."""
    return json.dumps(recorded).replace("], [", "],\n[") + "\n"


if __name__ == "__main__":
    TARGET.write_text(as_json(measure()), "utf-8")
