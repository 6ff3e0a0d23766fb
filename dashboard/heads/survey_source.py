"""A survey as one more source of numbers on the page of heads: chosen, opened, its examples."""

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.errors import BadInput
from attnviz.survey import open_survey
from attnviz.survey.shipped import is_shipped, shipped
from dashboard.session import backend, notices, state
from dashboard.session.selection import SHIPPED_SURVEY, SettledSelection

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.survey import Survey

_COLUMNS = {
    "query_token": "From (query)",
    "key_token": "To (key)",
    "weight": "Weight",
    "contribution": "Norm through W_O",
    "excerpt": "Text around them",
    "name": "Text",
}

_TITLES = {"": "This text", SHIPPED_SURVEY: "Survey of texts made by rule"}


def choose(selection: SettledSelection, capture: "Capture") -> None:
    """Whose numbers are shown: this text's, or those of a survey of the model."""
    known = [SHIPPED_SURVEY] if is_shipped(capture.info.name) else []
    if not known and not backend.FOLDERS_ALLOWED:
        return
    options = ["", *known]
    if selection.survey not in options:
        options.append(selection.survey)
    key = state.set_widget("heads_survey", selection.survey)
    more = " Or type the folder of a survey." if backend.FOLDERS_ALLOWED else ""
    st.selectbox(
        "Numbers from",
        options,
        format_func=lambda name: _TITLES.get(name, name),
        key=key,
        accept_new_options=backend.FOLDERS_ALLOWED,
        help="This text alone, or the mean over a corpus of texts that was surveyed before." + more,
        on_change=state.make_callback("survey", key),
        width=230,
    )


def opened(selection: SettledSelection, capture: "Capture") -> "Survey | None":
    """The survey that is chosen; None where none is, or, with a message, where it cannot be had."""
    if not selection.survey:
        return None
    with notices.guard():
        found = _open(selection.survey, capture)
        _check(found, selection, capture)
        return found
    return None


def _open(name: str, capture: "Capture") -> "Survey":
    if name == SHIPPED_SURVEY:
        found = shipped(capture.info.name)
        if found is not None:
            return found
        raise BadInput(
            what="There is no such survey of this model.",
            why="It comes with the default model only.",
            todo="Choose this text under Numbers from.",
        )
    if not backend.FOLDERS_ALLOWED:
        raise BadInput(
            what="A survey folder cannot be opened here.",
            why="This server opens no folders.",
            todo="Start the dashboard on your own machine, or choose this text.",
        )
    return open_survey(Path(name).expanduser())


def _check(found: "Survey", selection: SettledSelection, capture: "Capture") -> None:
    made, info = found.provenance, capture.info
    if (made.get("model"), made.get("revision")) != (info.name, info.revision):
        raise BadInput(
            what="This survey is of another model.",
            why=f"It is of {made.get('model')} {made.get('revision')}; the page shows {info.name} "
            f"{info.revision}.",
            todo="Choose that model, or this text under Numbers from.",
        )
    if selection.stack not in found.stacks:
        raise BadInput(
            what=f"This survey has nothing of the {selection.stack}.",
            why=f"It has {', '.join(found.stacks) or 'no text that counted'}.",
            todo="Choose another stack, or this text under Numbers from.",
        )


def examples(found: "Survey", selection: SettledSelection) -> None:
    """The cells of the chosen head that add most, over all texts of the survey."""
    layer, head = selection.layer, selection.head
    rows = found.examples_of(layer, head, selection.stack)
    st.header(f"Where layer {layer}, head {head} adds most", anchor=False)
    st.text(
        f"Of {found.texts:,} texts, one cell each: the key that adds the longest vector to the "
        "residual stream. Rows of one key do not count."
    )
    if rows.empty:
        st.text("None: what a key adds is out of reach in this model.")
        return
    st.dataframe(
        rows[list(_COLUMNS)].rename(columns=_COLUMNS),
        hide_index=True,
        key=f"heads_examples_{layer}_{head}",
        placeholder="",
        column_config={
            "Weight": st.column_config.NumberColumn(format="%.3f"),
            "Norm through W_O": st.column_config.NumberColumn(format="%.3g"),
        },
        alt=f"The {len(rows)} best examples of layer {layer}, head {head}, with their texts.",
    )
