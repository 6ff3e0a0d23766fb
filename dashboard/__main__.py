"""Start the server, as `streamlit run dashboard/app.py` does, and takes the same options.

python -m dashboard

What the first page of a process waits for longest is imported before anybody asks for it; of
torch, nothing.
"""

import sys
from pathlib import Path

import numpy  # noqa: F401
import PIL.Image  # noqa: F401
from streamlit.web.cli import main

app = Path(__file__).with_name("app.py")
sys.argv = ["streamlit", "run", str(app), *sys.argv[1:]]
main()
