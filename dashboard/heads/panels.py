"""All heads at once: what is chosen, the picture, the table beside it, and the way to a head."""

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from attnviz.charts.scales import short
from dashboard.heads import head_charts, head_numbers, long_heads, survey_source, views
from dashboard.heads.head_numbers import Measured, Numbers
from dashboard.heads.probe_texts import PROBES
from dashboard.server.page_table import EXPLORE
from dashboard.session import notices, page_capture, state
from dashboard.session.chart_picks import chart_key, read_pick
from dashboard.session.selection import ABOVE, SORTS, VIEWS, WEIGHTS, SettledSelection, read_span
from dashboard.widgets import export_panel, figure, text_place
from dashboard.widgets.choices import draw_picker, draw_switch

if TYPE_CHECKING:
    from attnviz.capture import Capture
    from attnviz.detectors import Thumbnails

_OPEN = "heads_open"
_ROW, _TALL = 35, 430  # pixels of a row of the table, and of the table at most


def follow() -> None:
    """Go to Explore if a head was asked for. A callback cannot go to another page by itself."""
    if st.session_state.pop(_OPEN, False):
        st.switch_page(EXPLORE.path)


def draw(selection: SettledSelection, capture: "Capture") -> None:
    """The page below its title, once there is a capture."""
    _probes()
    selection = _fit(selection, capture)
    _controls(selection, capture)
    ask, stack = page_capture.make_ask(selection), selection.stack
    long_heads.offer_all_rows(ask, capture, stack)
    measured = Measured(selection, capture)
    if selection.measure == "effect":
        with notices.guard():
            measured.ask_for_effect()
    numbers = measured.numbers(selection.measure)
    left = head_numbers.kept(selection, numbers, measured.text.values["entropy"].shape)
    order = [] if numbers is None else head_numbers.ranked(numbers, left)
    finding = _finding(numbers, order, left, missing=selection.measure in measured.missing)
    st.text(finding)
    left_half, right_half = st.columns([11, 9], gap="medium")
    with left_half:
        small = long_heads.maps(ask, capture, stack) if selection.view == "maps" else None
        _picture(selection, numbers, left, order, small, finding)
    with right_half:
        with st.container(horizontal=True, vertical_alignment="center"):
            _open_button(selection)
            of_text = measured.survey is None and selection.measure in views.kept_with_all()
            # what is not measured yet is in no file, nor are measures of some rows only
            whole = not of_text or long_heads.rows_measured(ask, capture, stack) is None
            if (numbers is not None or of_text) and whole:
                shown = (ask, selection, numbers, left, order, finding)
                export_panel.draw_export("heads", views.heads, shown)
        _table(measured, selection, capture, left, order)
        if measured.why:
            st.text(measured.why)
        if measured.missing:
            names = ", ".join(head_numbers.titles()[name] for name in measured.missing)
            st.text(f"This survey was made without: {names}. Run it again to have them.")
        if numbers is not None:
            _words(numbers)
    if measured.survey is not None:
        survey_source.examples(measured.survey, selection)


def _fit(selection: SettledSelection, capture: "Capture") -> SettledSelection:
    if selection.measure in head_numbers.options(selection, capture):
        return selection
    fallback = "focus"  # the default needs the two sides to be the same tokens
    state.change(measure=fallback)
    return state.settle(capture)


def _probes() -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.text("Texts to try:")
        for number, name in enumerate(PROBES):
            st.button(
                name,
                key=f"probe_{number}",
                on_click=state.change_text,
                args=(PROBES[name],),
                help="Put this text in place of yours and run it.",
            )


def _controls(selection: SettledSelection, capture: "Capture") -> None:
    names = head_numbers.titles()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        draw_switch(
            "view", "Show", VIEWS, selection, key="heads_view", help="What is drawn for each head."
        )
        survey_source.choose(selection, capture)
        draw_picker(
            "measure",
            "Measure",
            head_numbers.options(selection, capture),
            names.__getitem__,
            "What heads are coloured, sorted and filtered by.",
            selection,
            key="heads_measure",
            width=230,
        )
        draw_picker(
            "above",
            "At least",
            ABOVE,
            lambda times: "any value" if times == 0 else f"{times} x its null",
            "Leave out heads that have less of the measure than this.",
            selection,
            key="heads_above",
            width=140,
        )
        _span(selection, capture)
        if selection.view == "maps":
            draw_switch(
                "sort",
                "Order",
                SORTS,
                selection,
                key="heads_sort",
                help="Layers down and heads across, or a list.",
            )
            draw_switch(
                "weights",
                "Weight colours",
                WEIGHTS,
                selection,
                key="heads_weights",
                help="The scale of the colours, one for all heads. Powers of ten show what is "
                "small; no scale changes a weight.",
            )


