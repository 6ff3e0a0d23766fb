"""A page of charts for the browser tests: which one is chosen by ?case=."""

import json

import numpy as np
import streamlit as st

from attnviz import charts
from tests.charts.heads import causal, head_of, random_scores, tokens

ODD = [
    "$x^2$",
    "<b>bold</b>",
    'say "hi"',
    "c[0]",
    "it's",
    "שלום",
    "`code`",
    ":smile:",
    "\\n",
    "a.b",
]
LETTERS = [chr(ord("a") + n % 26) for n in range(256)]


def repeated():
    return causal(random_scores(5), ["The", "␣cat", "␣sat", "␣the", "␣cat"])


def odd():
    return causal(random_scores(len(ODD)), ODD)


def cross():
    return head_of(
        random_scores(3, 5),
        query_tokens=tokens("un", "deux", "trois"),
        key_tokens=tokens("one", "two", "three", "four", "five"),
        stack="cross",
        sink_logit=1.0,
    )


def looks():
    scores = np.array([[0.0, 1, 1, 1], [1, np.nan, 1, 1], [1e-12, 1, 1, 1], [1, 1, 1, 1]])
    allowed = np.array([[1, 1, 0, 1], [1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]], bool)
    return head_of(scores, allowed=allowed)


CASES = {
    "repeated": repeated,
    "odd": odd,
    "cross": cross,
    "looks": looks,
    "one": lambda: causal([[2.0]], ["only"]),
    "large": lambda: causal(random_scores(256), LETTERS),
}

st.set_page_config(layout="wide")
case = st.query_params.get("case", "repeated")
if case == "grid":
    values = np.linspace(0, 1, 270, dtype=np.float32).reshape(30, 9)
    values[4] = np.nan
    with st.sidebar:
        picked = st.altair_chart(
            charts.grid(values, layer=7, head=4, measure_title="Focus", low=0, high=1),
            key="grid",
            on_select="rerun",
            selection_mode="pick_head",
            alt="All heads",
        )
else:
    head = CASES[case]()
    query = int(st.query_params.get("query", len(head.query_tokens) - 1))
    picked = st.altair_chart(
        charts.explore(
            head,
            query=query,
            measure="weight",
            order=st.query_params.get("order", "text"),
        ),
        key="picture",
        on_select="rerun",
        selection_mode="pick",
        alt=charts.describe_pair(head, query),
    )
st.text(json.dumps(dict(picked["selection"])))
