"""What the reader has chosen, and how it is written in a link. Pure: no Streamlit, no model."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from attnviz.errors import AttnvizError
from attnviz.heads.contributions import MEASURES
from attnviz.models.catalog import CATALOG, DEFAULT_MODEL, CatalogEntry
from attnviz.models.source import resolve

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
GRID_MEASURES = (
    "focus",
    "first_token",
    "previous_token",
    "same_token",
    "duplicate_token",
    "induction",
)
VIEWS = {"maps": "Small maps", "measure": "One measure"}
WEIGHTS = {"unit": "0 to 1", "fit": "Fitted", "log": "Powers of ten"}
SORTS = {"place": "By place", "measure": "By the measure"}
HEAD_CHOICES = (
    "first_token",
    "previous_token",
    "same_token",
    "duplicate_token",
    "duplicate_repeated",
    "induction",
    "induction_repeated",
    "focus",
    "entropy",
    "distance",
    "output_norm",
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


@dataclass(frozen=True)
class Ignored:
    """Something in a link that could not be used, and why, in fixed words."""

    name: str
    why: str


def default_text(model: str) -> str:
    return CATALOG.get(model, CATALOG[DEFAULT_MODEL]).default_text


def start(model: str) -> Selection:
    """Where a page opens for this model."""
    return Selection(model=model, text=default_text(model))


# Reading a link

_WHOLE = re.compile(r"[0-9]{1,5}")


def whole(raw: str) -> int:
    if not _WHOLE.fullmatch(raw):
        raise ValueError
    return int(raw)


def one_of(options: Sequence[str] | Mapping[str, Any]) -> Callable[[str], str]:
    def read(raw: str) -> str:
        if raw not in options:
            raise ValueError
        return raw

    return read


def _short(raw: str) -> str:
    if len(raw) > LONGEST_TARGET:
        raise ValueError
    return raw


def _switch(raw: str) -> bool:
    return {"on": True, "off": False}[raw]


def _times(raw: str) -> int:
    if whole(raw) not in ABOVE:
        raise ValueError
    return int(raw)


def span_of(layers: str) -> tuple[int, int]:
    """The first and the last layer of a span such as "3-9"."""
    first, last = (whole(part) for part in layers.split("-"))
    if first > last:
        raise ValueError
    return first, last


def _layers(raw: str) -> str:
    first, last = span_of(raw)
    return f"{first}-{last}"


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "target": (_short, f"it is over {LONGEST_TARGET:,} characters"),
    "special": (_switch, "it is on or off"),
    "plain": (_switch, "it is on or off"),
    "cut": (_switch, "it is on or off"),
    "stack": (one_of(STACKS), f"it is one of {', '.join(STACKS)}"),
    "layer": (whole, "it is a whole number, counted from 0"),
    "head": (whole, "it is a whole number, counted from 0"),
    "query": (whole, "it is a token's position, counted from 0"),
    "near": (whole, "it is a token's position, counted from 0"),
    "stage": (one_of(STAGES), f"it is one of {', '.join(STAGES)}"),
    "by": (one_of(MEASURES), f"it is one of {', '.join(MEASURES)}"),
    "scores": (one_of(("zero", "row")), "it is zero or row"),
    "weights": (one_of(WEIGHTS), f"it is one of {', '.join(WEIGHTS)}"),
    "order": (one_of(("text", "size")), "it is text or size"),
    "grid": (one_of(GRID_MEASURES), f"it is one of {', '.join(GRID_MEASURES)}"),
    "view": (one_of(VIEWS), f"it is one of {', '.join(VIEWS)}"),
    "measure": (one_of(HEAD_CHOICES), f"it is one of {', '.join(HEAD_CHOICES)}"),
    "sort": (one_of(SORTS), f"it is one of {', '.join(SORTS)}"),
    "above": (_times, f"it is one of {', '.join(map(str, ABOVE))}"),
    "layers": (_layers, "it is a span such as 3-9, counted from 0"),
    "survey": (_short, f"it is over {LONGEST_TARGET:,} characters"),
}
NAMES = ("model", "text", *_READERS)


def read_fields(
    params: Mapping[str, Sequence[str]], readers: Mapping[str, tuple[Callable[[str], Any], str]]
) -> tuple[dict[str, Any], list[Ignored]]:
    """What a link gives for some names, each with what reads it and why it could not; each may be
    given once."""
    found: dict[str, Any] = {}
    ignored = []
    for name, (reader, why) in readers.items():
        given = params.get(name, ())
        if len(given) > 1:
            ignored.append(Ignored(name, "it is given more than once"))
        elif given:
            try:
                found[name] = reader(given[0])
            except (ValueError, AttnvizError):
                ignored.append(Ignored(name, why))
    return found, ignored


def read(
    params: Mapping[str, Sequence[str]],
    *,
    max_characters: int,
    folders: bool,
    allows: Callable[[str], bool] = lambda model: True,
) -> tuple[Selection, list[Ignored]]:
    """The selection that a link asks for, as far as its form can be judged without the model.

    Each name may be given once. What cannot be used is left at its default and named. allows:
    whether a Hub id may be loaded here.
    """
    ignored: list[Ignored] = []
    once: dict[str, str] = {}
    for name in NAMES:
        given = params.get(name, ())
        if len(given) > 1:
            ignored.append(Ignored(name, "it is given more than once"))
        elif given:
            once[name] = given[0]

    model = DEFAULT_MODEL
    if "model" in once:
        try:
            source = resolve(once["model"], allow_folders=folders)
            if source.repo is None or allows(source.repo):
                model = once["model"].strip()
            else:
                ignored.append(Ignored("model", "it is not on the list of this server"))
        except AttnvizError:
            ignored.append(Ignored("model", "it is not a model name"))

    text = default_text(model)
    if "text" in once and len(once["text"]) <= max_characters:
        text = once["text"]
    elif "text" in once:
        ignored.append(Ignored("text", f"it is over {max_characters:,} characters"))

    fields: dict[str, Any] = {}
    for name, (reader, why) in _READERS.items():
        if name in once:
            try:
                fields[name] = reader(once[name])
            except (ValueError, KeyError):
                ignored.append(Ignored(name, why))
    return Selection(model=model, text=text, **fields), ignored


def write(selection: Selection, fitted: Selection | None = None) -> dict[str, str]:
    """The selection as names and values of an address.

    Nothing where all is at its default. Otherwise the model, the text and the place in it (from
    `fitted`, once there is one) are always named, so that a link keeps its meaning if a default
    changes, and the rest where it differs. A text too long for an address is left out.
    """
    if selection == Selection():
        return {}
    out = {"model": selection.model}
    if travels(selection):
        out["text"] = selection.text
    default = start(selection.model)
    for name in _READERS:
        value = getattr(selection, name)
        if name in ("layer", "head", "query") and fitted is not None:
            value = getattr(fitted, name)
        if value != getattr(default, name):
            out[name] = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
    return out


def travels(selection: Selection) -> bool:
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


def fit(selection: Selection, shape: Shape) -> tuple[SettledSelection, list[Ignored]]:
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
            ignored.append(Ignored("layer", f"this model has layers {_span(layers)}"))
        layer = _default_layer(entry, layers)

    heads = shape.heads(layer, stack)
    head = selection.head
    if head is None or head >= heads:
        if head is not None:
            ignored.append(Ignored("head", f"layer {layer} has heads {_span(range(heads))}"))
        head = _default_head(entry, layer, heads)

    span = selection.layers
    if span is not None and not set(layers) & set(range(span_of(span)[0], span_of(span)[1] + 1)):
        ignored.append(Ignored("layers", f"this model has layers {_span(layers)}"))
        span = None

    tokens = shape.query_tokens(stack)
    query = selection.query
    if query is None or query >= len(tokens):
        if query is not None:
            ignored.append(Ignored("query", f"this text has tokens {_span(range(len(tokens)))}"))
        query = _default_query(tokens)

    near, keys = selection.near, len(shape.key_tokens(stack))
    if near is not None and near >= keys:
        ignored.append(Ignored("near", f"this text has tokens {_span(range(keys))}"))
        near = None
    filled = {"stack": stack, "layer": layer, "head": head, "query": query}
    fitted = SettledSelection(**(vars(selection) | filled | {"near": near, "layers": span}))
    return fitted, ignored


def _span(numbers: Sequence[int]) -> str:
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
