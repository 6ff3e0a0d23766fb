"""The four steps of an invented head: the diagram, its words, and what the reader can change."""

from collections.abc import Callable

import streamlit as st

from attnviz.charts.describe_steps import describe_four_steps
from attnviz.charts.four_steps import four_steps
from dashboard.how_it_works import link, views
from dashboard.how_it_works.toy import CANDIDATES, COLDEST, DEPTHS, FOCUS, HIGH, HOTTEST, LOW, Toy
from dashboard.session import state
from dashboard.session.chart_picks import chart_key
from dashboard.widgets import export_panel

KEYS = range(len(CANDIDATES))
_ALL = "All"
_WIDE = 152  # pixels: five controls stand side by side at 1280


def depth(toy: Toy) -> None:
    """How much is said: the choice."""
    st.segmented_control(
        "How deep",
        list(DEPTHS),
        format_func=DEPTHS.__getitem__,
        key=state.set_widget("toy_depth", toy.depth),
        required=True,
        on_change=link.set_number,
        args=("depth", "toy_depth"),
    )


def follow() -> int | None:
    """Which candidate is followed: the diagram's twin for the keyboard. None for all of them."""
    chosen = st.segmented_control(
        "Follow",
        [_ALL, *CANDIDATES],
        default=_ALL,
        key="toy_follow",
        required=True,
        on_change=state.touch,
        help="Lights the path of one candidate through the diagram, as pointing at it does.",
    )
    return None if chosen == _ALL else CANDIDATES.index(str(chosen))


def diagram(toy: Toy, lit: int | None) -> None:
    """The diagram, and the path that is lit as a line of text."""
    head = toy.head()
    key = chart_key("toy_chart", "pick", lane=lit)

    def on_pick() -> None:
        picked = st.session_state[key]["selection"].get("pick")
        if picked:
            st.session_state["toy_follow"] = CANDIDATES[int(picked[0]["lane"])]
        state.touch()

    finding, *_ = describe_four_steps(head, query=0, keys=KEYS)
    st.altair_chart(
        four_steps(head, query=0, keys=KEYS, lit=lit),
        key=key,
        on_select=on_pick,
        selection_mode="pick",
        alt=finding,
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(shares(toy) if lit is None else path(toy, lit))
        export_panel.draw_export("toy", views.toy_steps, (toy, lit))


def words(toy: Toy) -> None:
    """The diagram as text, complete."""
    with st.expander("The diagram in words", key="toy_words", on_change=state.touch):
        for line in describe_four_steps(toy.head(), query=0, keys=KEYS):
            st.text(line)


def shares(toy: Toy) -> str:
    """All weights and their sum, in a line."""
    head = toy.head()
    if not head.attends[0]:
        return f"Every candidate is masked: {FOCUS} attends to nothing and its new vector is 0."
    weights = head.weights[0].tolist()
    told = " + ".join(
        f"{word} {weight:.3f}" for word, weight in zip(CANDIDATES, weights, strict=True)
    )
    return f"Weights: {told} = {sum(weights):.3f}"


def path(toy: Toy, place: int) -> str:
    """One candidate from score to output, in a line."""
    head = toy.head()
    word, weight = CANDIDATES[place], float(head.weights[0, place])
    if not head.allowed[0, place]:
        return f"{word}: masked, so its weight is 0 and nothing of its value reaches {FOCUS}."
    stages = [float(stage[0, place]) for name, stage in head.stages.items() if name != "masked"]
    score = f"score {_signed(stages[1])}"
    if toy.temperature != 1:
        score += f", divided by {toy.temperature:g} {_signed(stages[-1])}"
    return (
        f"{word}: {score}, weight {weight:.3f}. So {weight:.1%} of its value goes into the new "
        f"vector of {FOCUS}."
    )


def _signed(number: float) -> str:
    return f"{number:.2f}".replace("-", "\u2212")


def controls(toy: Toy) -> None:
    """Scores, masks, temperature, and a number added to all scores."""
    with st.container(horizontal=True, gap="small"):
        for place, word in enumerate(CANDIDATES):
            with st.container(width=_WIDE, gap="xxsmall"):
                _slider(
                    f"Score of “{word}”", f"toy_score_{place}", toy.scores[place],
                    link.set_score, place,
                )  # fmt: skip
                key = state.set_widget(f"toy_mask_{place}", place in toy.masked)
                st.checkbox(f"Mask “{word}”", key=key, on_change=link.set_mask, args=(place, key))
        with st.container(width=_WIDE, gap="xxsmall"):
            _slider(
                "Temperature", "toy_temperature", toy.temperature, link.set_number,
                "temperature", low=COLDEST, high=HOTTEST,
                help="Every score is divided by it before softmax. High makes the shares even, "
                "low gives nearly all to the largest score.",
            )  # fmt: skip
            st.button("Start again", key="toy_reset", on_click=link.start_again)
        with st.container(width=_WIDE):
            _slider(
                "Added to all scores", "toy_added", toy.added, link.set_number, "added",
                help="The same number on every score of the row. Watch the weights stay.",
            )  # fmt: skip


def _slider(
    label: str,
    key: str,
    value: float,
    change: Callable[..., None],
    name: str | int,
    *,
    low: float = LOW,
    high: float = HIGH,
    help: str | None = None,
) -> None:
    st.slider(
        label,
        min_value=low,
        max_value=high,
        step=0.1,
        format="%.1f",
        key=state.set_widget(key, float(value)),
        on_change=change,
        args=(name, key),
        help=help,
    )
