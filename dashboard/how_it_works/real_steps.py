"""The four steps in the chosen model: real tokens, real numbers, beside the invented ones."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.charts.describe_steps import describe_four_steps
from attnviz.charts.four_steps import four_steps
from attnviz.experiments.invented_head import follow_keys
from attnviz.models.catalog import CATALOG
from dashboard.how_it_works import views
from dashboard.how_it_works.toy import CANDIDATES, Toy
from dashboard.how_it_works.worked_example import FOCUS, SENTENCE, WORDS, worked
from dashboard.session import backend, page_capture, state
from dashboard.session.chart_picks import chart_key
from dashboard.session.selection import Selection, SettledSelection, settle_selection
from dashboard.widgets import export_panel, sidebar, text_place

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.capture import Capture
    from attnviz.heads.head import Head
    from attnviz.tokens import Token

_TEXTS = {"own": "The text in the sidebar", "example": "The sentence of the example"}
_KEYS = ("First key", "Second key", "Third key")
_ALL = -1


def draw(selection: Selection, toy: Toy) -> None:
    """Controls, diagram and numbers where the model is here or asked for; else an offer."""
    st.header("The same in a real model", anchor=False)
    if not _wanted(selection):
        _offer(selection)
        return
    text = st.segmented_control(
        "Text",
        list(_TEXTS),
        format_func=_TEXTS.__getitem__,
        default="own",
        key="real_text",
        required=True,
        on_change=state.touch,
        help="Your text and row, or the sentence that was told in words above.",
    )
    asked = selection if text == "own" else replace(selection, text=SENTENCE, cut=False)
    capture = page_capture.show_capture(asked)
    if capture is None:
        return
    if text == "own":
        settled = state.settle(capture)
        sidebar.draw_head_controls(settled, capture)
        if taken := page_capture.describe_beginning(settled, capture):
            st.text(taken)
        _four_steps(settled, capture, toy, toy.depth)
    else:
        st.text(f"The text: {SENTENCE}")
        example, _ = settle_selection(replace(asked, query=None), capture)
        _four_steps(example, capture, None, toy.depth)


def _wanted(selection: Selection) -> bool:
    """A model that is here is used; another waits for a click."""
    return backend.store().models.holds(selection.model) or st.session_state.get("real_asked") == (
        selection.model
    )


def _offer(selection: Selection) -> None:
    entry = CATALOG.get(selection.model)
    st.markdown(
        "Three tokens of your own text, with the scores, weights and values that the model in the "
        "sidebar gives them. It is not loaded yet."
    )
    cost = page_capture.describe_cost(selection.model)
    label = f"Run {entry.title}" if entry else "Run the model in the sidebar"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(label, key="real_run", on_click=_ask, args=(selection.model,))
        if cost:
            st.text(f"{cost} to fetch the first time, then a few seconds.")


def _ask(model: str) -> None:
    st.session_state["real_asked"] = model
    state.agree_to_model(model)


def _four_steps(
    selection: SettledSelection, capture: "Capture", toy: Toy | None, depth: str
) -> None:
    """The diagram of one row. With a toy, the reader chooses row and keys; without, the words of
    the example are looked up."""
    head = capture.head(layer=selection.layer, head=selection.head, stack=selection.stack)
    st.text(text_place.describe_place(selection, capture))
    if depth == "technical":
        st.text(text_place.list_facts(selection, capture))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        if toy is not None:
            row, keys = _choose(selection, capture, head)
        else:
            found = example_places(head)
            if found is None:
                st.text("This model cuts the sentence in a way that leaves no token for each word.")
                return
            row, keys = found
        names = text_place.number_labels(head.key_tokens)
        lit = text_place.draw_choice(
            "Follow",
            [_ALL, *range(len(keys))],
            "real_follow",
            _ALL,
            words=lambda lane: "All" if lane == _ALL else names[keys[lane]],
            help="Lights the path of one token, as pointing at it does.",
            width=128,
        )
    _picture(head, row, keys, lit)
    shown = (page_capture.make_ask(selection), selection, row, keys, None if lit == _ALL else lit)
    export_panel.draw_export("real", views.real_steps, shown)
    st.text(_rest(head, row, keys))
    _side_by_side(head, row, keys, toy)


def _choose(selection: SettledSelection, capture: "Capture", head: "Head") -> tuple[int, list[int]]:
    """The row that is read and the keys that are followed; at first those of most weight."""
    row = selection.query
    with st.container(width=230):
        text_place.draw_query_picker(selection, capture)
    where = (selection.model, selection.text, selection.stack, selection.layer, selection.head, row)
    first = heaviest(head, row)
    if st.session_state.get("real_where") != where:
        st.session_state["real_where"] = where
        for number, key in enumerate(first):
            st.session_state[f"real_key_{number}"] = key
    return row, sorted(_key(number, first, head) for number in range(len(first)))


def _key(number: int, first: list[int], head: "Head") -> int:
    """The picker of one key; what the other pickers hold is not offered."""
    names = text_place.number_labels(head.key_tokens)
    held = [st.session_state.get(f"real_key_{n}", key) for n, key in enumerate(first)]
    others = {key for n, key in enumerate(held) if n != number}
    return text_place.draw_choice(
        _KEYS[number],
        [key for key in range(len(names)) if key not in others],
        f"real_key_{number}",
        held[number],
        words=names.__getitem__,
        help="A token whose key is compared. At first, those of most weight in this row.",
        width=128,
    )


def heaviest(head: "Head", row: int) -> list[int]:
    """The three keys of most weight, in text order."""
    return sorted(np.argsort(-head.weights[row], kind="stable")[: len(_KEYS)].tolist())


def example_places(head: "Head") -> tuple[int, list[int]] | None:
    """Where the example's words are in a text that holds its sentence: row, keys. Of a word in
    several tokens, the last one. None where a word has no token of its own."""
    ends = []
    for word in (FOCUS, *WORDS):
        start = f" {SENTENCE} ".index(f" {word} ")
        ends.append(start + len(word))
    row = _token_ending(head.query_tokens, ends[0])
    keys = [_token_ending(head.key_tokens, end) for end in ends[1:]]
    if row is None or None in keys or len({row, *keys}) < 4:
        return None
    return row, [key for key in keys if key is not None]


def _token_ending(tokens: "Sequence[Token]", end: int) -> int | None:
    """The token that holds the character before `end`."""
    for token in tokens:
        if token.start is not None and token.end is not None and token.start < end <= token.end:
            return int(token.position)
    return None


def _picture(head: "Head", row: int, keys: list[int], lit: int) -> None:
    name = f"real_chart_{row}_{'_'.join(map(str, keys))}"
    key = chart_key(name, "pick", lane=None if lit == _ALL else lit)

    def on_pick() -> None:
        picked = st.session_state[key]["selection"].get("pick")
        if picked and int(picked[0]["lane"]) < len(keys):
            st.session_state["real_follow"] = int(picked[0]["lane"])
        state.touch()

    finding, *steps = describe_four_steps(head, query=row, keys=keys)
    st.altair_chart(
        four_steps(head, query=row, keys=keys, lit=None if lit == _ALL else lit),
        key=key,
        on_select=on_pick,
        selection_mode="pick",
        alt=finding,
    )
    with st.expander("The diagram in words", key="real_words", on_change=state.touch):
        for line in (finding, *steps):
            st.text(line)


def _rest(head: "Head", row: int, keys: list[int]) -> str:
    """What is not in the picture."""
    taken = float(head.weights[row, keys].sum())
    seen = int(head.allowed[row].sum())
    numbers = len(head.output[row])
    text = (
        f"Softmax ran over all {seen} tokens this row may look at; the ones followed hold "
        f"{taken:.2f} of it. Vectors have {numbers} numbers here and are drawn as strips."
    )
    if head.sink[row] > 0:
        text += f" The sink takes {float(head.sink[row]):.2f}."
    return text


def _side_by_side(head: "Head", row: int, keys: list[int], toy: Toy | None) -> None:
    """The numbers of the invented row and of the real one, a line a token."""
    invented = worked() if toy is None else toy.head()
    words = range(len(WORDS if toy is None else CANDIDATES))
    st.dataframe(
        side_by_side(follow_keys(invented, 0, words), follow_keys(head, row, keys)),
        hide_index=True,
        key="real_table",
        placeholder="",
        column_config={
            name: st.column_config.NumberColumn(format="%.3g")
            for name in ("Invented score", "Invented weight", "Real score", "Real weight")
        },
        alt="The scores and weights of the invented row beside those of the real one",
    )


def side_by_side(invented: pd.DataFrame, real: pd.DataFrame) -> pd.DataFrame:
    """A line for each pair of tokens; where there are fewer real ones, the rest is blank."""
    sides = {"Invented": invented, "Real": real.reindex(invented.index)}
    columns = {
        f"{side} {name.lower()}": table[name]
        for side, table in sides.items()
        for name in ("Token", "Score", "Weight")
    }
    return pd.DataFrame(columns).fillna({"Real token": ""})
