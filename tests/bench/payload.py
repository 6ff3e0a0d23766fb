"""What a picture weighs on its way to the browser."""

import logging
from typing import TYPE_CHECKING

from streamlit.testing.v1 import AppTest

from attnviz import charts

if TYPE_CHECKING:
    from attnviz.heads.head import Head


def bytes_to_browser(head: "Head") -> dict[str, int]:
    """Bytes of the message that Streamlit sends for a picture: the spec, its images, its data."""
    logging.disable(logging.WARNING)  # Streamlit warns of each chart made outside a server
    query = len(head.query_tokens) - 1
    pictures = {
        "maps": charts.pair(head, query=query),
        "whole picture": charts.explore(head, query=query),
    }
    return {name: _message(chart) for name, chart in pictures.items()}


def _message(chart: object) -> int:
    def page(chart: object) -> None:
        import streamlit as st

        st.altair_chart(chart)

    app = AppTest.from_function(page, args=(chart,), default_timeout=60).run()
    (element,) = app.get("vega_lite_chart")
    return element.proto.ByteSize()
