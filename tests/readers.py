"""Readers of a running server, without a browser: what Streamlit's own protocol for agents shows
them, and what they should have been shown."""

import json
import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnviz
from attnviz.charts import describe_pair
from tests import tiny
from tests.fixtures_tokenizers import byte_level_bpe

AGENTS = {
    "STREAMLIT_SERVER_ENABLE_AGENT_API": "true",
    "STREAMLIT_SERVER_AGENT_WAIT_TIMEOUT": "60",
    "STREAMLIT_SERVER_AGENT_PREVIEW_ROWS": "200",
}
"""What a server needs in its environment to be read so. Never set where strangers can reach it."""

KINDS = {
    "lab/gpt2": "GPT2LMHeadModel",
    "lab/llama": "LlamaForCausalLM",
    "lab/bert": "BertForMaskedLM",
}
_PATIENCE = 300  # seconds for one page, fifty readers waiting
_MARK = re.compile(r"reader(\d+)x")
_LABELS = {"query": "pick_query", "layer": "pick_layer", "head": "pick_head"}


def save_models(folder: Path) -> dict[str, Path]:
    """Tiny models of three kinds as a Hub would offer them, by their ids."""
    tokenizer, found = byte_level_bpe(), {}
    for name, kind in KINDS.items():
        sizes = {"n_positions" if "GPT2" in kind else "max_position_embeddings": 256}
        model = tiny.hf(kind, vocab_size=len(tokenizer), seed=len(found), **sizes).eval()
        found[name] = folder / name.replace("/", "-")
        model.save_pretrained(found[name])
        tokenizer.save_pretrained(found[name])
    return found


@dataclass
class Place:
    """What one reader looks at."""

    model: str
    text: str
    layer: int
    head: int
    query: int

    @property
    def link(self) -> dict[str, list[str]]:
        return {name: [str(value)] for name, value in vars(self).items()}


@dataclass
class Right:
    """What a place should show: the sentence under its picture, and position -> weight of every
    key that the row may look at."""

    sentence: str
    row: dict[int, float]


def right(place: Place, model: attnviz.LoadedModel) -> Right:
    """Worked out alone, in this process."""
    head = attnviz.capture(model, place.text).head(layer=place.layer, head=place.head)
    weights, allowed = head.weights[place.query], head.allowed[place.query]
    row = {int(key): float(weights[key]) for key in np.flatnonzero(allowed)}
    return Right(describe_pair(head, place.query), row)


@dataclass
class Reader:
    """One session of a server, at its address."""

    number: int
    address: str
    session: str | None = None
    seen: dict[str, Any] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """A word that stands in all of this reader's texts, and in nobody else's."""
        return f"reader{self.number}x"

    def ask(self, **request: Any) -> dict[str, Any]:
        """Do something, and return when the page is done. Fails where the page failed."""
        if self.session is not None:
            request["session_id"] = self.session
        answer = self._post(request)
        deadline = time.monotonic() + _PATIENCE
        while answer.get("error", {}).get("code") == "wait_timed_out":
            assert time.monotonic() < deadline, f"no page in {_PATIENCE} s: {request}"
            self.session = answer["error"].get("session_id") or answer["session_id"]
            answer = self._post({"session_id": self.session})
        assert answer.get("status") == "ready", json.dumps(answer)[:2000]
        self.session, self.seen = answer["session_id"], answer
        strangers = set(_MARK.findall(json.dumps(answer))) - {str(self.number)}
        assert not strangers, f"reader {self.number} sees the texts of {strangers}"
        assert not self.texts("error"), self.texts("error")
        return answer

    def open(self, place: Place) -> None:
        """Follow a link, and load its model where the page asks first."""
        self.ask(query_params=place.link, page="")
        if "agree" in self.keys():
            self.ask(trigger={"key": "agree"})

    def go(self, **to: int) -> None:
        """Choose another layer, head or query by the pickers."""
        for name, value in to.items():
            picker = self.find(_LABELS[name])
            wanted = [o for o in picker["props"]["options"] if o.split()[0] == str(value)]
            self.ask(widget_state={_LABELS[name]: wanted[0]})

    def write(self, text: str) -> None:
        self.ask(widget_state={"text_box": text}, trigger={"key": "run"})

    def sentence(self) -> str:
        """What is said of the picture."""
        pictures = [part for part in self.parts() if part["type"] == "vega_lite_chart"]
        (said,) = (p["props"]["alt"] for p in pictures if p["key"].startswith("explore"))
        return str(said)

    def row(self) -> dict[int, float]:
        """Position -> weight in the table of the row, which is opened for it."""
        if not self.find("row_open")["value"]:
            self.ask(widget_state={"row_open": True})
        table = self.find("row_table")["data"]
        assert table["complete"], table.get("unavailable")
        columns = [column["name"] for column in table["columns"]]
        at, weight = columns.index("Position"), columns.index("Weight")
        rows = table["preview"]["rows"]
        return {int(row[at]): float(row[weight]) for row in rows if row[weight] is not None}

    def find(self, key: str) -> dict[str, Any]:
        return next(part for part in self.parts() if part.get("key") == key)

    def keys(self) -> set[str]:
        return {part["key"] for part in self.parts() if "key" in part}

    def texts(self, kind: str) -> list[str]:
        return [str(p["props"].get("body")) for p in self.parts() if p["type"] == kind]

    def parts(self) -> Iterator[dict[str, Any]]:
        left = [self.seen["tree"]]
        while left:
            part = left.pop()
            yield part
            left += part.get("children", [])

    def _post(self, request: dict[str, Any]) -> dict[str, Any]:
        sent = urllib.request.Request(
            f"{self.address}/_stcore/agent/interact",
            data=json.dumps(request).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(sent, timeout=120) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            return dict(json.load(error))


reads_proc = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
"""On Linux such a test never is skipped: without /proc it fails."""


def memory_of(pid: int) -> dict[str, int]:
    """Bytes of a process's memory by the system's names: VmRSS now, VmHWM at most, ..."""
    lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {
        line[0][:-1]: int(line[1]) * 1024 for line in lines if line[0].startswith(("Vm", "Rss"))
    }
