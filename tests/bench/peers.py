"""The peers that a user would pick, side by side: same model folder, same tokens, same run.

They live in an environment of their own, .venv-peers, made when they are asked for. Each way runs
in a process of its own; the ways take turns, and the ratio is of the rounds.
"""

import statistics
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import passage
from tests.bench.growth import too_much
from tests.bench.paired import Paired, Spent
from tests.bench.process import ROOT, Took, Worker, WorkerFailed
from tests.bench.report import Report, Table, duration, short, size, without_paths

LENGTHS = (64, 128, 256, 512)
ROUNDS = 3
LONG = 30.0
"""Seconds: a way that takes longer is done once."""
WARM = 16  # tokens of the first call, which is not counted
HOME = ROOT / ".venv-peers"
SHARED = ("torch", "transformers", "numpy", "pandas")
"""What both environments have in the same version, by requirements.txt."""

COLUMNS = {
    "Tokens": 6,
    "Time": 9,
    "Ratio": 8,
    "Quartiles": 18,
    "Processor": 9,
    "Bytes": 9,
    "Peak memory": 11,
}


@dataclass(frozen=True)
class Peer:
    """A package of the peers' environment, with what it needs and does not ask for."""

    package: str
    version: str
    also: tuple[str, ...] = ()


BERTVIZ = Peer("bertviz", "1.4.1", ("ipython",))  # html_action="return" makes IPython's object
LENS = Peer("transformer-lens", "4.3.0")

_KEEPS = "kept in Python"
_SENDS = "sent to a browser"


@dataclass(frozen=True)
class Contender:
    """One way, in words; the group whose first way it is held against; its package, if a peer."""

    way: str
    words: str
    group: str
    peer: Peer | None = None


CONTENDERS = (
    Contender("capture", "attnviz: capture", _KEEPS),
    Contender("output_attentions", "transformers: output_attentions, plain attention", _KEEPS),
    Contender("lens", "TransformerLens: run_with_cache", _KEEPS, LENS),
    Contender(
        "lens_attention", "TransformerLens: run_with_cache, scores and weights only", _KEEPS, LENS
    ),
    Contender("head", "attnviz: capture, Explore's picture of one head", _SENDS),
    Contender("maps", "attnviz: capture, small maps of all heads", _SENDS),
    Contender("bertviz", "BertViz: head view, all heads", _SENDS, BERTVIZ),
)


Found = dict[str, dict[int, list[Took] | str]]
"""By the way, then by the length: what each round took, or why there is no number."""


def peers(report: Report, folder: Path, tokenizer: Any, lengths: Sequence[int] = LENGTHS) -> None:
    """The tables of both groups of ways, and who could not be installed or run."""
    python, refused = environment()
    contenders = [one for one in CONTENDERS if one.peer is None or one.peer not in refused]
    found = measured(contenders, folder, tokenizer, lengths, python)
    versions = _versions(python, refused)
    for group in (_KEEPS, _SENDS):
        table = report.table(f"Beside peers: {group}", {"Way": 60, **COLUMNS})
        members = [one for one in contenders if one.group == group]
        for length in lengths:
            _rows(table, members, found, length)
        _notes(table, members, found, refused, versions)


def environment() -> tuple[Path, dict[Peer, str]]:
    """The Python of the peers' environment, made if it is not there yet, and the peers that it
    could not be given, with the reason."""
    python = HOME / "bin" / "python"
    if not python.exists():
        print("\nMaking an environment for the peers in .venv-peers", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True)
    refused = {}
    for peer in (BERTVIZ, LENS):
        marker = HOME / f".{peer.package}-{peer.version}"
        if marker.exists():
            continue
        print(f"  installing {peer.package} {peer.version}", flush=True)
        if why := _install(python, peer):
            refused[peer] = why
        else:
            marker.touch()
    return python, refused


def _install(python: Path, peer: Peer) -> str:
    """Why it could not be installed; "" if it was. Torch is the one of requirements.txt: a bare
    one would be gigabytes of CUDA."""
    asked = [f"{peer.package}=={peer.version}", *peer.also, *SHARED]
    done = subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "--no-compile",
         "--disable-pip-version-check", "-c", "requirements.txt", *asked],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )  # fmt: skip
    if done.returncode == 0:
        return ""
    said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return without_paths(said[-1] if said else f"pip ended with code {done.returncode}")


