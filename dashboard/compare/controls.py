"""The controls of a comparison: what B is, and what of the two sides is drawn."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.charts.compared_panels import WHOLE, WINDOW
from attnviz.charts.scene import facing
from attnviz.errors import AttnvizError
from dashboard.compare import link
from dashboard.compare.other_side import SHOWN, Other
from dashboard.compare.sides import Side
from dashboard.session import backend, notices, state
from dashboard.session.selection import STACKS, WEIGHTS, SettledSelection
from dashboard.widgets import sidebar, text_place
from dashboard.widgets.choices import draw_switch
from dashboard.widgets.example_texts import EXAMPLES
from dashboard.widgets.stepper import draw_arrows, draw_stepper

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


def model_and_text(a: SettledSelection, other: Other) -> "DeltaGenerator":
    """The controls of B that need no model. Returns the place for those that do."""
    slot = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    with slot:
        _model(a, other)
        _text(a, other)
    if st.session_state.get("cmp_other_open"):
        _other_model(a)
    return slot


def _model(a: SettledSelection, other: Other) -> None:
    chosen = other.b_model or a.model
    options = sidebar.list_models(a.model, chosen)
    opened = st.session_state.get("cmp_other_open", False)
    key = state.set_widget("cmp_model", sidebar.OTHER if opened else chosen)

    def choose() -> None:
        name = st.session_state[key]
        st.session_state["cmp_other_open"] = name == sidebar.OTHER
        st.session_state["cmp_other_error"] = None
        if name == sidebar.OTHER:
            state.touch()
        else:
            link.choose_model(name, a)

    st.selectbox(
        "Model of B",
        options,
        format_func=sidebar.model_label,
        key=key,
        on_change=choose,
        width=160,
        help="Which model reads B. At first A's own.",
    )


def _other_model(a: SettledSelection) -> None:
    with st.form("cmp_other_model", border=False, width=360):
        st.text_input(
            f"{sidebar.model_label(sidebar.OTHER)} for B",
            key="cmp_other_name",
            placeholder="openai-community/gpt2",
        )
        st.text("Safetensors only; no code of the model's is run.")
        st.form_submit_button("Load for B", key="cmp_load", on_click=_load, args=(a,))
    if error := st.session_state.get("cmp_other_error"):
        notices.show_error(error)


def _load(a: SettledSelection) -> None:
    name = st.session_state["cmp_other_name"].strip()
    try:
        backend.check_model(name)
    except AttnvizError as error:
        st.session_state["cmp_other_error"] = error
        state.touch()
        return
    st.session_state["cmp_other_open"] = False
    link.choose_model(name, a)


def _text(a: SettledSelection, other: Other) -> None:
    with st.popover("Text of B", icon=":material/notes:", key="cmp_text_open"):
        text = a.text if other.b_text is None else other.b_text
        if state.just_turned() or st.session_state.get("cmp_text_shown") != text:
            st.session_state["cmp_text_shown"] = st.session_state["cmp_text"] = text

        def run() -> None:
            st.session_state["cmp_text_shown"] = st.session_state["cmp_text"]
            link.choose_text(st.session_state["cmp_text"], a)

        with st.form("cmp_text_form", border=False):
            st.text_area("Text of B", key="cmp_text", height=98, width=420)
            st.form_submit_button("Run B", key="cmp_run", on_click=run)
        with st.container(horizontal=True):
            st.menu_button(
                "Examples for B",
                list(EXAMPLES),
                key="cmp_example",
                on_click=lambda: link.choose_text(EXAMPLES[st.session_state["cmp_example"]], a),
            )
            st.button(
                "As A has it",
                key="cmp_same_text",
                disabled=other.b_text is None,
                on_click=link.choose_text,
                args=(a.text, a),
            )


def places(slot: "DeltaGenerator", a: Side, b: Side, other: Other) -> None:
    """The controls that walk through B's heads, and those that exchange the sides."""
    stack = b.selection.stack
    heads = list(range(b.outline.heads(b.at[0], stack)))
    with slot:
        if len(b.outline.stacks) > 1:
            _pick("Stack of B", "stack", b.outline.stacks, b, STACKS.__getitem__, width=170)
        _walk("Layer of B", "layer", b.outline.layers(stack), b)
        _walk("Head of B", "head", heads, b)
        st.button(
            "Swap A and B",
            key="cmp_swap",
            on_click=link.swap,
            args=(a.selection, b.selection),
            help="B becomes your selection, and A stands in its place.",
        )
        st.button(
            "Explore B",
            key="cmp_open",
            on_click=link.open_second,
            args=(b.selection,),
            help="B becomes your selection, and its scores, weights and contributions are shown.",
        )
        if other.chosen:
            st.button(
                "Choose B by measuring",
                key="cmp_measure",
                on_click=link.measure,
                help="B is again the head of A's model whose weights are nearest to A's.",
            )


