"""The reader's selection in this session, and its travels to the address bar and back.

One way in and one way out: widgets show the selection and change it in their callbacks, and the
address is written from it at the end of a run. `bind="query-params"` is not used, because it
falls back without a word on a bad value, cannot hold the text that ran apart from the one being
typed, and puts a token's label where a position belongs.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from attnviz.models.catalog import CATALOG
from dashboard.session import backend
from dashboard.session.link_fields import Ignored, usable_values
from dashboard.session.selection import (
    FIELDS,
    NAMES,
    Selection,
    SettledSelection,
    Shape,
    default_selection,
    read_selection,
    settle_selection,
    write_selection,
)

_KEY = "attnviz.session"
_LONG = 8  # long texts that are remembered
_Text = tuple[str, str, bool, bool]  # a model, a text, and how it is tokenised


@dataclass
class _Session:
    selection: Selection
    address: dict[str, list[str]]  # our part of the address, as last read or written
    bare: Selection = Selection()  # what an address without our names stands for
    ignored: list[Ignored] = field(default_factory=list)
    from_link: bool = True  # nothing was changed by hand since the link was read
    fitted: SettledSelection | None = None  # the selection as last drawn
    page: str | None = None  # the page of the last run
    turned: bool = False  # this run shows another page than the one before
    touched: bool = False  # a widget was used since the address was last written
    agreed: set[str] = field(default_factory=set)  # models asked for by hand in this session
    stopped: set[str] = field(default_factory=set)  # models whose load the reader stopped
    # texts over the limit of a page, as a model cuts them, with how many tokens they have
    long: OrderedDict[_Text, int] = field(default_factory=OrderedDict)


def _session() -> _Session:
    if _KEY not in st.session_state:
        st.session_state[_KEY] = session = _Session(Selection(), {})
        _read_link(session, _address())
    return st.session_state[_KEY]


def _address() -> dict[str, list[str]]:
    return {name: st.query_params.get_all(name) for name in NAMES if name in st.query_params}


def _read_link(session: _Session, address: dict[str, list[str]]) -> None:
    session.selection, session.ignored = session.bare, []
    if address:
        session.selection, session.ignored = read_selection(
            address,
            max_characters=backend.MAX_CHARACTERS,
            folders=backend.FOLDERS_ALLOWED,
            allows=backend.HOST.allows,
        )
    session.address, session.from_link = address, True


def enter_page(page: str) -> None:
    """Say which page is run. A click in the menu drops our names from the address, and that is
    no wish to start anew: the selection comes along."""
    session = _session()
    session.turned = session.page not in (None, page)
    if session.turned and not _address():
        session.touched, session.bare = True, session.selection
    session.page = page


def current_page() -> str | None:
    """The page that is run, by its address."""
    return _session().page


def just_turned() -> bool:
    """Whether this run shows another page than the last one. Its widgets are new ones then, even
    under the same keys, and start at their defaults unless they are told."""
    return _session().turned


def current_selection() -> Selection:
    """What this session's reader has chosen; for pages, not for callbacks.

    The address differs from the one last written in two cases: the reader went back or forward,
    and then the address counts; or a click came in before the browser had the newest address,
    and then the click counts. A click leaves `touched` behind.
    """
    session = _session()
    if not session.touched and _address() != session.address:
        _read_link(session, _address())
    return session.selection


def list_ignored() -> list[Ignored]:
    """What the link asked for in vain. Empty again after the reader's first change."""
    return _session().ignored


def from_link() -> bool:
    """Whether the selection is still the one that the address asked for."""
    return _session().from_link


def count_long_text(selection: Selection) -> int:
    """How many tokens a text has of which this page takes the beginning; 0 where it takes all, or
    where nobody has counted yet."""
    if (current_page() or "") in backend.LONGEST:
        return 0
    return _session().long.get(_text(selection), 0)


def take_beginning(selection: Selection, count: int) -> None:
    """Remember that a text has so many tokens, more than a page takes."""
    long = _session().long
    long[_text(selection)] = count
    while len(long) > _LONG:
        long.popitem(last=False)


def _text(selection: Selection) -> _Text:
    return selection.model, selection.text, selection.special, selection.plain


def settle(shape: Shape) -> SettledSelection:
    """The selection with every open or impossible choice filled in from what the capture has.

    On a page that takes the beginning of a text, a row beyond it gives way for this page only.
    """
    session = _session()
    fitted, missing = settle_selection(session.selection, shape)
    if count_long_text(session.selection):
        missing = [item for item in missing if item.name not in ("query", "near")]
    if missing:
        drop: dict[str, Any] = {item.name: None for item in missing}
        session.selection = replace(session.selection, **drop)
        if session.from_link:
            session.ignored = [*session.ignored, *missing]
    session.fitted = fitted
    return fitted


def drawn_selection() -> SettledSelection:
    """The selection as it was last drawn, every open choice filled in."""
    session = _session()
    assert session.fitted is not None, "nothing was drawn yet"
    return session.fitted


