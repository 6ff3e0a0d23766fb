"""The experiment of this session, in its own part of the address."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard.session import state
from dashboard.session.page_link import PageLink
from dashboard.what_if import experiment
from dashboard.what_if.experiment import Experiment

_link = PageLink(
    Experiment, lambda: experiment.FIELDS, experiment.write_experiment, drawn="if_change"
)
current, ignored, refuse, publish = _link.current, _link.ignored, _link.refuse, _link.publish


def widget(name: str, value: Any, labels: Sequence[str] = ()) -> dict[str, Any]:
    """What a widget needs to show a choice and to change it: key and callback."""
    key = state.set_widget(f"if_{name}", value, labels)

    def on_change() -> None:
        chosen = st.session_state[key]
        rounded = round(chosen, experiment.DIGITS) if isinstance(chosen, float) else chosen
        _link.change(**{name: rounded})

    return {"key": key, "on_change": on_change}
