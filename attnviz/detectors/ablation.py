"""Effect: how far the model's output moves when a head is taken away."""

from typing import TYPE_CHECKING

import numpy as np

from attnviz.heads.distances import cosine_distance, logit_kl
from attnviz.heads.softmax import Array
from attnviz.progress import Step, ignore_step

if TYPE_CHECKING:
    from attnviz.capture.result import Capture
    from attnviz.models import LoadedModel


def effect(
    model: "LoadedModel",
    capture: "Capture",
    stack: str | None = None,
    *,
    query: int | None = None,
    layers: list[int] | None = None,
    progress: Step | None = None,
) -> Array:
    """(layer, head) float32: each head in turn puts out zeros at one token, and the output moves.

    Of a model that predicts tokens: KL(with || without) of the distribution at the last position
    that the capture keeps, in nats, 0 or more. Of any other: 1 minus the cosine of the token's
    last hidden state with and without the head, 0 to 2. NaN where a layer has no attention or was
    not asked for.

    What the head does at other tokens stays. The model never met zeros in training, and heads that
    do the same work stand in for one another: a small effect does not prove that a head is idle.
    Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?"

    Args:
        query: the token; by default the one that the logits are read from, else the last.
        layers: only these.
        progress: called with (done, total) heads.

    Raises:
        BadInput: the model puts out nothing on this text, or there is no such stack.

    >>> import attnviz
    >>> model = attnviz.load("planted-circuit")
    >>> found = effect(model, attnviz.capture(model, "red fox ran home red fox ran"))
    >>> np.unravel_index(np.nanargmax(found), found.shape) == (1, 0)
    True
    """
    from attnviz.interventions import Ablate, effects
    from attnviz.interventions.engine import output_to_compare

    before, report = output_to_compare(capture), progress or ignore_step
    numbers = capture.layers(stack)
    most = max(capture.heads(layer, stack) for layer in numbers)
    found = np.full((max(numbers) + 1, most), np.nan, np.float32)
    asked = numbers if layers is None else [layer for layer in numbers if layer in layers]
    places = [(la, h) for la in asked for h in range(capture.heads(la, stack))]
    stack = capture.block(numbers[0], stack).stack
    at = capture.logit_row(stack) if query is None else query
    if at is None:
        at = len(capture.query_tokens(stack)) - 1
    for layer in asked:
        heads = range(capture.heads(layer, stack))
        done = sum(place[0] < layer for place in places)
        outputs = effects(
            model,
            capture,
            [[Ablate(layer, head, stack, queries=(at,))] for head in heads],
            progress=_count_from(done, len(places), report),
        )
        for head, output in zip(heads, outputs, strict=True):
            if capture.logits is not None and len(capture.logits):
                found[layer, head] = logit_kl(before, output)
            else:
                found[layer, head] = cosine_distance(before, output)[min(at, len(output) - 1)]
    return found


def _count_from(done: int, total: int, report: Step) -> Step:
    return lambda some, _: report(done + some, total)
