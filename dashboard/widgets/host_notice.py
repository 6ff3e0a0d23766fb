"""The line that tells a reader of a shared server what it takes."""

import streamlit as st

from dashboard.session import backend


def draw_limits() -> None:
    """What this server takes, in one quiet line; nothing on a machine of one's own."""
    host = backend.HOST
    if not host.hosted:
        return
    st.caption(
        f"A shared server: one reader's run at a time, texts of up to {host.longest:,} tokens, "
        f"models on its list of up to {host.max_parameters / 1e6:,.0f} million parameters. "
        "Your text, and what was worked out from it, are let go of when you leave."
    )
