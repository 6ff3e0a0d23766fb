"""Draw a first page with no server, so that Python has compiled all that one needs.

python -m dashboard.warm

The first start is then as quick as the next. Run once, when the packages have been installed.
"""

from pathlib import Path

import streamlit.web.bootstrap  # noqa: F401
from streamlit.logger import set_log_level
from streamlit.testing.v1 import AppTest

set_log_level("ERROR")  # that no browser is there is meant
page = AppTest.from_file(str(Path(__file__).parent / "app.py"), default_timeout=600)
page.query_params["model"] = "planted-circuit"  # in the package: nothing is fetched
page.run()
if page.exception:
    raise SystemExit(f"The first page could not be drawn: {page.exception[0].message}")
