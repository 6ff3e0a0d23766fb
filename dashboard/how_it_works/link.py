"""The invented head of this session, in its own part of the address."""

import streamlit as st

from dashboard.how_it_works import toy
from dashboard.how_it_works.toy import Toy
from dashboard.session.page_link import PageLink

_link = PageLink(Toy, lambda: toy.FIELDS, toy.write_toy, drawn="toy_depth")
current, ignored, change, publish = _link.current, _link.ignored, _link.change, _link.publish


def set_score(place: int, key: str) -> None:
    """A callback: the widget's value becomes the score of a candidate."""
    scores = list(_link.chosen.scores)
    scores[place] = round(st.session_state[key], 1)
    change(scores=tuple(scores))


def set_mask(place: int, key: str) -> None:
    """A callback: the widget says whether a candidate is masked."""
    others = set(_link.chosen.masked) - {place}
    change(masked=tuple(sorted(others | {place} if st.session_state[key] else others)))


def set_number(name: str, key: str) -> None:
    """A callback: the widget's value becomes the setting of that name."""
    value = st.session_state[key]
    change(**{name: round(value, 1) if isinstance(value, float) else value})


def start_again() -> None:
    """A callback: scores, temperature and masks as at the start; the depth stays."""
    change(**{**vars(Toy()), "depth": _link.chosen.depth})
