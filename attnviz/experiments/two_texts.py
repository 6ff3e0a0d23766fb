"""One head on two texts: its parameters stay as they are, and its weights do not."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from attnviz.heads.head import Head

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.models import LoadedModel


@dataclass(frozen=True, eq=False)
class TwoTexts:
    """A head on a text, on the same text again, and on another one.

    Attributes:
        checksums: of the parameters of the layer's attention, before, between and after the runs:
            the first eight signs of their SHA-256.
        repeat_error: the largest difference between the weights of the two runs on one text.
        other: the head on the other text.
        table: a row a "Text": "Queries", "Keys", "Largest weight off the first token" and "Mean
            weight on the first token", both without the first row; NaN where there is no other.
    """

    checksums: list[str]
    repeat_error: float
    other: Head
    table: pd.DataFrame


def compare_texts(
    model: "LoadedModel", capture: "Capture", head: Head, other_text: str, **tokenizing: Any
) -> TwoTexts:
    """Run the text of a capture again, then another one, with options of `attnviz.capture`, and
    look at one head and at the parameters of its layer.

    >>> import attnviz
    >>> model = attnviz.load("planted-circuit")
    >>> capture = attnviz.capture(model, "red fox ran home")
    >>> found = compare_texts(model, capture, capture.head(1, 0), "the cat sat")
    >>> len(set(found.checksums)), found.repeat_error, found.table["Keys"].tolist()
    (1, 0.0, [5, 4])
    """
    from attnviz.capture import capture as run_model

    at = (head.layer, head.head, head.stack)
    module = capture.block(head.layer, head.stack).module
    checksums, heads = [hash_parameters(model, module)], []
    for options in (capture.asked, {"text": other_text, **tokenizing}):
        heads.append(run_model(model, **options).head(*at))
        checksums.append(hash_parameters(model, module))
    again, other = heads
    error = float(np.abs(again.weights - head.weights).max())
    both = [head.weights, other.weights]
    firsts = [float(w[1:, 0].mean()) if len(w) > 1 else float("nan") for w in both]
    table = pd.DataFrame(
        {
            "Text": ["yours", "the other"],
            "Queries": [len(weights) for weights in both],
            "Keys": [weights.shape[1] for weights in both],
            "Largest weight off the first token": [float(w[1:, 1:].max(initial=0.0)) for w in both],
            "Mean weight on the first token": firsts,
        }
    )
    return TwoTexts(checksums, error, other, table)


def hash_parameters(model: "LoadedModel", module: str) -> str:
    """SHA-256 over every parameter of one of the model's modules, its first eight signs."""
    import torch

    found = hashlib.sha256()
    for name, parameter in sorted(model.hf.get_submodule(module).state_dict().items()):
        found.update(name.encode())
        found.update(parameter.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()[:8]
