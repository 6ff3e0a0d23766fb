"""What came of a what-if: the head and the model's output, before and after."""

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attnviz.experiments.changed_rows import measure_changes
from attnviz.experiments.output_tokens import compare_outputs, has_output
from attnviz.progress import ignore_progress
from dashboard.session import backend, slow_results
from dashboard.session.selection import SettledSelection

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.capture import Capture
    from attnviz.heads.head import Head
    from attnviz.interventions import Intervention
    from attnviz.models import LoadedModel


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
        output: as `attnviz.experiments.output_tokens.compare_outputs` returns it.
        from_layer, from_position: where the run began.
        seconds: how long it took.
    """

    change: "Intervention"
    after: "Capture"
    total_variation: float
    kl: float
    moved: float
    whole_head: float
    output: "pd.DataFrame"
    from_layer: int
    from_position: int
    seconds: float

    def head(self, selection: SettledSelection) -> "Head":
        return self.after.head(selection.layer, selection.head, selection.stack)


def find_outcome(
    ask: backend.Ask, capture: "Capture", change: "Intervention", selection: SettledSelection
) -> Outcome | None:
    """The what-if's outcome, from the store or run now; where the run is long, None until it is
    asked for, its cost stated."""
    count = len(capture.query_tokens(selection.stack))
    # in a decoder, only the positions that can change are run
    positions = count - (change.first_query if capture.info.kind == "decoder" else 0)
    if positions <= backend.MAX_TOKENS:
        return make_outcome(ask, change, selection)

    def cost() -> float:
        model = backend.store().model(ask.model, ignore_progress)
        return backend.estimate_cost(model, ask).seconds * positions / count

    return slow_results.show_result(
        "what_if",
        ask,
        _name(change, selection),
        lambda model, cap, step: run_change(model, cap, change, selection),
        cost=cost,
        label="Run the model with this change",
    )


def make_outcome(ask: backend.Ask, change: "Intervention", selection: SettledSelection) -> Outcome:
    """The what-if's outcome, from the store or run now, however long it takes; without a page."""
    found: Outcome = backend.get_experiment(
        ask,
        _name(change, selection),
        lambda model, cap: run_change(model, cap, change, selection),
        ignore_progress,
    )
    return found


def _name(change: "Intervention", selection: SettledSelection) -> tuple[Any, ...]:
    return ("what if", change, selection.stack, selection.layer, selection.head, selection.query)


def run_change(
    model: "LoadedModel", capture: "Capture", change: "Intervention", selection: SettledSelection
) -> Outcome:
    """The what-if, run now."""
    import attnviz
    from attnviz.faithfulness.agreement import output_change
    from attnviz.interventions import Ablate
    from attnviz.interventions.engine import model_output

    started = time.perf_counter()
    found = attnviz.run(model, interventions=[change], baseline=capture, layers=[selection.layer])
    seconds = time.perf_counter() - started
    moved = whole_head = float("nan")
    if has_output(capture):
        row = selection.query
        gone = Ablate(selection.layer, selection.head, selection.stack, queries=(row,))
        moved = output_change(capture, model_output(found.capture), row)
        (whole_head,) = measure_changes(model, capture, [[gone]], row)
    block = found.capture.block(selection.layer, selection.stack)
    return Outcome(
        change=change,
        after=replace(found.capture, blocks=[block]),
        total_variation=found.total_variation,
        kl=found.kl,
        moved=moved,
        whole_head=whole_head,
        output=compare_outputs(model, found),
        from_layer=found.from_layer,
        from_position=found.from_position,
        seconds=seconds,
    )


NOTHING_OUT = (
    "This model fills masks, and this text has none, so there is no output to compare. Put the "
    "model's mask token, [MASK] in most models, in the place of a word."
)


def name_predictions(capture: "Capture") -> str:
    """What a model's logits are about, in words."""
    if capture.info.kind == "encoder":
        return f"fillers of the mask at token {capture.logit_positions[-1]}"
    return "next tokens"
