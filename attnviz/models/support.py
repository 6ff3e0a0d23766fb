"""Which architectures attnviz shows exactly, as measured on every one that transformers knows."""

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = {
    "exact": "Scores, weights, masks and values are the model's own, to 1e-5 in float32.",
    "refused": "attnviz says that it cannot show the model, and why.",
    "could not be built": "No small model of it runs on a text alone, so nothing is known.",
}


@cache
def read_record() -> dict[str, Any]:
    """The generated table, with the version of transformers it was made with."""
    return json.loads(files("attnviz.models").joinpath("support.json").read_text("utf-8"))


def table() -> "pd.DataFrame":
    """A row an architecture: model type, class, verdict, how it is recorded, the stages of a score
    that can be seen, whether contributions reach the block's output, and why not."""
    import pandas as pd

    rows = read_record()["architectures"]
    return pd.DataFrame(
        {
            "model type": [row["model_type"] for row in rows],
            "class": [row["class"] for row in rows],
            "verdict": [row["verdict"] for row in rows],
            "recorded by": [row["method"] for row in rows],
            "stages": [", ".join(row["stages"]) for row in rows],
            "contributions": [_reach(row["output"]) for row in rows],
            "why": [row["reason"] or _stop(row["output"]) for row in rows],
        }
    )


def _reach(output: str) -> str:
    if not output:
        return ""
    return "to the block's output" if output == "yes" else "to the head's output"


def _stop(output: str) -> str:
    return output.partition(": ")[2]
