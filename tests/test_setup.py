"""Set-up: what is installed and from where, what a host starts, what importing costs."""

import ast
import json
import os
import pkgutil
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename
from packaging.version import Version
from streamlit import config as streamlit_config

import dashboard

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINES = [
    line.split(" #")[0].strip()
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    if line.strip() and not line.startswith("#")
]
OPTIONS = [line for line in LINES if line.startswith("-")]
REQUIREMENTS = [Requirement(line) for line in LINES if not line.startswith("-")]
LINUX = {"sys_platform": "linux"}


def pinned(name: str, environment: dict[str, str]) -> str:
    """The one specifier of a requirement that applies in an environment."""
    (applies,) = (
        str(requirement.specifier)
        for requirement in REQUIREMENTS
        if requirement.name == name
        and (requirement.marker is None or requirement.marker.evaluate(environment))
    )
    return applies


class Links(HTMLParser):
    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found.append(dict(attrs))


# What is installed


def test_torch_on_linux_can_only_be_the_cpu_build():
    """cgrtml/neural-trees#85, astral-sh/uv#1497"""
    assert pinned("torch", LINUX).endswith("+cpu")
    for elsewhere in ("darwin", "win32"):
        assert "+" not in pinned("torch", {"sys_platform": elsewhere})


def test_no_line_asks_a_second_host_about_every_package():
    """astral-sh/uv#7554, opengeos/geoai#829"""
    assert OPTIONS == ["--find-links .wheels"]


def test_the_page_on_disk_names_the_pinned_cpu_build_for_every_python_and_machine():
    links = Links(ROOT / ".wheels" / "torch-cpu.html").found
    machines = set()
    for link in links:
        address, digest = link["href"].split("#sha256=")
        assert address.startswith("https://download.pytorch.org/whl/cpu/")
        assert re.fullmatch("[0-9a-f]{64}", digest)
        name, version, _, tags = parse_wheel_filename(address.rsplit("/", 1)[1].replace("%2B", "+"))
        assert f"=={version}" == pinned(name, LINUX)
        (tag,) = tags
        machines.add((tag.interpreter, tag.platform))
        assert "data-yanked" in link, "a wheel on the machine would not be taken first"
    pythons = ("cp311", "cp312", "cp313", "cp314")
    assert machines == {
        (python, f"manylinux_2_28_{machine}")
        for python in pythons
        for machine in ("x86_64", "aarch64")
    }


def test_pip_takes_a_wheel_on_the_machine_before_the_address_of_the_same_one(tmp_path):
    """With nothing to be reached, pip still resolves torch from a folder of wheels."""
    version = pinned("torch", LINUX).removeprefix("==")
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    wheel = tmp_path / f"torch-{version}-{python}-{python}-manylinux_2_28_x86_64.whl"
    _write_wheel(wheel, "torch", version)
    asked = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--report", "-"]
    where = ["--isolated", "--no-index", "--no-deps", "--ignore-installed", "--retries", "0"]
    build = ["--platform", "manylinux_2_28_x86_64", "--only-binary", ":all:", "--target", "x"]
    links = ["--find-links", str(tmp_path), "--find-links", str(ROOT / ".wheels")]
    done = subprocess.run(
        [*asked, *where, *build, *links, f"torch=={version}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    (chosen,) = json.loads(done.stdout)["install"]
    assert chosen["download_info"]["url"].startswith("file:")


def _write_wheel(path: Path, name: str, version: str) -> None:
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_the_library_accepts_the_versions_that_are_pinned():
    for text in PROJECT["project"]["dependencies"]:
        needed = Requirement(text)
        pin = pinned(needed.name, LINUX)
        if pin.startswith("=="):
            assert needed.specifier.contains(Version(pin.removeprefix("==")))
    runs = {requirement.name for requirement in REQUIREMENTS}
    library = {Requirement(text).name for text in PROJECT["project"]["dependencies"]}
    assert runs - library == {"streamlit"}  # what the dashboard alone needs


def test_a_host_finds_one_list_of_requirements_and_no_lock():
    """streamlit/streamlit#8283, streamlit/streamlit#9756"""
    others = ["uv.lock", "Pipfile", "environment.yml", "poetry.lock", "setup.py", "runtime.txt"]
    listed = subprocess.run(
        ["git", "ls-files", *others, *[f"dashboard/{name}" for name in [*others, "*.txt"]]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert listed.stdout == ""
    assert (ROOT / ".python-version").read_text().strip() == "3.11"


# What is started


@pytest.fixture
def started() -> Iterator[str]:
    """The address of the server that the Procfile's web line starts."""
    kind, command = (ROOT / "Procfile").read_text(encoding="utf-8").strip().split(": ", 1)
    assert kind == "web"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    server = subprocess.Popen(
        ["sh", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PORT": str(port), "PATH": path},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield f"http://127.0.0.1:{port}"
    os.killpg(server.pid, signal.SIGTERM)
    server.wait()


def test_the_procfile_starts_a_server_that_says_it_is_well(started):
    deadline = time.monotonic() + 60  # what a Procfile host allows
    answer = b""
    while answer != b"ok" and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{started}/_stcore/health", timeout=5) as response:
                answer = response.read()
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
    assert answer == b"ok"


def test_make_offers_what_the_readme_says_and_the_checks_call_it():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("run", "test", "sweep", "mutants", "check", "bench"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    for script in (".ci/run", ".ci/browser"):
        assert os.access(ROOT / script, os.X_OK)
        subprocess.run(["bash", "-n", ROOT / script], check=True)
    checks = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert checks[-3:] == ["make check", "make test", "make sweep"]


def test_every_option_of_the_configuration_is_one_that_streamlit_knows():
    def names(table: dict[str, object], path: str) -> Iterator[str]:
        for key, value in table.items():
            here = f"{path}.{key}" if path else key
            if isinstance(value, dict):
                yield from names(value, here)
            else:
                yield here

    written = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    known = streamlit_config.get_config_options()
    assert set(names(written, "")) <= set(known)
    assert written["theme"]["light"]["primaryColor"] == "#1d4ed8"
    assert written["theme"]["dark"]["primaryColor"] == "#7db2ff"
    assert written["runner"]["magicEnabled"] is False


# What importing costs


LIGHT = [
    "attnviz",
    "attnviz.errors",
    "attnviz.models.catalog",
    "attnviz.tokens",
    *(
        module.name
        for module in pkgutil.walk_packages(dashboard.__path__, "dashboard.")
        if module.name not in {"dashboard.__main__", "dashboard.app", "dashboard.warm"}  # scripts
    ),
]


def test_importing_does_not_import_torch():
    code = f"""
import importlib, sys
for name in {LIGHT}:
    importlib.import_module(name)
    heavy = {{"torch", "transformers"}} & set(sys.modules)
    assert not heavy, f"{{name}} imports {{heavy}}"
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_library_does_not_know_streamlit():
    for path in (ROOT / "attnviz").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert name.split(".")[0] not in {"streamlit", "dashboard", "pages"}, path
