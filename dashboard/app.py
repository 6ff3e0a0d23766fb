"""The router: which pages there are. Run from the repository root:

streamlit run dashboard/app.py
"""

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:  # `streamlit run` puts this file's own folder on the path, not the root
    sys.path.insert(0, ROOT)

import streamlit as st  # noqa: E402

from dashboard.session import notices, state  # noqa: E402

st.set_page_config(
    page_title="attnviz",
    page_icon=str(Path(ROOT) / "dashboard" / "icon.svg"),  # a named icon is fetched from afar
    layout="wide",
    initial_sidebar_state=300,  # pixels
)

st.logo(str(Path(ROOT) / "dashboard" / "logo.svg"), size="medium")

page = st.navigation(
    [
        st.Page(
            Path(ROOT) / "pages" / "explore.py",
            title="Explore",
            url_path="explore",
            default=True,
            help="One head on one text: its scores, its weights, and what each token adds.",
        ),
        st.Page(
            Path(ROOT) / "pages" / "heads.py",
            title="Heads",
            url_path="heads",
            help="Every head of the model at a glance: small maps, and what kind of head each is.",
        ),
        st.Page(
            Path(ROOT) / "pages" / "what_if.py",
            title="What if",
            url_path="what-if",
            help="Change one thing in the attention, and see what becomes of the output.",
        ),
        st.Page(
            Path(ROOT) / "pages" / "compare.py",
            title="Compare",
            url_path="compare",
            help="Two heads, layers, texts or models side by side, and their difference.",
        ),
        st.Page(
            Path(ROOT) / "pages" / "how_it_works.py",
            title="How it works",
            url_path="how-it-works",
            help="Attention in four steps, from a query to a new vector.",
        ),
        st.Page(
            Path(ROOT) / "pages" / "misconceptions.py",
            title="Misconceptions",
            url_path="misconceptions",
            help="Eleven claims about attention, each measured on your model and your text.",
        ),
        st.Page(
            Path(ROOT) / "pages" / "check_a_matrix.py",
            title="Check a matrix",
            url_path="check-a-matrix",
            help="Somebody's matrix: attention scores, attention weights, or something else?",
        ),
        st.Page(
            Path(ROOT) / "pages" / "architectures.py",
            title="Architectures",
            url_path="architectures",
            help="Which models are shown exactly, which are refused, and why.",
        ),
    ],
    position="top",
)
state.enter(page.url_path)
with notices.guard():
    page.run()
state.publish()
