"""Record the scores that the ready examples are made of, from the models of the catalog:

    python -m tests.matrix_check.record

rewrites attnviz/matrix_check/recorded.py.
"""

from pathlib import Path

import numpy as np

import attnviz
from attnviz.matrix_check import recorded

TARGET = Path(recorded.__file__)
HEADER = '''"""Scores of real heads, as `python -m tests.matrix_check.record` recorded them.

Each line is a query and each number a key; for a head that does not look ahead, up to the query.
"""

TEXT = "{text}"

SMOLLM2 = ("smollm2-135m", {smol_layer})
"""The model and the layer of `SMOLLM2_HEADS`."""
MINILM = ("minilm-l6", {mini_layer}, {mini_head})
"""The model, the layer and the head of `MINILM_HEAD`."""
'''


def measure() -> tuple[list[np.ndarray], np.ndarray]:
    """The scores of every head of one layer of SmolLM2, and of one head of MiniLM."""
    name, layer = recorded.SMOLLM2
    cap = attnviz.capture(attnviz.load(name), recorded.TEXT)
    heads = [cap.head(layer, head).scores for head in range(cap.heads(layer))]
    name, layer, head = recorded.MINILM
    one = attnviz.capture(attnviz.load(name), recorded.TEXT).head(layer, head).scores
    return heads, one


def written(heads: list[np.ndarray], one: np.ndarray) -> str:
    """The module's source."""
    header = HEADER.format(
        text=recorded.TEXT,
        smol_layer=recorded.SMOLLM2[1],
        mini_layer=recorded.MINILM[1],
        mini_head=recorded.MINILM[2],
    )
    smol = "".join(f'    """\n{_lines(head, causal=True)}    """,\n' for head in heads)
    mini = f'"""\n{_lines(one, causal=False)}"""'
    return f"{header}\nSMOLLM2_HEADS = (\n{smol})\n\nMINILM_HEAD = {mini}\n"


def _lines(scores: np.ndarray, *, causal: bool) -> str:
    lines = ""
    for query, row in enumerate(scores):
        kept = row[: query + 1] if causal else row
        lines += " ".join(f"{value:.6g}" for value in kept) + "\n"
    return lines


if __name__ == "__main__":
    TARGET.write_text(written(*measure()))
