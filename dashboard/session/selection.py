"""What the reader has chosen, and how it is written in a link. Pure: no Streamlit, no model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from attnviz.detectors.measures import HEAD_MEASURES, SHARES
from attnviz.heads.contributions import MEASURES
from attnviz.models.catalog import CATALOG, DEFAULT_MODEL, CatalogEntry
from attnviz.models.source import find_source
from dashboard.session.link_fields import (
    SWITCH,
    Field,
    Ignored,
    Unusable,
    one_of,
    read_fields,
    read_whole,
    short_text,
    whole_number,
    write_fields,
)

if TYPE_CHECKING:
    from attnviz.charts.bar_row import Order
    from attnviz.charts.scales import ScoreColour, WeightColour

STAGES = {
    "softmax": "As softmax receives them",
    "dot": "Query-key product",
    "scaled": "After scaling",
    "capped": "After soft-capping",
    "biased": "With position bias",
    "tempered": "With temperature",
    "watched": "As watched",
    "position bias": "Position bias alone",
    "content to position": "Content to position alone",
    "position to content": "Position to content alone",
    "bias in the mask": "Bias in the mask alone",
}
STACKS = {"decoder": "Decoder", "encoder": "Encoder", "cross": "Decoder to encoder"}
VIEWS = {"maps": "Small maps", "measure": "One measure"}
WEIGHTS = {"unit": "0 to 1", "fit": "Fitted", "log": "Powers of ten"}
SORTS = {"place": "By place", "measure": "By the measure"}
ON_REPEATED = {"duplicate_token": "duplicate_repeated", "induction": "induction_repeated"}
"""Measures that are also taken on repeated random tokens, under names of their own."""
_HABITS = [name for name in SHARES if HEAD_MEASURES[name].target]
HEAD_CHOICES = (
    *(one for name in _HABITS for one in (name, ON_REPEATED.get(name)) if one),
    *(name for name in HEAD_MEASURES if name not in _HABITS),
    "effect",
)
SHIPPED_SURVEY = "probes"
ABOVE = (0, 1, 2, 5, 10)  # times its null that a head is to have
LONGEST_TARGET = 1_000  # characters
LONGEST_LINK = 6_000  # bytes of text in an address; some hosts cut a longer one


@dataclass(frozen=True)
class Selection:
    """Everything a page needs to draw the same picture again.

    target is what the decoder of an encoder-decoder reads; empty, the model writes it itself.
    plain: marks of the tokenizer's that are typed in the text, such as <|endoftext|>, are text.
    near is, of a text too long to be drawn whole, the key that the window of cells stands around.
    layer, head, query and near count from 0. None means: the model's own default, which is settled
    once the model is there; of near, the place of the query.
    """

    model: str = DEFAULT_MODEL
    text: str = CATALOG[DEFAULT_MODEL].default_text
    target: str = ""
    special: bool = True
    plain: bool = False
    cut: bool = False
    stack: str | None = None
    layer: int | None = None
    head: int | None = None
    query: int | None = None
    near: int | None = None
    stage: str = "softmax"
    by: str = "contribution_norm"
    scores: "ScoreColour" = "zero"
    weights: "WeightColour" = "unit"
    order: "Order" = "text"
    grid: str = "focus"
    view: str = "maps"
    measure: str = "induction"
    sort: str = "place"
    above: int = 0
    layers: str | None = None  # such as "3-9"; None is all
    survey: str = ""  # whose numbers the page of heads shows; empty: the text's own


@dataclass(frozen=True, kw_only=True)
class SettledSelection(Selection):
    """A selection of which a capture has filled in every open choice; see `fit`."""

    stack: str
    layer: int
    head: int
    query: int


def default_text(model: str) -> str:
    return CATALOG.get(model, CATALOG[DEFAULT_MODEL]).default_text


def default_selection(model: str) -> Selection:
    """Where a page opens for this model."""
    return Selection(model=model, text=default_text(model))


# In a link


def read_span(layers: str) -> tuple[int, int]:
    """The first and the last layer of a span such as "3-9"."""
    ends = layers.split("-")
    if len(ends) != 2:
        raise Unusable
    first, last = (read_whole(end) for end in ends)
    if first > last:
        raise Unusable
    return first, last


def _read_layers(raw: str) -> str:
    first, last = read_span(raw)
    return f"{first}-{last}"


def _read_times(raw: str) -> int:
    if read_whole(raw) not in ABOVE:
        raise Unusable
    return int(raw)


def model_field(folders: bool, allows: Callable[[str], bool]) -> Field:
    """The name of a model: of the catalog, of the Hub where `allows` says so, or a folder where
    folders may be opened."""

    def read(raw: str) -> str:
        source = find_source(raw, allow_folders=folders)
        if source.repo is not None and not allows(source.repo):
            raise Unusable("it is not on the list of this server")
        return raw.strip()

    return Field(read, "it is not a model name")


_POSITION = whole_number("token's position")
FIELDS = {
    "target": short_text(LONGEST_TARGET),
    "special": SWITCH,
    "plain": SWITCH,
    "cut": SWITCH,
    "stack": one_of(STACKS),
    "layer": whole_number(),
    "head": whole_number(),
    "query": _POSITION,
    "near": _POSITION,
    "stage": one_of(STAGES),
    "by": one_of(MEASURES),
    "scores": Field(one_of(("zero", "row")).read, "it is zero or row"),
    "weights": one_of(WEIGHTS),
    "order": Field(one_of(("text", "size")).read, "it is text or size"),
    "grid": one_of(SHARES),
    "view": one_of(VIEWS),
    "measure": one_of(HEAD_CHOICES),
    "sort": one_of(SORTS),
    "above": Field(_read_times, f"it is one of {', '.join(map(str, ABOVE))}"),
    "layers": Field(_read_layers, "it is a span such as 3-9, counted from 0"),
    "survey": short_text(LONGEST_TARGET),
}
NAMES = ("model", "text", *FIELDS)


def read_selection(
    params: Mapping[str, Sequence[str]],
    *,
    max_characters: int,
    folders: bool,
    allows: Callable[[str], bool] = lambda model: True,
) -> tuple[Selection, list[Ignored]]:
    """The selection that a link asks for, as far as its form can be judged without the model.

    What cannot be used is left at its default and named. allows: whether a Hub id may be loaded
    here.
    """
    first = {"model": model_field(folders, allows), "text": short_text(max_characters)}
    found, ignored = read_fields(params, first | FIELDS)
    return replace(default_selection(found.get("model", DEFAULT_MODEL)), **found), ignored


def write_selection(selection: Selection, fitted: SettledSelection | None = None) -> dict[str, str]:
    """The selection as names and values of an address.

    Nothing where all is at its default. Otherwise the model, the text and the place in it (from
    `fitted`, once there is one) are always named, so that a link keeps its meaning if a default
    changes, and the rest where it differs. A text too long for an address is left out.
    """
    if selection == Selection():
        return {}
    out = {"model": selection.model}
    if fits_address(selection):
        out["text"] = selection.text
    if fitted is not None:
        selection = replace(selection, layer=fitted.layer, head=fitted.head, query=fitted.query)
    return out | write_fields(selection, default_selection(selection.model), FIELDS)


def fits_address(selection: Selection) -> bool:
    """Whether the text fits into an address."""
    return len(quote(selection.text)) <= LONGEST_LINK


# Fitting a selection to a model and a text


class Shape(Protocol):
    """What `fit` asks of a capture; `attnviz.Capture` answers to it."""

    @property
    def stacks(self) -> list[str]: ...

    def layers(self, stack: str | None = None) -> list[int]: ...

    def heads(self, layer: int, stack: str | None = None) -> int: ...

    def query_tokens(self, stack: str | None = None) -> list[Any]: ...

    def key_tokens(self, stack: str | None = None) -> list[Any]: ...


def settle_selection(selection: Selection, shape: Shape) -> tuple[SettledSelection, list[Ignored]]:
    """The selection with every choice that this capture does not have put at its default."""
    ignored: list[Ignored] = []
    entry = CATALOG.get(selection.model)

    stack = selection.stack
    if stack not in shape.stacks:
        if stack is not None:
            ignored.append(Ignored("stack", f"this model has {', '.join(shape.stacks)}"))
        stack = "decoder" if "decoder" in shape.stacks else shape.stacks[0]

    layers = shape.layers(stack)
    layer = selection.layer
    if layer not in layers:
        if layer is not None:
            ignored.append(Ignored("layer", f"this model has layers {_describe_span(layers)}"))
        layer = _default_layer(entry, layers)

    heads = shape.heads(layer, stack)
    head = selection.head
    if head is None or head >= heads:
        if head is not None:
            ignored.append(
                Ignored("head", f"layer {layer} has heads {_describe_span(range(heads))}")
            )
        head = _default_head(entry, layer, heads)

    span = selection.layers
    if span is not None and not set(layers) & set(
        range(read_span(span)[0], read_span(span)[1] + 1)
    ):
        ignored.append(Ignored("layers", f"this model has layers {_describe_span(layers)}"))
        span = None

    tokens = shape.query_tokens(stack)
    query = selection.query
    if query is None or query >= len(tokens):
        if query is not None:
            ignored.append(
                Ignored("query", f"this text has tokens {_describe_span(range(len(tokens)))}")
            )
        query = _default_query(tokens)

    near, keys = selection.near, len(shape.key_tokens(stack))
    if near is not None and near >= keys:
        ignored.append(Ignored("near", f"this text has tokens {_describe_span(range(keys))}"))
        near = None
    filled = {"stack": stack, "layer": layer, "head": head, "query": query}
    fitted = SettledSelection(**(vars(selection) | filled | {"near": near, "layers": span}))
    return fitted, ignored


def _describe_span(numbers: Sequence[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]} only"


def _default_layer(entry: CatalogEntry | None, layers: list[int]) -> int:
    if entry is not None and entry.default_layer in layers:
        return entry.default_layer
    return layers[len(layers) // 2]


def _default_head(entry: CatalogEntry | None, layer: int, heads: int) -> int:
    if entry is not None and layer == entry.default_layer and entry.default_head < heads:
        return entry.default_head
    return 0


def _default_query(tokens: list[Any]) -> int:
    """The last token of the text itself: in a decoder, the one that sees the most."""
    own = [token.position for token in tokens if not token.special]
    return own[-1] if own else len(tokens) - 1
