"""Examination: what every head did on one text of a corpus."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attnviz.errors import AttnvizError, BadInput
from attnviz.survey.best_examples import Examples, TopCells
from attnviz.survey.corpus import Text
from attnviz.survey.survey_part import Failure, Part, TextResult
from attnviz.tokens import shorten_text

if TYPE_CHECKING:
    from attnviz.detectors.row_sums import Lengths
    from attnviz.models import LoadedModel


def examine_text(
    model: "LoadedModel", text: Text, *, max_tokens: int, most: int, lengths: "Lengths"
) -> TextResult | Failure:
    """Every head on one text, or why it cannot be read.

    Args:
        max_tokens: a longer text is cut to its beginning.
        most: examples that are kept for each head in the end.
        lengths: as for `attnviz.detectors.profile`, the same for all texts of a model.
    """
    try:
        return _examine(model, text, max_tokens, most, lengths)
    except (AttnvizError, RuntimeError, MemoryError) as error:  # torch's: out of memory
        why = str(error).splitlines() or [type(error).__name__]
        return Failure(text.number, text.name, why[0])


def _examine(
    model: "LoadedModel", text: Text, max_tokens: int, most: int, lengths: "Lengths"
) -> TextResult:
    from attnviz.capture.forward import capture
    from attnviz.detectors import profile

    if text.problem:
        raise BadInput(what=text.problem)
    own = model.info.max_positions if model.info.hard_positions else None
    source = shorten_text(model.tokenizer, text.text, min(max_tokens, own or max_tokens))
    captured = capture(model, source)
    profiles, examples = {}, {}
    written = model.info.kind == "encoder-decoder"  # the decoder reads what the model wrote
    for stack in captured.stacks:
        largest = TopCells()
        profiles[stack] = profile(captured, stack, look=largest.look, lengths=lengths)
        examples[stack] = Examples(most)
        around = "" if written and stack == "decoder" else source
        largest.offer_to(examples[stack], text, captured, stack, around)
    tokens = captured.tokens["encoder"] if written else captured.query_tokens()
    return TextResult(profiles, examples, len(tokens), len(source) < len(text.text))


def longest_first(texts: Sequence[Text]) -> list[Text]:
    """Like lengths after one another, so that memory is used again as it is, and the last to be
    waited for is short."""
    return sorted(texts, key=lambda text: (-len(text.text), text.number))


def collect_part(found: Sequence[TextResult | Failure]) -> Part:
    """The part that these texts make up, in this order."""
    part = Part()
    for one in found:
        if isinstance(one, Failure):
            part.failures.append(one)
        else:
            part.take(one)
    part.failures.sort(key=lambda failure: failure.text)
    return part


def examine(
    model: "LoadedModel",
    texts: Sequence[Text],
    *,
    max_tokens: int,
    most: int,
    lengths: "Lengths | None" = None,
) -> Part:
    """Every head on every text, one text after another. A text that cannot be read is left out,
    with the reason."""
    known: Lengths = {} if lengths is None else lengths
    options: dict[str, Any] = {"max_tokens": max_tokens, "most": most, "lengths": known}
    return collect_part([examine_text(model, text, **options) for text in longest_first(texts)])