def measured(
    contenders: Sequence[Contender],
    folder: Path,
    tokenizer: Any,
    lengths: Sequence[int],
    python: Path,
) -> Found:
    """What each way took at each length, or why there is no number."""
    found: Found = {one.way: {} for one in contenders}
    with ExitStack() as stack:
        workers: dict[str, Worker] = {}
        broken: dict[str, str] = {}
        for one in contenders:
            worker = Worker(one.way, folder, python=python if one.peer else sys.executable)
            try:
                workers[one.way] = stack.enter_context(worker)
                worker.do(passage.ids(tokenizer, WARM))
            except WorkerFailed as failure:
                workers.pop(one.way, None)
                broken[one.way] = without_paths(str(failure))
        for length in lengths:
            print(f"\n  {length:,} tokens beside peers: {len(workers)} ways in turns", flush=True)
            for way in list(workers):
                if why := _stopped(found[way], length):
                    del workers[way]
                    broken[way] = why
            taken = in_turns(workers, passage.ids(tokenizer, length))
            for way in found:
                found[way][length] = taken.get(way) or broken[way]
    return found


def in_turns(workers: dict[str, Worker], ids: Sequence[int]) -> dict[str, list[Took] | str]:
    """Round by round, each way in turn going first. A way that takes long is done once, and one
    that breaks off has no number."""
    names = list(workers)
    taken: dict[str, list[Took]] = {way: [] for way in names}
    broken: dict[str, list[Took] | str] = {}
    for turn in range(ROUNDS):
        start = turn % max(1, len(names))
        for way in names[start:] + names[:start]:
            if way in broken or (taken[way] and taken[way][0].seconds > LONG):
                continue
            try:
                taken[way].append(workers[way].do(ids))
            except WorkerFailed as failure:
                broken[way] = without_paths(str(failure))
    return taken | broken


def _stopped(found: dict[int, list[Took] | str], length: int) -> str:
    """Why a way is not tried at this length, from what it did at shorter ones."""
    for shorter, taken in found.items():
        if isinstance(taken, str):
            return f"not tried, since {shorter:,} tokens gave no number"
    most = {shorter: max(taken, key=lambda one: one.peak) for shorter, taken in found.items()}
    return too_much(most, length)  # type: ignore[arg-type]  # no reasons are left in here


def _rows(table: Table, contenders: Sequence[Contender], found: Found, length: int) -> None:
    base = found[contenders[0].way][length]
    for one in contenders:
        taken = found[one.way][length]
        if isinstance(taken, str):
            table.add(one.words, f"{length:,}", *["none"] * 6)
            continue
        times = [took.seconds for took in taken]
        ratios = _ratio(base, taken) if one is not contenders[0] else ("1", "", "1")
        table.add(
            one.words,
            f"{length:,}",
            duration(statistics.median(times)),
            *ratios,
            size(taken[0].bytes),
            size(max(took.peak for took in taken)),
        )


def _ratio(base: list[Took] | str, taken: list[Took]) -> tuple[str, str, str]:
    """The median ratio of the rounds that both did, its quartiles where there are some, and the
    ratio of the processor's seconds."""
    if isinstance(base, str):
        return "", "", ""
    pairs = list(zip(base, taken, strict=False))
    times = Paired(
        [Spent(one.seconds, one.work) for one, _ in pairs],
        [Spent(one.seconds, one.work) for _, one in pairs],
    )
    ratios = f"{short(times.ratio)} x", f"{short(times.work)} x"
    if len(pairs) < 2:
        return ratios[0], "one round", ratios[1]
    low, high = times.spread
    return ratios[0], f"{short(low)} to {short(high)}", ratios[1]


def _notes(
    table: Table,
    contenders: Sequence[Contender],
    found: Found,
    refused: dict[Peer, str],
    versions: str,
) -> None:
    table.note(
        "Ratio: by the clock, of rounds in which the ways took turns, to the first way of the "
        "table; Processor: the same of the processor's seconds. Bytes: what is "
        f"{table.title.split(': ')[1]}. Peak memory: at most, above the process with the model "
        f"loaded. {versions}"
    )
    for one in contenders:
        for length, taken in found[one.way].items():
            if isinstance(taken, str):
                table.note(f"{one.words}, {length:,} tokens: {taken}.")
    for peer, why in refused.items():
        table.note(f"{peer.package} {peer.version} could not be installed: {why}")


def _versions(python: Path, refused: dict[Peer, str]) -> str:
    """The versions of what the peers ran on, as their environment says."""
    names = [peer.package for peer in (BERTVIZ, LENS) if peer not in refused]
    code = "import sys; from importlib.metadata import version as of\n"
    code += "for name in sys.argv[1:]: print(name, of(name))"
    asked = [str(python), "-c", code, *names, *SHARED[:2]]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    return f"Peers: {', '.join(done.stdout.splitlines())}."
