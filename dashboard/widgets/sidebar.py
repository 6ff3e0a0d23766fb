"""The sidebar: which model, which text, which layer and head."""

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.detectors import HEAD_MEASURES, SHARES
from attnviz.errors import AttnvizError
from attnviz.models.catalog import CATALOG
from dashboard.session import all_heads, backend, notices, page_capture, state
from dashboard.session.chart_picks import chart_key, on_pick
from dashboard.session.selection import LONGEST_TARGET, STACKS, Selection, SettledSelection, Shape
from dashboard.widgets import export_panel, figure, figure_views, host_notice
from dashboard.widgets.example_texts import EXAMPLES
from dashboard.widgets.stepper import draw_stepper

if TYPE_CHECKING:
    pass

OTHER = "another"


def draw_model_and_text(selection: Selection) -> None:
    """The controls that need no model; drawn first."""
    with st.sidebar:
        _model(selection)
        _text(selection)
        host_notice.draw_limits()


def draw_head_controls(selection: SettledSelection, capture: Shape, *, grid: bool = True) -> None:
    """The controls that walk through a model's heads, and, unless told otherwise, their grid."""
    stack, layer = selection.stack, selection.layer
    with st.sidebar:
        if selection.plain or _typed_marks(capture):
            st.toggle(
                "Typed marks as text",
                key=state.set_widget("pick_plain", selection.plain),
                on_change=state.make_callback("plain", "pick_plain"),
                help="The text holds a mark of the tokenizer's own, such as the one for its end. "
                "Off, that is one special token; on, it is the letters it is written with.",
            )
        if "cross" in capture.stacks:
            _target(selection)
        if len(capture.stacks) > 1:
            st.selectbox(
                "Stack",
                capture.stacks,
                format_func=STACKS.__getitem__,
                key=state.set_widget("pick_stack", stack),
                on_change=state.make_callback("stack", "pick_stack"),
                help="Which attention is shown: of the encoder, of the decoder, or from the "
                "decoder's tokens to the encoder's.",
            )
        draw_stepper(
            "layer",
            "layer",
            capture.layers(stack),
            layer,
            title="Layer",
            label=str,
            help="Counted from 0, as the model counts them.",
        )
        draw_stepper(
            "head",
            "head",
            range(capture.heads(layer, stack)),
            selection.head,
            title="Head",
            label=str,
            help="Query heads of this layer, counted from 0.",
        )
        if grid:
            _grid(selection)


def list_models(*more: str) -> list[str]:
    """The models to choose from, some more of them named; OTHER where any may be typed."""
    options = list(dict.fromkeys((*CATALOG, *backend.HOST.listed, *more)))
    return [*options, OTHER] if backend.HOST.takes_any else options


def _model(selection: Selection) -> None:
    options = list_models(selection.model)
    key = state.set_widget("pick_model", selection.model)
    if st.session_state.get("other_open"):
        key = state.set_widget("pick_model", OTHER)
    st.selectbox(
        "Model",
        options,
        format_func=model_label,
        key=key,
        on_change=_choose_model,
        help=_about(selection.model),
    )
    if st.session_state.get("other_open"):
        _other_model()


def _about(name: str) -> str:
    if name not in CATALOG:
        return "Which model reads the text."
    entry = CATALOG[name]
    size = (
        f" {page_capture.describe_cost(name)} to fetch, once."
        if page_capture.describe_cost(name)
        else ""
    )
    return f"{entry.summary} {entry.layers} layers of {entry.heads} heads, {entry.licence}.{size}"


def model_label(name: str) -> str:
    if name == OTHER:
        return "A Hub id or a folder" if backend.FOLDERS_ALLOWED else "A Hub id"
    return CATALOG[name].title if name in CATALOG else name


def _choose_model() -> None:
    chosen = st.session_state["pick_model"]
    st.session_state["other_open"], st.session_state["other_error"] = chosen == OTHER, None
    if chosen == OTHER:
        state.touch()
    else:
        state.change_model(chosen)


