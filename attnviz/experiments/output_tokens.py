"""What a model puts out, before and after a change: its likeliest tokens, or its last states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnviz.heads.distances import Numbers, softmax, total_variation
from attnviz.heads.head import Head
from attnviz.tokens import tokens_of_ids
from attnviz.tokens.token import number_labels

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.interventions import Run
    from attnviz.models import LoadedModel

SHOWN = 6
"""Likeliest tokens of each distribution."""


def has_output(capture: "Capture") -> bool:
    """Whether the model puts out anything on this text that two runs can be compared by: a model
    that fills masks puts out nothing where there is none."""
    from attnviz.interventions.engine import model_output

    return model_output(capture).size > 0


def find_output_row(capture: "Capture", stack: str, query: int) -> int:
    """The row whose output is compared: the last of a decoder, the last mask of a model that fills
    masks, else the query."""
    row = capture.logit_row(stack)
    return query if row is None else row


def compare_outputs(model: "LoadedModel", run: "Run") -> pd.DataFrame:
    """What a run with interventions puts out beside the run without.

    A row for each of the `SHOWN` likeliest tokens of the two, the likeliest before first: "Token",
    its probability, 0 to 1, "Before" and "After", and the "Difference". Of a model that predicts
    no tokens, a row a token of the text: "Token" and "1 - cosine" of its last hidden state before
    and after, 0 to 2. No rows where nothing is put out.

    >>> import attnviz
    >>> from attnviz.interventions import Ablate
    >>> model = attnviz.load("planted-circuit")
    >>> run = attnviz.run(model, "red fox ran home red fox ran", interventions=[Ablate(1, 0)])
    >>> compare_outputs(model, run).set_index("Token").loc["␣home"].round(2).tolist()
    [1.0, 0.0, -1.0]
    """
    before, after = run.baseline.logits, run.logits
    if before is None or after is None or not len(before):
        side = "decoder" if "decoder" in run.baseline.stacks else None
        names = number_labels(run.baseline.query_tokens(side))
        change = run.state_change
        return pd.DataFrame({"Token": names[: len(change)], "1 - cosine": change})
    pair = {"Before": softmax(before[-1]), "After": softmax(after[-1])}
    table = _tabulate_likeliest(model, pair, list(pair.values())[0])
    table["Difference"] = table["After"] - table["Before"]
    return table


@dataclass(frozen=True, eq=False)
class TemperedOutput:
    """The output under one temperature in four places: "as it is", "scores of this head", "scores
    of every head", and in "sampling".

    Attributes:
        table: a row a likely token: "Token", and its probability by each way, 0 to 1.
        entropy: {way: nats, 0 or more}.
        moved: {way: total variation from "as it is", 0 to 1}.
    """

    table: pd.DataFrame
    entropy: Mapping[str, float]
    moved: Mapping[str, float]


def compare_temperatures(
    model: "LoadedModel", capture: "Capture", head: Head, temperature: float
) -> TemperedOutput:
    """One temperature on the scores of a head, on those of every head of its stack, and on the
    logits of a model that predicts tokens. Sources: Vaswani et al. 2017, "Attention Is All You
    Need", section 3.2.1; Hinton et al. 2015, "Distilling the Knowledge", section 2.

    >>> import attnviz
    >>> model = attnviz.load("planted-circuit")
    >>> capture = attnviz.capture(model, "red fox ran home red fox ran")
    >>> found = compare_temperatures(model, capture, capture.head(1, 0), 2.0)
    >>> found.entropy["sampling"] > found.entropy["as it is"]
    True
    """
    from attnviz.interventions import Temper, effects

    assert capture.logits is not None
    one = [Temper(head.layer, head.head, head.stack, temperature=temperature)]
    every = [Temper(stack=head.stack, temperature=temperature)]
    tempered, all_tempered = (output[-1] for output in effects(model, capture, [one, every]))
    logits = capture.logits[-1]
    plain = softmax(logits)
    ways = {
        "as it is": plain,
        "scores of this head": softmax(tempered),
        "scores of every head": softmax(all_tempered),
        "sampling": softmax(logits / temperature),
    }
    return TemperedOutput(
        _tabulate_likeliest(model, ways, plain, most=2 * SHOWN),
        {way: float(-(p * np.log(np.maximum(p, 1e-300))).sum()) for way, p in ways.items()},
        {way: total_variation(p, plain) for way, p in ways.items()},
    )


def _tabulate_likeliest(
    model: "LoadedModel", ways: Mapping[str, Numbers], by: Numbers, most: int | None = None
) -> pd.DataFrame:
    """A row for each of the likeliest tokens of several (vocabulary,) distributions, in the order
    of one of them."""
    ids = {int(i) for row in ways.values() for i in np.argsort(-row)[:SHOWN]}
    order = sorted(ids, key=lambda i: -by[i])[:most]
    names = _tell_apart([token.label for token in tokens_of_ids(model.tokenizer, order)])
    return pd.DataFrame({"Token": names} | {way: row[order] for way, row in ways.items()})


def _tell_apart(names: Sequence[str]) -> list[str]:
    """The names, with a number after one that came before: a bar needs a name of its own."""
    seen: dict[str, int] = {}
    apart = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        apart.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return apart
