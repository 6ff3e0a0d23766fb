"""The cached backend: what pages ask for models, captures and heads. Every st.cache_* is here."""

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np  # noqa: F401  # loaded before its BLAS is told anything
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from threadpoolctl import threadpool_limits

from attnviz.capture.cost import estimate
from attnviz.errors import AttnvizError, ModelRefused, TooLarge
from attnviz.heads.overview import overview as look
from attnviz.models.source import find_source
from attnviz.progress import ignore_progress
from attnviz.tokens import shorten_text, tokenize
from dashboard.server import heap, host, memory
from dashboard.server.page_table import PAGES
from dashboard.server.store import Store
from dashboard.server.turns import Tell
from dashboard.session import waiting
from dashboard.session.download_files import Files, let_go

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.capture.cost import Estimate
    from attnviz.heads.comparison import RowDistances
    from attnviz.heads.head import Head
    from attnviz.heads.overview import Overview
    from attnviz.models import LoadedModel

HOST = host.read_host()
MAX_CHARACTERS = HOST.max_characters
MAX_TOKENS = HOST.max_tokens  # experiments and all heads at once still come in seconds
# By the address of a page: tokens that it takes whole; tokens that it takes from the beginning of a
# text over MAX_TOKENS, where these are fewer.
LONGEST = {page.address: HOST.longest for page in PAGES if page.takes_whole(HOST.hosted)}
BEGINNING = {page.address: page.beginning for page in PAGES if page.beginning}
SLOW = 2.0  # seconds from which the run of a long text says beforehand what it takes
# A page may be open to strangers, and a folder is the owner's: off unless the owner says so.
FOLDERS_ALLOWED = HOST.folders

# What a run takes beside what its capture keeps, measured on texts of 1,000 and 8,000 tokens: half
# as much again, a mask of the whole text, and what a page draws from it.
_MASK_BYTES = 6
_PAGE_BYTES = 64 * 2**20
_FILE_BYTES = 192 * 2**20
_FEW = 128  # tokens up to which a number a pair is nothing to speak of

"""Takes how many steps are done, and of how many."""

_PAIRS: "WeakKeyDictionary[LoadedModel, bool]" = WeakKeyDictionary()

log = logging.getLogger("attnviz.dashboard")


@dataclass(frozen=True)
class Ask:
    """What one capture is asked for: the name of the model, the text, how it is tokenised, to how
    many tokens it is cut (0: not at all), and what the decoder of an encoder-decoder reads (empty:
    the model writes it). special: the tokenizer adds its own marks; plain: marks typed in the text
    are read as text. How many tokens the page takes is no part of what is asked for."""

    model: str
    text: str
    special: bool = True
    cut_to: int = 0
    target: str = ""
    plain: bool = False
    limit: int = field(default=MAX_TOKENS, compare=False)

    @property
    def tokenizing(self) -> dict[str, Any]:
        """How the text is tokenised, for the library's calls."""
        return {"add_special_tokens": self.special, "split_special_tokens": self.plain}


def load_model(name: str, tell: Tell) -> "LoadedModel":
    """Load a model now, uncached."""
    import attnviz

    check_model(name)
    return attnviz.load(
        name,
        progress=tell,
        allow_folders=FOLDERS_ALLOWED,
        max_parameters=HOST.max_parameters,
        admit=_admit_model,
        make_room=_make_room,
    )


def _make_room() -> None:
    heap.freeze_garbage()
    store().models.make_room()


def check_model(name: str) -> None:
    """Raise what is wrong with a model's name, or ModelRefused where it may not be loaded here."""
    if find_source(name, allow_folders=FOLDERS_ALLOWED).folder is None and not HOST.allows(name):
        raise ModelRefused(
            what="This server does not load this model.",
            why="It is open to everybody, and loads the models on its list only.",
            todo="Choose one of the list, or run attnviz on a machine of your own.",
        )


def run_model(model: "LoadedModel", ask: Ask) -> "Capture":
    """One forward pass now, uncached."""
    import attnviz

    text = cut_text(model, ask) if ask.cut_to else ask.text
    target = ask.target if model.info.kind == "encoder-decoder" else ""
    return attnviz.capture(model, text, target=target or None, **ask.tokenizing)