def _other_model() -> None:
    with st.form("other_model", border=False):
        what = "Hub id or folder" if backend.FOLDERS_ALLOWED else "Hub id"
        st.text_input(what, key="other_name", placeholder="openai-community/gpt2")
        st.text("Safetensors only; no code of the model's is run.")
        st.form_submit_button("Load", key="load_other", on_click=_load_other, width="stretch")
    if error := st.session_state.get("other_error"):
        notices.show_error(error)


def _load_other() -> None:
    """Go to the model whose name was typed, or say what is wrong with the name and stay."""
    name = st.session_state["other_name"].strip()
    try:
        backend.check_model(name)
    except AttnvizError as error:
        st.session_state["other_error"] = error
        state.touch()
        return
    st.session_state["other_open"], st.session_state["other_error"] = False, None
    state.change_model(name)


def _text(selection: Selection) -> None:
    with st.form("text_form", border=False):
        st.text_area(
            "Text",
            key=_draft(selection.text),
            height=98,
            help="Read as it stands, spaces and line ends included. Ctrl+Enter runs it.",
        )
        st.form_submit_button("Run", key="run", on_click=_run, width="stretch")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.menu_button(
            "Examples",
            list(EXAMPLES),
            key="example",
            on_click=_take_example,
            help="Put a text in place of this one and run it.",
        )
        st.toggle(
            "Special tokens",
            key=state.set_widget("pick_special", selection.special),
            on_change=state.make_callback("special", "pick_special"),
            help="Let the tokenizer add its own marks, such as [CLS], where it has any.",
        )


def _typed_marks(capture: Shape) -> bool:
    """Whether a special token stands in the text itself; one that was added has no place there."""
    tokens = (token for stack in capture.stacks for token in capture.key_tokens(stack))
    return any(token.special and token.start is not None for token in tokens)


def _target(selection: Selection) -> None:
    with st.form("target_form", border=False):
        st.text_area(
            "Target",
            key=state.set_widget("target_box", selection.target),
            height=68,
            placeholder="Empty: the model writes it",
            help="What the decoder reads, after its start token. Left empty, the model writes "
            "the likeliest text itself, token by token.",
        )
        st.form_submit_button("Run with this target", on_click=_run_target, width="stretch")


def _run_target() -> None:
    state.change(target=st.session_state["target_box"][:LONGEST_TARGET], query=None, near=None)


def _draft(text: str) -> str:
    """The key of the text box, whose content follows the selection only when that changes.

    In between, it holds what is being typed and has not run yet.
    """
    if state.just_turned() or st.session_state.get("text_shown") != text:
        st.session_state["text_shown"] = st.session_state["text_box"] = text
    return "text_box"


def _run() -> None:
    text = st.session_state["text_box"]
    st.session_state["text_shown"] = text
    state.change_text(text)


def _take_example() -> None:
    state.change_text(EXAMPLES[st.session_state["example"]])


def _grid(selection: SettledSelection) -> None:
    from attnviz import charts

    key = state.set_widget("pick_grid", selection.grid)
    st.selectbox(
        "All heads, coloured by",
        SHARES,
        format_func=lambda name: HEAD_MEASURES[name].title,
        key=key,
        on_change=state.make_callback("grid", key),
        help=f"{HEAD_MEASURES[selection.grid].definition} Of a long text, 64 rows are looked at.",
    )
    measure = HEAD_MEASURES[selection.grid]
    values = all_heads.measure_grid(
        page_capture.make_ask(selection), selection.grid, selection.stack
    )
    chart = chart_key("grid", "pick_head", layer=selection.layer, head=selection.head)
    figure.draw_chart(
        charts.grid(
            values,
            layer=selection.layer,
            head=selection.head,
            measure_title=measure.title,
            low=0.0,  # the grid shows shares
            high=1.0,
        ),
        chart,
        on_select=on_pick(chart, "pick_head", "layer", "head"),
        selection_mode="pick_head",
        alt=f"All heads, one cell each, layers down and heads across, coloured by "
        f"{measure.title.lower()}. Shown now: layer {selection.layer}, head {selection.head}.",
    )
    export_panel.draw_export("grid", figure_views.view_grid, _shown)


def _shown() -> tuple[backend.Ask, SettledSelection]:
    selection = state.drawn_selection()
    return page_capture.make_ask(selection), selection
