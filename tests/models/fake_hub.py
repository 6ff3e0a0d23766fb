"""A small server that speaks the Hub's protocol, and can be told to fail in many ways."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = "c0ffee" + "0" * 34


@dataclass
class FakeHub:
    """What the server offers, how it answers, and what it was asked for.

    fault: the status, headers and body of every answer. stall: seconds before each answer. cut:
    name of a file -> bytes after which the line breaks. hold: seconds before it breaks. unlisted:
    names of files whose size the Hub does not say.
    """

    address: str = ""
    repos: dict[str, dict[str, bytes]] = field(default_factory=dict)
    fault: tuple[int, dict[str, str], bytes] | None = None
    stall: float = 0.0
    cut: dict[str, int] = field(default_factory=dict)
    hold: float = 0.0
    unlisted: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    def add(self, repo: str, folder: Path) -> None:
        self.repos[repo] = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fetched(self) -> list[str]:
        """The names of the files that were sent, in order."""
        sent = [line for line in self.asked if line.startswith("GET") and "/resolve/" in line]
        return [line.rpartition("/")[2] for line in sent]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: FakeHub

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, *args: Any) -> None:
        pass

    def _answer(self) -> None:
        hub, path = self.hub, self.path.partition("?")[0]
        hub.asked.append(f"{self.command} {path}")
        if hub.stall:
            threading.Event().wait(hub.stall)
        if hub.fault is not None:
            status, headers, body = hub.fault
            return self._send(status, body, headers)
        for repo, files in hub.repos.items():
            known = (f"/{name}" for name in ("main", COMMIT))
            if path in (f"/api/models/{repo}", *(f"/api/models/{repo}/revision{k}" for k in known)):
                siblings: list[dict[str, Any]] = [{"rfilename": name} for name in files]
                for one in siblings:
                    if one["rfilename"] not in hub.unlisted:
                        one["size"] = len(files[one["rfilename"]])
                info = {"id": repo, "sha": COMMIT, "siblings": siblings}
                return self._send(200, json.dumps(info).encode(), {})
            if path.startswith(f"/api/models/{repo}/revision/"):
                return self._send(404, b"", {"X-Error-Code": "RevisionNotFound"})
            if path.startswith(f"/{repo}/resolve/"):
                data = files.get(path.rsplit("/", 1)[-1])
                if data is None:
                    return self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
                etag = f'"{hashlib.sha256(data).hexdigest()}"'
                return self._send(200, data, {"ETag": etag, "X-Repo-Commit": COMMIT})
        return self._send(404, b"", {"X-Error-Code": "RepoNotFound"})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                cut = self.hub.cut.get(self.path.rpartition("/")[2].partition("?")[0])
                self.wfile.write(body[:cut])
                if cut is not None:
                    self.wfile.flush()
                    threading.Event().wait(self.hub.hold)
                    self.close_connection = True
        except OSError:  # the other side gave up waiting
            self.close_connection = True


@contextmanager
def serving(fake: FakeHub) -> Iterator[FakeHub]:
    """Have a fake Hub answer at its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": fake}))
    server.daemon_threads = True
    fake.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