def _pick(
    title: str,
    name: str,
    options: Sequence[Any],
    b: Side,
    words: Callable[[Any], str],
    *,
    width: int,
) -> None:
    labels = [words(option) for option in options]
    key = state.set_widget(f"cmp_b_{name}", getattr(b.selection, name), labels)
    # the rest of the place stays where the reader sees it, also where it was measured
    place_now = {f"b_{part}": getattr(b.selection, part) for part in ("layer", "head")}

    def choose() -> None:
        here = place_now
        if name == "stack":
            here = {"b_layer": None, "b_head": None}
        link.change(**here | {f"b_{name}": st.session_state[key]})

    st.selectbox(
        title,
        options,
        format_func=words,
        key=key,
        on_change=choose,
        width=width,
    )


def _walk(title: str, name: str, options: Sequence[int], b: Side) -> None:
    """A picker of a number with a step back and a step on."""
    here = {f"b_{part}": getattr(b.selection, part) for part in ("layer", "head")}
    with st.container(
        horizontal=True, vertical_alignment="bottom", gap="xxsmall", wrap=False, width="content"
    ):
        _pick(title, name, options, b, str, width=80)
        place_now = options.index(getattr(b.selection, name))
        go = partial(link.step, f"b_{name}", options, here)
        draw_arrows(f"b_{name}", f"{name} of B", place_now, len(options), go)


def drawn(a: Side, b: Side, other: Other, *, linked: bool) -> None:
    """What of the two sides is drawn, and from which rows they are read."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        with st.container(width=250):
            names = text_place.number_labels(a.head.query_tokens)
            draw_stepper(
                "query",
                "token",
                range(len(names)),
                a.selection.query,
                title="Reading from" if linked else "Reading A from",
                label=names.__getitem__,
                help="The token whose row is read. Clicking a row in a map does the same.",
            )
        if not linked:
            _row_of_b(b)
        _near(a)
        st.segmented_control(
            "Compare",
            list(SHOWN),
            format_func=SHOWN.__getitem__,
            required=True,
            help="What the maps and the bars show. Levels of scores cannot be compared between "
            "heads, so they are counted from the largest of each row.",
            **link.widget("compare", other.compare),
        )
        if other.compare == "weights":
            draw_switch("weights", "Weight colours", WEIGHTS, a.selection, key="cmp_weights")


def _row_of_b(b: Side) -> None:
    others = text_place.number_labels(b.head.query_tokens)
    with st.container(
        horizontal=True, vertical_alignment="bottom", gap="xxsmall", wrap=False, width="content"
    ):
        st.selectbox(
            "Reading B from",
            range(len(others)),
            format_func=others.__getitem__,
            width=200,
            help="The queries of B are other tokens, so it has a row of its own.",
            **link.widget("b_query", b.selection.query, others),
        )
        here: dict[str, int | None] = {"b_query": b.selection.query}
        go = partial(link.step, "b_query", range(len(others)), here)
        draw_arrows("b_query", "token of B", b.selection.query, len(others), go)


def _near(a: Side) -> None:
    """Which keys are drawn of a text too long to be drawn whole."""
    queries, keys = a.head.allowed.shape
    if max(queries, keys) <= WHOLE:
        return
    here = facing(a.selection.query, queries, keys)
    key = state.set_widget("cmp_near", here if a.selection.near is None else a.selection.near)
    st.number_input(
        "Keys drawn stand around",
        min_value=0,
        max_value=keys - 1,
        step=WINDOW // 2,
        key=key,
        on_change=state.make_callback("near", key),
        width=190,
        help="The rows drawn stand around the token that is read; the keys around this position.",
    )