def _span(selection: SettledSelection, capture: "Capture") -> None:
    layers = capture.layers(selection.stack)
    if len(layers) < 2:
        return
    whole = [layers[0], layers[-1]]
    chosen = whole if selection.layers is None else read_span(selection.layers)
    inside = [layer for layer in layers if chosen[0] <= layer <= chosen[1]]
    ends = [inside[0], inside[-1]]
    for number, (title, verb) in enumerate((("From layer", "earlier"), ("To layer", "later"))):
        key = state.set_widget(f"heads_layers_{number}", ends[number])
        st.selectbox(
            title,
            layers,
            key=key,
            help=f"Leave out heads of {verb} layers.",
            on_change=_change_span,
            args=(number, ends, whole),
            width=100,
        )


def _change_span(number: int, ends: list[int], whole: list[int]) -> None:
    """Take over one end of the span; the other gives way where they would cross."""
    value = st.session_state[f"heads_layers_{number}"]
    first, last = (value, max(value, ends[1])) if number == 0 else (min(value, ends[0]), value)
    state.change(layers=None if [first, last] == whole else f"{first}-{last}")


def _finding(
    numbers: Numbers | None, order: list[tuple[int, int]], left: Any, *, missing: bool
) -> str:
    if numbers is None:
        return "This survey does not have this measure." if missing else "Not measured yet."
    if not order:
        if np.isfinite(numbers.values).any():
            return f"No head is left in. {numbers.title}: lower the filter, or widen the layers."
        return (
            f"{numbers.title}: no row of this text counts, or the measure is out of reach in this "
            "model. Try one of the texts above."
        )
    layer, head = order[0]
    most = "least" if numbers.falls else "most"
    words = (
        f"{numbers.title}: layer {layer}, head {head} has the {most}, "
        f"{short(float(numbers.values[layer, head]))}"
    )
    null = float(numbers.grids.null[layer, head])
    ceiling = float(numbers.grids.ceiling[layer, head])
    words += f" (null {short(null)}"
    words += ")." if np.isnan(ceiling) else f", ceiling {short(ceiling)})."
    if numbers.found is not None:
        found = [at for at in numbers.found if left[at]]
        end = "down to 0" if numbers.falls else "from the null to the ceiling"
        words += f" {len(found)} of {len(order)} heads are more than half way {end}."
    return words


def _picture(
    selection: SettledSelection,
    numbers: Numbers | None,
    left: Any,
    order: list[tuple[int, int]],
    small: "Thumbnails | None",
    finding: str,
) -> None:
    if small is None and numbers is None:
        return
    key = chart_key("heads", "pick_head", layer=selection.layer, head=selection.head)

    def on_pick() -> None:
        if picked := read_pick(key, "pick_head"):
            _go(int(picked["layer"]), int(picked["head"]))

    if small is not None:
        chart, alt = head_charts.maps(selection, numbers, left, order, small)
    else:
        assert numbers is not None
        chart, alt = head_charts.grid(selection, numbers, left)
    figure.draw_chart(
        chart, key, on_select=on_pick, selection_mode="pick_head", alt=f"{alt} {finding}"
    )


def _go(layer: int, head: int) -> None:
    state.change(layer=layer, head=head)
    st.session_state[_OPEN] = True


def _open_button(selection: SettledSelection) -> None:
    st.button(
        f"Open layer {selection.layer}, head {selection.head} in Explore",
        key="heads_go",
        on_click=_go,
        args=(selection.layer, selection.head),
        help="The head that is outlined. The sidebar chooses another.",
    )


def _table(
    measured: Measured,
    selection: SettledSelection,
    capture: "Capture",
    left: Any,
    order: list[tuple[int, int]],
) -> None:
    names = head_numbers.options(selection, capture)
    names = [selection.measure, *[name for name in names if name != selection.measure]]
    frame = head_numbers.table(measured, names, left, order)
    turn = f"{selection.layer}_{selection.head}_{len(frame)}_{selection.measure}"
    key = f"heads_table_{turn}"

    def on_pick() -> None:
        picked = st.session_state[key]["selection"]["rows"]
        if picked:
            row = frame.iloc[picked[0]]
            _go(int(row["Layer"]), int(row["Head"]))
        else:
            state.touch()

    st.dataframe(
        frame,
        hide_index=True,
        key=key,
        height=min(_TALL, _ROW * (len(frame) + 1) + 3),
        placeholder="",
        column_config=head_numbers.formats(measured, names),
        on_select=on_pick,
        selection_mode="single-row",
        alt=f"{len(frame)} heads, a row each, with every measure. Choosing a row opens the head.",
    )


def _words(numbers: Numbers) -> None:
    st.header(numbers.title, anchor=False)
    st.text(numbers.definition)
    st.text(f"Unit: {numbers.unit}. {numbers.rows}".strip())
    st.text(f"Ceiling. {numbers.ceiling_words}")
    st.text(f"Null. {numbers.null_words}")


def where(selection: SettledSelection, capture: "Capture") -> str:
    """What is shown, in one line, as text."""
    layers = capture.layers(selection.stack)
    count = sum(capture.heads(layer, selection.stack) for layer in layers)
    stack = "" if len(capture.stacks) == 1 else f", {selection.stack}"
    queries = len(capture.query_tokens(selection.stack))
    name = text_place.name_model(selection)
    return f"{name}{stack}, {count} heads in {len(layers)} layers, {queries:,} tokens"
