"""Starting the app's server and the machine's Chromium, for tests and for the bench."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APP = "dashboard/app.py"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
IDLE = "[data-testid='stApp'][data-test-script-state='notRunning']"

Server = subprocess.Popen[bytes]


def chromium() -> str | None:
    """The machine's own Chromium; None for the one that Playwright installed."""
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return next((path for path in found if path), None)


def start(script: str | Path, *args: str, **environment: str) -> tuple[Server, str]:
    """A server of a Streamlit script, healthy, and its address; of the app, started as `make run`
    does. Arguments after the script reach it in sys.argv."""
    port = free_port()
    options = {"port": port, "address": "127.0.0.1", "headless": "true", "fileWatcherType": "none"}
    flags = [f"--server.{name}={value}" for name, value in options.items()]
    run = ["dashboard"] if script == APP else ["streamlit", "run", str(script)]
    server = subprocess.Popen(
        [sys.executable, "-m", *run, *flags] + ["--browser.gatherUsageStats=false", "--", *args],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_healthy(url, server)
    except RuntimeError:
        server.kill()
        raise
    return server, url


def stop(server: Server) -> None:
    server.terminate()
    try:
        server.wait(timeout=10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_healthy(url: str, server: Server, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise RuntimeError(f"The Streamlit server stopped with code {server.returncode}.")
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.1)
    raise RuntimeError(f"No healthy Streamlit server at {url} after {seconds} seconds.")
