"""A comparison: what it finds, the picture, and the numbers of the rows as tables."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.charts.compared import compared
from attnviz.charts.describe_compared import describe_compared
from attnviz.detectors import HEAD_MEASURES
from attnviz.heads.compared_row import row_of, rows_of
from attnviz.heads.comparison import same_keys, same_queries, why_apart
from dashboard.compare import controls, link, row_distances, views
from dashboard.compare.other_side import Other
from dashboard.compare.sides import Side
from dashboard.session import state
from dashboard.session.chart_picks import chart_key, read_pick
from dashboard.widgets import export_panel, figure, text_place

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.heads.comparison import RowDistances

_BEGINNING = 60  # characters of a text


def draw(a: Side, b: Side, other: Other) -> None:
    """All of the page below B's controls."""
    linked, reason = same_queries(a.head, b.head), why_apart(a.head, b.head)
    found = None if reason else row_distances.distances(a, b)
    with st.container(gap="xxsmall"):
        st.text(f"A: {a.where}, {_size(a)}.")
        st.text(f"B: {b.where}, {_size(b)}.{_text(a, b)}{_why(a, other)}")
        for name, side in (("A", a), ("B", b)):
            for note in side.outline.notes:
                st.text(f"{name}: {note}")
        if found is None:
            st.text(f"There is no difference to draw, so the two stand side by side. {reason}")
        else:
            st.text(finding(a, b, found))
    controls.drawn(a, b, other, linked=linked)
    _picture(a, b, other, linked=linked)
    row_table(a, b, other)
    if found is not None:
        _distances(a, b, found)
    _kinds(a, b)


def _size(side: Side) -> str:
    queries, keys = side.head.allowed.shape
    size = f"{queries:,} tokens" if queries == keys else f"{queries:,} x {keys:,} tokens"
    if side.head.sink_logit is not None:
        size += f"; {float(side.head.sink.mean()):.3f} of a row goes to no token, on average"
    return size


def _text(a: Side, b: Side) -> str:
    """How B's text begins, where it has one of its own."""
    text = b.selection.text
    if text == a.selection.text:
        return ""
    return f' Its text: "{text if len(text) <= _BEGINNING else text[:_BEGINNING] + "..."}"'


def _why(a: Side, other: Other) -> str:
    """How B was found, where nobody chose it."""
    if other.chosen:
        return ""
    assert a.alike is not None
    count = len(a.alike.order)
    if not count:
        return " This model has no other head here, so A stands on both sides."
    return (
        f" Found by measuring: of the {count} other heads of this model, the one whose weights on "
        "this text are nearest to A's."
    )


def finding(a: Side, b: Side, found: "RowDistances") -> str:
    """What the comparison comes to, in one sentence or two, as text."""
    if not found.counted:
        return "No row attends to something on both sides, so no row can be compared."
    total, _ = found.means
    left = len(found.total_variation) - found.counted
    rest = f" {left:,} rows that attend to nothing, or are undefined, are left out." if left else ""
    if total == 0:
        every = "every row that is compared" if left else "every row"
        return f"The weights of A and B are the same in {every}.{rest}"
    far = int(np.nanargmax(found.total_variation))
    token = text_place.name_token(a.head.query_tokens, far)
    words = (
        f"To turn A into B, {total:.3f} of a row's weight would have to be moved, on average over "
        f"{found.counted:,} rows; the most, {found.total_variation[far]:.3f}, in that of {token}."
    )
    return words + rest + _rank(a, b)


def _rank(a: Side, b: Side) -> str:
    """How near B is among the heads of A's model, where it is one of them on the same text."""
    one, two = a.selection, b.selection
    assert a.alike is not None
    same = (one.model, one.text, one.stack) == (two.model, two.text, two.stack)
    if not same or b.at not in a.alike.order:
        return ""
    rank, count = a.alike.order.index(b.at) + 1, len(a.alike.order)
    usual, _ = a.alike.means
    return f" Another head takes {usual:.3f} on average; B is number {rank} of {count} in nearness."


def _distances(a: Side, b: Side, found: "RowDistances") -> None:
    """How far apart the two are: beside what that is to be held against, and row by row."""
    st.header("How far apart", anchor=False)
    if found.counted:
        _metrics(a, found)
    _rows(a, b, found)


def _metrics(a: Side, found: "RowDistances") -> None:
    assert a.alike is not None
    total, nats = found.means
    usual, usual_nats = a.alike.means
    even, even_nats = row_distances.even(a).means
    shown = [
        ("A to B", total, nats, "The mean over the rows in which both attend to something."),
        (
            "A to another head, on average",
            usual,
            usual_nats,
            f"The mean over the {len(a.alike.order)} other heads of A's model, on at most 64 rows "
            "of this text.",
        ),
        (
            "A to even attention",
            even,
            even_nats,
            "Even attention spreads each row evenly over the tokens that it may look at.",
        ),
    ]
    with st.container(horizontal=True, gap="large"):
        for label, variation, divergence, help in shown:
            if np.isfinite(variation):
                st.metric(
                    label,
                    f"{variation:.3f}",
                    delta=f"{divergence:.3f} nats",
                    delta_color="off",
                    delta_arrow="off",
                    help=f"{help} Above, the total variation, 0 to 1; below, the Jensen-Shannon "
                    "divergence, 0 to 0.693 nats.",
                    width="content",
                )


