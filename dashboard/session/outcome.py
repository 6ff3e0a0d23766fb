"""What came of a what-if: the head and the model's output, before and after."""

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnviz.heads.distances import softmax
from attnviz.tokens import tokens_of_ids
from dashboard.server.turns import silent
from dashboard.session import backend, slow_results
from dashboard.session.selection import SettledSelection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnviz.capture import Capture
    from attnviz.heads.head import Head
    from attnviz.interventions import Intervention
    from attnviz.models import LoadedModel
    from attnviz.tokens import Token

SHOWN = 6  # likeliest tokens of each of two distributions


@dataclass(frozen=True)
class Outcome:
    """One what-if against the baseline.

    Attributes:
        change: what was done.
        after: a capture that holds the one block that is looked at.
        total_variation, kl: of the output distribution; NaN for a model that predicts no tokens.
        moved: the change as the experiments of attnviz measure it, at the row that is read.
        whole_head: the same measure with the whole head taken away at that row: something to
            compare with.
        tokens: the likeliest tokens with their probabilities before and after.
        state_change: (query,) 1 - cosine of the last hidden state; empty with logits.
        from_layer, from_position: where the run began.
        seconds: how long it took.
    """

    change: "Intervention"
    after: "Capture"
    total_variation: float
    kl: float
    moved: float
    whole_head: float
    tokens: "list[tuple[Token, float, float]]"
    state_change: "NDArray[Any]"
    from_layer: int
    from_position: int
    seconds: float

    def head(self, selection: SettledSelection) -> "Head":
        return self.after.head(selection.layer, selection.head, selection.stack)


def outcome(
    ask: backend.Ask, capture: "Capture", change: "Intervention", selection: SettledSelection
) -> Outcome | None:
    """The what-if's outcome, from the store or run now; where the run is long, None until it is
    asked for, its cost stated."""
    count = len(capture.query_tokens(selection.stack))
    # in a decoder, only the positions that can change are run
    positions = count - (change.first_query if capture.info.kind == "decoder" else 0)
    if positions <= backend.MAX_TOKENS:
        return made(ask, change, selection)

    def cost() -> float:
        model = backend.store().model(ask.model, silent)
        return backend.cost(model, ask).seconds * positions / count

    return slow_results.result(
        "what_if",
        ask,
        _name(change, selection),
        lambda model, cap, step: run(model, cap, change, selection),
        cost=cost,
        label="Run the model with this change",
    )


def made(ask: backend.Ask, change: "Intervention", selection: SettledSelection) -> Outcome:
    """The what-if's outcome, from the store or run now, however long it takes; without a page."""
    found: Outcome = backend.experiment(
        ask,
        _name(change, selection),
        lambda model, cap: run(model, cap, change, selection),
        silent,
    )
    return found


def _name(change: "Intervention", selection: SettledSelection) -> tuple[Any, ...]:
    return ("what if", change, selection.stack, selection.layer, selection.head, selection.query)


def run(
    model: "LoadedModel", capture: "Capture", change: "Intervention", selection: SettledSelection
) -> Outcome:
    """The what-if, run now."""
    import attnviz
    from attnviz.interventions import Ablate, effects
    from attnviz.interventions.engine import model_output

    started = time.perf_counter()
    layers = [] if selection.layer is None else [selection.layer]
    found = attnviz.run(model, interventions=[change], baseline=capture, layers=layers)
    seconds = time.perf_counter() - started
    gone = Ablate(selection.layer, selection.head, selection.stack, queries=(selection.query,))
    (without,) = effects(model, capture, [[gone]])
    block = found.capture.block(selection.layer, selection.stack)
    return Outcome(
        change=change,
        after=replace(found.capture, blocks=[block]),
        total_variation=found.total_variation,
        kl=found.kl,
        moved=moved(capture, model_output(found.capture), selection.query),
        whole_head=moved(capture, without, selection.query),
        tokens=likeliest(model, capture.logits, [found.logits]),
        state_change=found.state_change,
        from_layer=found.from_layer,
        from_position=found.from_position,
        seconds=seconds,
    )


NOTHING_OUT = (
    "This model fills masks, and this text has none, so there is no output to compare. Put the "
    "model's mask token, [MASK] in most models, in the place of a word."
)


def puts_out(capture: "Capture") -> bool:
    """Whether the model puts out anything on this text that two runs can be compared by."""
    from attnviz.interventions.engine import model_output

    return model_output(capture).size > 0


def moved(capture: "Capture", output: Any, query: int) -> float:
    """How far an output is from the baseline's, as by
    `attnviz.faithfulness.agreement.output_change`; NaN where nothing is put out."""
    from attnviz.faithfulness.agreement import output_change

    if not puts_out(capture):
        return float("nan")
    return output_change(capture, output, query)


def likeliest(model: "LoadedModel", before: Any, others: list[Any]) -> list[Any]:
    """The likeliest tokens of several distributions at the last position kept, each with its
    probability in each: (token, before, other, ...), the likeliest before first."""
    if before is None or not len(before):
        return []
    rows = np.stack([softmax(logits[-1]) for logits in (before, *others)])
    ids = {int(i) for row in rows for i in np.argsort(-row)[:SHOWN]}
    order = sorted(ids, key=lambda i: -rows[0, i])
    tokens = tokens_of_ids(model.tokenizer, order)
    return [
        (token, *(float(p) for p in rows[:, i])) for token, i in zip(tokens, order, strict=True)
    ]


def place_of_output(capture: "Capture", selection: SettledSelection) -> int:
    """The token whose output is compared: the last of a decoder, the last mask of a model that
    fills masks, else the one that is read."""
    row = capture.logit_row(selection.stack)
    return selection.query if row is None else row


def predicted(capture: "Capture") -> str:
    """What a model's logits are about, in words."""
    if capture.info.kind == "encoder":
        return f"fillers of the mask at token {capture.logit_positions[-1]}"
    return "next tokens"


def distinct(names: list[str]) -> list[str]:
    """The names, with a number after one that came before: a bar needs a name of its own."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out