def refuse(fitted: SettledSelection, name: str, why: str) -> SettledSelection:
    """Put one choice that cannot be had at its default, with a notice if a link asked for it."""
    session = _session()
    default = {name: getattr(Selection(), name)}
    session.selection = replace(session.selection, **default)
    session.fitted = replace(fitted, **default)
    if session.from_link:
        session.ignored = [*session.ignored, Ignored(name, why)]
    return session.fitted


def change(**fields: Any) -> None:
    """Change the selection by hand; for callbacks. A value that no link could give, such as the
    label of an option that is gone, is left out."""
    session = _session()
    session.selection = replace(session.selection, **usable_values(fields, FIELDS, Selection()))
    session.ignored, session.from_link, session.touched = [], False, True


def step(name: str, options: Sequence[int], by: int) -> None:
    """Go some steps along the options from where the selection is now.

    From where it is, not from where it was when the button was drawn: a second click may come
    before the page has followed the first.
    """
    session = _session()
    value = getattr(session.selection, name)
    if value not in options and session.fitted is not None:
        value = getattr(session.fitted, name)
    place = options.index(value) if value in options else 0
    change(**{name: options[min(max(place + by, 0), len(options) - 1)]})


def touch() -> None:
    """A callback for widgets that change nothing of the selection, such as an expander."""
    _session().touched = True


def change_model(name: str) -> None:
    """Go to another model, at its own default place. The reader's text is kept; a default text
    gives way to the default text of a model that has one."""
    before = _session().selection
    fresh = default_selection(name)
    if name not in CATALOG or before.text != default_selection(before.model).text:
        fresh = replace(fresh, text=before.text)
    agree_to_model(name)
    change(**{name: getattr(fresh, name) for name in ("model", "text", "stack", "layer", "head")})
    change(query=None, near=None, stage="softmax", cut=False, target="", layers=None)


def change_text(text: str) -> None:
    """Another text for the same head; the row starts at its default again."""
    change(text=text, query=None, near=None, cut=False, target="")


def agree_to_model(name: str) -> None:
    """The reader asked for this model by hand."""
    session = _session()
    session.agreed.add(name)
    session.stopped.discard(name)
    session.touched = True


def stop(name: str) -> None:
    """The reader stopped this model's load."""
    session = _session()
    session.stopped.add(name)
    session.touched = True


def was_stopped(name: str) -> bool:
    return name in _session().stopped


def has_agreed(name: str) -> bool:
    return name in _session().agreed


def publish() -> None:
    """Write the selection into the address; names that are not ours stay as they are."""
    session = _session()
    target = {name: [value] for name, value in _write(session).items()}
    if target != _address():
        others = {k: st.query_params.get_all(k) for k in st.query_params if k not in NAMES}
        st.query_params.from_dict(others | target)
    session.address, session.touched = target, False


def _write(session: _Session) -> dict[str, str]:
    drawn, chosen = session.fitted, session.selection
    if drawn is None or (drawn.model, drawn.text) != (chosen.model, chosen.text):
        return write_selection(chosen)
    return write_selection(chosen, replace(drawn, query=_query(chosen, drawn)))


def _query(chosen: Selection, drawn: SettledSelection) -> int:
    """The row that was chosen, which may lie beyond what a page takes of the text."""
    return drawn.query if chosen.query is None else chosen.query


def write_in_full() -> dict[str, str]:
    """The selection as names and values of an address, spelt out even where all is at its
    default: for what is kept, while defaults may change."""
    session = _session()
    chosen, drawn = session.selection, session.fitted
    if drawn is not None and (drawn.model, drawn.text) == (chosen.model, chosen.text):
        query = _query(chosen, drawn)
        chosen = replace(chosen, layer=drawn.layer, head=drawn.head, query=query)
    return write_selection(chosen)


def link() -> str:
    """The full address of what is shown."""
    query = urlencode(_write(_session()))
    base = (st.context.url or "").rstrip("/") + "/"
    return base + (f"?{query}" if query else "")


def set_widget(key: str, value: Any, labels: Sequence[str] = ()) -> str:
    """Let the widget of that key show this value, and return the key.

    Assigned only where it differs, so that a value being typed is not sent back to the browser;
    and where the labels of its options are others than before: the browser holds the label that
    was chosen, and would go on showing it where the same number now stands for another token.
    """
    made_of, own = f"{key}.labels", hash(tuple(labels))
    if (
        just_turned()
        or key not in st.session_state
        or st.session_state[key] != value
        or st.session_state.get(made_of, own) != own
    ):
        st.session_state[key] = value
    if labels:
        st.session_state[made_of] = own
    return key


def make_callback(name: str, key: str) -> Callable[[], None]:
    """A callback that puts the widget's value into the selection."""

    def on_change() -> None:
        change(**{name: st.session_state[key]})

    return on_change