def _picture(a: Side, b: Side, other: Other, *, linked: bool) -> None:
    rows: dict[str, Any] = {"query": a.selection.query, "other_query": b.selection.query}
    last = read_pick(f"compare_{st.session_state.get('compare_turn', 0)}", "pick")
    on_b = not linked and last.get("side") == 1
    key = chart_key("compare", "pick", query=rows["other_query" if on_b else "query"])

    def on_pick() -> None:
        picked = read_pick(key, "pick")
        if not picked:
            state.touch()
        elif not linked and int(picked["side"]) == 1:
            link.change(b_query=int(picked["query"]))
        else:
            state.change(query=int(picked["query"]))

    chart = compared(
        a.head,
        b.head,
        **rows,
        of=other.compare,
        weight_colour=a.selection.weights,
        names=titles(a, b),
        near=a.selection.near,
    )
    figure.draw_chart(
        chart,
        key,
        on_select=on_pick,
        selection_mode="pick",
        alt=describe_compared(a.head, b.head, of=other.compare, **rows),
    )


def titles(a: Side, b: Side) -> tuple[str, str]:
    """Names of the two maps: where each is, and the model where there are two."""
    two = a.selection.model != b.selection.model
    names = [f" {text_place.name_model(side.selection)}," if two else "" for side in (a, b)]
    stacks = ["", ""]
    if a.selection.stack != b.selection.stack:
        stacks = [f" {side.selection.stack}," for side in (a, b)]
    first, second = (
        f"{letter}: {name}{stack} {side.title}".replace(":  ", ": ")
        for letter, name, stack, side in zip("AB", names, stacks, (a, b), strict=True)
    )
    return first, second


def row_table(a: Side, b: Side, other: Other) -> None:
    """The accessible twin of the picture: the numbers of the rows that are read, while open."""
    box = st.expander("This row as a table", key="cmp_row_open", on_change=state.touch)
    if not box.open:
        return
    queries = a.selection.query, b.selection.query
    with box:
        if same_keys(a.head, b.head):
            frame = rows_of(a.head, b.head, *queries, other.compare)
            _frame(frame, "cmp_row", "The rows of A and B, key by key.")
            return
        for name, side, query in zip("AB", (a, b), queries, strict=True):
            st.text(f"{name}, from {text_place.name_token(side.head.query_tokens, query)}")
            frame = row_of(side.head, query, other.compare)
            _frame(frame, f"cmp_row_{name}", f"The row of {name}.")


def _rows(a: Side, b: Side, found: "RowDistances") -> None:
    """How far apart each row is, while open."""
    box = st.expander("Every row's distance as a table", key="cmp_rows_open", on_change=state.touch)
    if not box.open:
        return

    with box:
        frame = pd.DataFrame(
            {
                "Position": range(len(found.total_variation)),
                "From": [token.label for token in a.head.query_tokens],
                "Total variation": found.total_variation,
                "Jensen-Shannon, nats": found.jensen_shannon,
                "A attends most to": _most(a),
                "B attends most to": _most(b),
            }
        )
        for name, side in (("A", a), ("B", b)):
            if side.head.sink_logit is not None:
                frame[f"To no token, {name}"] = side.head.sink
        _frame(frame, "cmp_rows", "How far apart the two sides are in each row.")


def _most(side: Side) -> list[str]:
    def most(row: Any, seen: bool) -> str:
        if not seen:
            return "nothing"
        if np.isnan(row).any():
            return "undefined"
        return text_place.name_token(side.head.key_tokens, int(row.argmax()))

    return [
        most(row, seen)
        for part in side.head.in_rows()
        for row, seen in zip(part.weights, part.attends, strict=True)
    ]


def _kinds(a: Side, b: Side) -> None:
    """What kind of head each is by measures that mean the same for every model and text."""
    box = st.expander("What kind of head each is", key="cmp_kinds_open", on_change=state.touch)
    if not box.open:
        return

    columns: dict[str, Any] = {}
    for name, side in (("A", a), ("B", b)):
        found = side.shares
        columns[name] = [float(found.values[m][side.at]) for m in found.values]
        columns[f"Null of {name}"] = [float(found.null(m)[side.at]) for m in found.values]
    measures = [HEAD_MEASURES[name] for name in found.values]
    frame = pd.DataFrame({"Measure": [m.title for m in measures], **columns})
    frame["Definition"] = [m.definition for m in measures]
    with box:
        st.text(
            "0 to 1, means over rows. The null is what a head that does nothing of the kind has."
        )
        _frame(frame, "cmp_kinds", "Six measures of both heads, each with its null.")


def _frame(frame: "pd.DataFrame", key: str, alt: str) -> None:
    numbers = [name for name in frame.columns if frame[name].dtype.kind == "f"]
    format = {name: st.column_config.NumberColumn(format="%.4f") for name in numbers}
    if "Position" in frame:
        format["Position"] = st.column_config.NumberColumn(format="%d", width="small")
    st.dataframe(frame, hide_index=True, key=key, placeholder="", column_config=format, alt=alt)


def export(a: Side, b: Side, other: Other) -> None:
    """A button that opens the ways to take the comparison along."""
    chosen = ((a.ask, b.ask), a.selection, b.selection, other.compare, titles(a, b))
    export_panel.draw_export("compare", views.compare, chosen)


def draw_link(other: Other) -> None:
    """The address of what is shown."""
    with st.popover("Link", icon=":material/link:", type="tertiary"):
        st.markdown("This address opens the same comparison.")
        st.code(link.link(other), language=None, wrap_lines=True)
        if not link.both_travel(other):
            st.markdown("The texts are too long for an address, and B's is not part of it.")
