"""The router: which pages there are. Run from the repository root:

streamlit run dashboard/app.py
"""

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:  # `streamlit run` puts this file's own folder on the path, not the root
    sys.path.insert(0, ROOT)

import streamlit as st  # noqa: E402

from dashboard.server.page_table import PAGES  # noqa: E402
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
            Path(ROOT) / "pages" / f"{page.name}.py",
            title=page.title,
            url_path=page.address or page.name,
            default=not page.address,
            help=page.help,
        )
        for page in PAGES
    ],
    position="top",
)
state.enter_page(page.url_path)
with notices.guard():
    page.run()
state.publish()