@st.cache_resource(show_spinner=False)
def store() -> Store:
    """The one store of this process."""
    # A head is a small product: on a few busy cores, the threads that numpy's BLAS would share it
    # among wait for one another several times longer than one takes.
    threadpool_limits(1, user_api="blas")
    heap.keep_small()
    # The two calls are looked up at call time, so that a test can put its own in their place.
    return Store(
        lambda name, tell: load_model(name, tell),
        lambda model, ask: run_model(model, ask),
        max_models=HOST.max_models,
        max_bytes=HOST.max_capture_bytes,
        size=lambda model, ask: _sizes(model, ask)[0],
        admit=_admit_run,
    )


def _sizes(model: "LoadedModel", ask: Ask) -> tuple[int, int]:
    """Bytes that room is made for among what is held, and that the run takes while it lasts: what
    it keeps, a mask of the text, and more that is gone by the end."""
    try:
        taken = estimate_cost(model, ask)
        pairs = taken.matrix_bytes if taken.tokens > _FEW and _keeps_pairs(model) else 0
    except (AttnvizError, AttributeError, NotImplementedError):
        return 0, 0  # an odd config; the capture itself says what is wrong, if anything is
    kept = taken.bytes + pairs
    mask = _MASK_BYTES * taken.tokens**2
    return kept + mask, int(1.5 * kept) + mask + _PAGE_BYTES


def _admit_run(model: "LoadedModel", ask: Ask, freed: int) -> None:
    """Raise TooLarge where a run does not fit into the memory of a host, even if so many bytes
    more were free."""
    now = memory.read_memory(HOST.memory) if HOST.hosted else None
    if now is not None:
        # The system takes the model's file out of memory where room is short, and reads it again
        # as the run goes through it; with less than this at once, it would do nothing else.
        needed = _sizes(model, ask)[1] + min(now.files, _FILE_BYTES)
        memory.check_fits("for this run", needed, now, freed)


def _admit_model(needed: int) -> None:
    """Raise TooLarge where a model does not fit, even if all that is held makes way for it."""
    now = memory.read_memory(HOST.memory) if HOST.hosted else None
    if now is not None:
        held = sum(p.nbytes for model in store().models.making_way() for p in model.hf.parameters())
        memory.check_fits("for this model", needed, now, held + store().nbytes)


