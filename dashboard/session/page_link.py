"""What one page lets its reader choose beside the selection, and its travels to the address bar
and back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import streamlit as st

from dashboard.session import state
from dashboard.session.link_fields import Field, Ignored, read_fields, usable_values

Choices = TypeVar("Choices")


@dataclass
class _Session(Generic[Choices]):
    choices: Choices
    address: dict[str, list[str]]  # our part of the address, as last read or written
    ignored: list[Ignored] = field(default_factory=list)
    touched: bool = False  # changed by hand since the address was last written
    from_link: bool = True  # nothing was changed by hand since the link was read


class PageLink(Generic[Choices]):
    """The choices of this session, a frozen dataclass, under names of their own in the address.

    Args:
        kind: the dataclass; without arguments, all of it at its default.
        fields: gives the fields of our names in an address.
        write: from choices to names and values of an address.
        drawn: the key of a widget of the page: gone from the session once another page has run.
    """

    def __init__(
        self,
        kind: Callable[..., Choices],
        fields: Callable[[], Mapping[str, Field]],
        write: Callable[[Choices], Mapping[str, str]],
        *,
        drawn: str,
    ) -> None:
        self._kind, self._fields, self._write, self._drawn = kind, fields, write, drawn

    def current(self) -> Choices:
        """What the reader has chosen; for the page, not for callbacks.

        As with the selection, an address that changed counts, unless a click came in before the
        browser had the newest one. Coming from another page, an empty address is no wish to start
        anew.
        """
        session, address = self._session(), self._address()
        arriving = self._drawn not in st.session_state and not address
        if not session.touched and not arriving and address != session.address:
            session.choices, session.ignored = self._read(address)
            session.address, session.from_link = address, True
        return session.choices

    @property
    def chosen(self) -> Choices:
        """The choices as they are, whatever the address says; for callbacks."""
        return self._session().choices

    def ignored(self) -> list[Ignored]:
        """What the link asked for in vain. Empty again after the reader's first change."""
        return self._session().ignored if state.from_link() else []

    def change(self, **fields: Any) -> None:
        """Change a choice by hand; for callbacks. A value that no link could give is left out."""
        session = self._session()
        usable = usable_values(fields, self._fields(), self._kind())
        session.choices = replace(session.choices, **usable)  # type: ignore[type-var]
        session.ignored, session.touched, session.from_link = [], True, False
        state.touch()

    def refuse(self, name: str, default: Any, why: str) -> None:
        """Put one choice that cannot be had at its default, with a notice if a link asked."""
        session = self._session()
        session.choices = replace(session.choices, **{name: default})  # type: ignore[type-var]
        if session.from_link and state.from_link():
            session.ignored = [*session.ignored, Ignored(name, why)]

    def publish(self) -> None:
        """Write the choices into the address; names that are not ours stay as they are."""
        session = self._session()
        target = {name: [value] for name, value in self._write(session.choices).items()}
        if target != self._address():
            others = {k: st.query_params.get_all(k) for k in st.query_params}
            ours = {k: v for k, v in others.items() if k not in self._fields()} | target
            st.query_params.from_dict(ours)
        session.address, session.touched = target, False

    def _session(self) -> _Session[Choices]:
        key = f"attnviz.{self._drawn}"
        if key not in st.session_state:
            address = self._address()
            choices, ignored = self._read(address)
            st.session_state[key] = _Session(choices, address, ignored)
        found: _Session[Choices] = st.session_state[key]
        return found

    def _read(self, address: Mapping[str, Sequence[str]]) -> tuple[Choices, list[Ignored]]:
        found, ignored = read_fields(address, self._fields())
        return self._kind(**found), ignored

    def _address(self) -> dict[str, list[str]]:
        return {n: st.query_params.get_all(n) for n in self._fields() if n in st.query_params}
