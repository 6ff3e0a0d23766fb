"""The shipped app, started the plain way with the shipped settings."""

import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.serving import free_port, stop

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def server(tmp_path):
    """(address, log file) of `streamlit run dashboard/app.py` from the root, nothing else set."""
    port, log = free_port(), tmp_path / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "dashboard/app.py"]
            + [f"--server.port={port}", "--server.headless=true"],
            cwd=ROOT,
            stdout=out,
            stderr=out,
        )
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=2)
            break
        except OSError:
            time.sleep(0.1)
    yield url, log
    stop(process)


def test_the_shipped_settings_start_without_a_word_of_trouble(server, browser: Browser):
    """streamlit/streamlit#10992: the file watcher pokes torch and fills the log."""
    url, log = server
    page = browser.new_page()
    page.goto(f"{url}/?model=planted-circuit")
    expect(page.locator("h1")).to_have_text(re.compile("layer 1, head 0"), timeout=60_000)
    expect(page.locator("[data-testid='stMain'] .vega-embed svg")).to_be_visible(timeout=60_000)
    page.close()
    written = log.read_text()
    assert "You can now view" in written
    for word in ("Traceback", "Error", "error", "torch.classes"):
        assert word not in written