def reader() -> str | None:
    """Who asks: the session that this thread runs a page for. Lets go of what is the reader's
    alone once the reader has left a host; the owner of a machine may come back."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not HOST.hosted:
        return None
    return _presence(context.session_id)


@st.cache_resource(show_spinner=False)
def files() -> Files:
    """The files that download buttons made in this process."""
    return Files(let_go, HOST.max_file_bytes)


def _leave(session: str) -> None:
    store().leave(session)
    files().leave(session)


@st.cache_resource(scope="session", show_spinner=False, on_release=_leave)
def _presence(session: str) -> str:
    store().results.welcome(session)
    return session


def estimate_cost(model: "LoadedModel", ask: Ask) -> "Estimate":
    """What the capture asked for will take."""
    count = len(_token_ids(model, ask, ask.text))
    return estimate(model, tokens=max(1, min(count, ask.cut_to or ask.limit)))


def get_capture(ask: Ask, tell: Tell) -> "Capture":
    """The capture asked for, from the store or made now.

    Raises TooLarge before anything runs where the text is over the limit, and whatever loading
    and capturing raise.
    """
    check_characters(ask.text)
    here = store().held(ask.model, ask, reader())
    if here is not None and _length(here) <= min(ask.limit, MAX_TOKENS):
        return here  # without a look at the model, which may have made way for another
    model = store().model(ask.model, tell)
    check_tokens(model, ask)
    if here is None and _is_long(model, ask):
        taken = estimate_cost(model, ask)
        if taken.seconds > SLOW:
            words = f"{taken.tokens:,} tokens, about {taken.seconds:.0f} seconds"
            tell(f"Running the model on {words}, {taken.bytes / 1e6:,.0f} MB", 0.0)
    del model  # whoever waits in line keeps no model alive
    return store().capture(ask.model, ask, tell, reader())


def _length(capture: "Capture") -> int:
    """Tokens of its longest side."""
    return max((len(side) for side in capture.tokens.values()), default=0)


def get_comparison(ask: Ask, name: Hashable, make: "Callable[[], RowDistances]") -> "RowDistances":
    """What is worked out from heads of this capture and of another, kept with this one."""
    return get_derived(ask, name, lambda cap: make())


def get_derived(ask: Ask, name: Hashable, make: "Callable[[Capture], Any]") -> Any:
    """What is worked out from a capture without another run of the model."""
    with waiting.line() as tell:
        return store().extra(ask.model, ask, name, make, tell, reader())


def get_experiment(
    ask: Ask, name: Hashable, make: "Callable[[LoadedModel, Capture], Any]", tell: Tell
) -> Any:
    """What some runs of the model on a captured text came to: made in turn with other readers'
    runs, and kept under the ask and a name, which holds every option of it."""
    if not has_experiment(ask, name):
        get_capture(ask, tell)
    with waiting.line(tell) as told:
        return store().result(ask.model, ask, name, make, told, reader())


def has_experiment(ask: Ask, name: Hashable) -> bool:
    return store().has_result(ask.model, ask, name)


def get_overview(
    ask: Ask, stack: str, layer: int, head: int, tell: "Callable[[float], None]"
) -> "Overview":
    """One head from afar, worked out once a capture."""
    return get_derived(
        ask,
        ("overview", stack, layer, head),
        lambda cap: look(cap.head(layer=layer, head=head, stack=stack), tell=tell),
    )


def get_head(ask: Ask, stack: str, layer: int, head: int) -> "Head":
    """One head of the capture asked for."""
    with waiting.line() as tell:
        return get_capture(ask, tell).head(layer=layer, head=head, stack=stack)


def check_characters(text: str) -> None:
    if len(text) > MAX_CHARACTERS:
        raise TooLarge(
            what=f"The text has {len(text):,} characters.",
            why=f"This page takes {MAX_CHARACTERS:,}.",
            todo="Give a shorter piece of it.",
        )


def _is_long(model: "LoadedModel", ask: Ask) -> bool:
    return len(_token_ids(model, ask, ask.text)) > MAX_TOKENS


class TooManyTokens(TooLarge):
    """A text of more tokens than the limit. `count` and `limit` say how many and how far over."""

    def __init__(self, count: int, limit: int, why: str) -> None:
        self.count, self.limit = count, limit
        super().__init__(
            what=f"The text has {count:,} tokens, and {limit:,} can be shown.",
            why=why,
            todo=f"Cut it to the first {limit:,} tokens, or give a shorter text.",
        )


def check_tokens(model: "LoadedModel", ask: Ask) -> None:
    """Raise TooManyTokens where the text is over the limit, unless it is to be cut."""
    count = len(_token_ids(model, ask, ask.text))
    limit, why = token_limit(model, ask.limit if count > MAX_TOKENS else min(ask.limit, MAX_TOKENS))
    if count > limit and not ask.cut_to:
        raise TooManyTokens(count, limit, why)


def token_limit(model: "LoadedModel", limit: int) -> tuple[int, str]:
    """How many tokens a text may have on a page of that limit, and why."""
    own = model.info.max_positions if model.info.hard_positions else None
    if own is not None and own < limit:
        return own, f"This model has places for {own:,} tokens and cannot run on more."
    if limit > MAX_TOKENS and _keeps_pairs(model):
        why = "What this model's layers add to the scores grows with the square of the text."
        return MAX_TOKENS, why
    return limit, "Up to there, this page stays quick."


def _keeps_pairs(model: "LoadedModel") -> bool:
    """Whether a capture of this model holds a number for each query and key, as position biases
    and watched scores are; found out on a few tokens."""
    import attnviz

    if model not in _PAIRS:
        few = attnviz.capture(model, input_ids=list(range(3)))
        _PAIRS[model] = any(block.biases or block.given for block in few.blocks)
    return _PAIRS[model]


def count_left_out(ask: Ask) -> int:
    """How many tokens of the text the cut leaves out."""
    model = store().model(ask.model, ignore_progress)
    kept = len(_token_ids(model, ask, cut_text(model, ask)))
    return len(_token_ids(model, ask, ask.text)) - kept


def cut_text(model: "LoadedModel", ask: Ask) -> str:
    """The longest beginning of the text that stays within the limit when tokenised by itself."""
    limit, _ = token_limit(model, ask.cut_to)
    return shorten_text(model.tokenizer, ask.text, limit, **ask.tokenizing)


def _token_ids(model: "LoadedModel", ask: Ask, text: str) -> list[int]:
    return tokenize(model.tokenizer, text, **ask.tokenizing).ids
