"""Architectures: every text architecture that transformers knows, and what is shown of it."""

import streamlit as st

from attnviz.models import support
from dashboard.architectures import views
from dashboard.session import notices, state
from dashboard.widgets import export_panel

notices.show_ignored(st.empty(), state.list_ignored())
st.title("Architectures", anchor=False)
table = support.table()
counts = table["verdict"].value_counts()
st.markdown(
    f"Every text architecture of transformers {support.read_record()['transformers']}: "
    f"**{counts['exact']} are shown exactly**, {counts['refused']} are refused by name, and "
    f"{counts['could not be built']} could not be tried."
)

verdict = st.selectbox(
    "Show",
    ["all", *support.VERDICTS],
    key="verdict",
    bind="query-params",
    help="Keeps the rows with this verdict.",
)
shown = table if verdict == "all" else table[table["verdict"] == verdict]
st.dataframe(
    shown,
    hide_index=True,
    height=520,
    alt=f"{len(shown)} architectures with verdict, stages and reasons",
    column_config={"why": st.column_config.TextColumn(width="large")},
)
export_panel.draw_export("architectures", views.architectures, (verdict,))

with st.expander("How to read this"):
    for name, meaning in support.VERDICTS.items():
        st.markdown(f"- **{name}**: {meaning}")
    st.markdown(
        "- **stages** are what can be seen of a score on its way to softmax.\n"
        "- **contributions** say how far a token's share can be followed: to what the block adds "
        "to the residual stream, or only to the head's output, where a gate or a norm comes "
        "before the output projection."
    )
with st.expander("Limits and sources"):
    st.markdown(
        "Each architecture is tried on one small model with large random weights, against an "
        "oracle that shares no code with attnviz: the same model with its own plain attention, "
        "watched from outside. A model of an architecture listed as exact is still checked again "
        "at every capture, on its own weights and text, and the page shows the result. The table "
        "is made by `python -m tests.sweep --write`, and a test turns red when a verdict changes."
    )
