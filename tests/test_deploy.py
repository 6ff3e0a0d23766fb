"""What a host gets: the packages of requirements.txt in an environment of its own, the line of the
Procfile, and the limits that DEPLOY.md promises."""

import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from attnviz.models.catalog import CATALOG, DEFAULT_MODEL
from dashboard.server import host
from dashboard.server.host import Host
from dashboard.session import backend
from tests.browser.serving import free_port, stop
from tests.readers import AGENTS, Place, Reader, memory_of, reads_proc, right

ROOT = Path(__file__).resolve().parent.parent
GUIDE = " ".join((ROOT / "DEPLOY.md").read_text(encoding="utf-8").split())
MB = 1_000_000


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The folder of an environment with what requirements.txt asks for, and nothing else."""
    folder = tmp_path_factory.mktemp("host")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install = ["-m", "pip", "install", "--disable-pip-version-check", "--no-compile", "--quiet"]
    subprocess.run(
        [folder / "bin/python", *install, "-r", "requirements.txt"], cwd=ROOT, check=True
    )
    return folder


@pytest.fixture(scope="module")
def started(environment, tmp_path_factory):
    """The process that the Procfile's line starts where a host says on which port, its address,
    and what it writes."""
    kind, command = (ROOT / "Procfile").read_text(encoding="utf-8").strip().split(": ", 1)
    assert kind == "web"
    port, log = free_port(), tmp_path_factory.mktemp("log") / "log"
    own = {name: value for name, value in os.environ.items() if name != "ATTNVIZ_HOSTED"}
    own |= {"PORT": str(port), "PATH": f"{environment}/bin{os.pathsep}{os.environ['PATH']}"}
    with log.open("w") as out:
        server = subprocess.Popen(
            ["sh", "-c", f"exec {command}"], cwd=ROOT, env=own | AGENTS, stdout=out, stderr=out
        )
    yield server, f"http://127.0.0.1:{port}", log
    stop(server)


def answers(server: "subprocess.Popen[bytes]", address: str) -> bytes:
    deadline = time.monotonic() + 60  # what a host with a Procfile allows
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5) as response:
                return bytes(response.read())
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
    return b""


@reads_proc
def test_a_fresh_environment_starts_draws_and_stays_small(started, smollm2):
    """Jumitti/TFinder#96, cgrtml/neural-trees#85: apps that a host stops for their memory, most of
    them at the first picture."""
    server, address, log = started
    assert answers(server, address) == b"ok", log.read_text()
    assert memory_of(server.pid)["VmRSS"] < 150 * MB, "nothing heavy before the first visitor"
    entry = CATALOG[DEFAULT_MODEL]
    here = Place(DEFAULT_MODEL, entry.default_text, entry.default_layer, entry.default_head, 3)
    reader = Reader(0, address)
    reader.open(here)
    assert reader.sentence() == right(here, smollm2).sentence
    assert any("shared server" in text for text in reader.texts("caption"))
    taken = memory_of(server.pid)
    assert taken["VmRSS"] < 1_300 * MB, f"{taken['VmRSS'] / MB:.0f} MB, the mapped files included"
    own = taken["RssAnon"]
    assert own < 450 * MB, f"{own / MB:.0f} MB that no system can take out"
    reader.go(head=2)
    assert memory_of(server.pid)["RssAnon"] < own + 50 * MB
    assert "Traceback" not in log.read_text()


def test_the_guide_says_the_limits_that_there_are():
    hosted, own = host.read_host({"ATTNVIZ_HOSTED": "1"}), Host()
    (few,) = set(backend.BEGINNING.values())
    rows = {
        "parameters of a model": [f"{h.max_parameters / 1e6:,.0f} million" for h in (own, hosted)],
        "models in memory": [f"{h.max_models}" for h in (own, hosted)],
        "characters, tokens of a text": [
            f"{own.max_characters:,} and {own.longest:,}; of over {own.max_tokens:,}, "
            f"Misconceptions and How it works take the first {few:,}",
            f"{hosted.max_characters:,} and {hosted.longest:,} on Explore; other pages take the "
            f"first {hosted.max_tokens:,}, these two {few:,}",
        ],
        "captures, and what is worked out from them": [
            f"{h.max_capture_bytes / 1e6:,.0f} MB" for h in (own, hosted)
        ],
        "files made for downloads": [f"{h.max_file_bytes / 1e6:,.0f} MB" for h in (own, hosted)],
    }
    for what, (first, second) in rows.items():
        assert re.search(rf"\| {re.escape(what)} \| {first}[^|]*\| {second}[^|]*\|", GUIDE), what


def test_the_guide_names_every_setting_and_every_sign_of_a_host():
    sources = [*(ROOT / "attnviz").rglob("*.py"), *(ROOT / "dashboard").rglob("*.py")]
    read = set(re.findall(r"ATTNVIZ_[A-Z_]+", " ".join(p.read_text("utf-8") for p in sources)))
    assert read == set(re.findall(r"ATTNVIZ_[A-Z_]+", GUIDE))
    for sign in host._SIGNS:
        assert f"`{sign}`" in GUIDE
    assert host._CLOUD_FOLDER in GUIDE and f"{host.COMMUNITY_CLOUD_BYTES / 1e9} GB" in GUIDE


def test_the_file_of_the_guide_is_the_one_that_starts_the_app():
    assert "`dashboard/app.py`" in GUIDE and (ROOT / "dashboard/app.py").exists()
    version = (ROOT / ".python-version").read_text().strip()
    assert GUIDE.count(f"Python {version}") >= 2 and f"says {version}" in GUIDE
