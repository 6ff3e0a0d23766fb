"""Plan: what a survey would take, from a part of its corpus, measured on this machine."""

import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnviz.errors import BadInput
from attnviz.survey.corpus import read_corpus
from attnviz.survey.defaults import EXAMPLES, MAX_TOKENS
from attnviz.survey.examination import examine
from attnviz.survey.local_engine import limit_threads
from attnviz.survey.survey_part import SIZE, Part, part_path
from attnviz.survey.survey_run import load_named

if TYPE_CHECKING:
    from attnviz.models import LoadedModel
    from attnviz.models.loading import DeviceMap


@dataclass(frozen=True)
class Plan:
    """What was measured on the first texts of a corpus, with one worker of one thread.

    Attributes:
        corpus: its name. count: of its texts; None where it is not known before its end.
        texts: how many were measured. tokens: a text's, in the mean.
        seconds: a text takes one worker. adding: seconds a text takes at the end, when all parts
            are added up in one process. stored: bytes a text leaves on the disk until then.
        memory: bytes of a worker at most, the model included; 0 where the system does not tell.
    """

    corpus: str
    count: int | None
    texts: int
    tokens: float
    seconds: float
    adding: float
    stored: float
    memory: int

    def duration(self, texts: int, workers: int = 1) -> float:
        """Seconds that so many texts take so many workers, and adding up."""
        return texts * (self.seconds / workers + self.adding)


def plan(
    model: "str | Path | LoadedModel",
    corpus: Any,
    *,
    column: str = "text",
    max_tokens: int = MAX_TOKENS,
    examples: int = EXAMPLES,
    dtype: str | None = None,
    device_map: "DeviceMap" = None,
) -> Plan:
    """Measure the first texts of a corpus, as one of Ray's workers would take them.

    Texts that come later may be longer or shorter than these, and other machines are faster or
    slower than this one.

    Raises:
        BadInput: there is no such corpus, or none of the first texts can be examined.
        ModelNotFound, ModelRefused, UnsupportedModel: as `attnviz.load`.

    >>> found = plan("planted-circuit", "probes")
    >>> found.texts, found.duration(1_000_000, workers=2) > found.duration(1_000, workers=2)
    (16, True)
    """
    texts = read_corpus(corpus, column=column)
    loaded = load_named(model, dtype=dtype, device_map=device_map)
    chosen = list(islice(texts, SIZE))
    options: dict[str, Any] = {"max_tokens": max_tokens, "most": examples}
    with limit_threads(1):
        examine(loaded, chosen[:1], **options)  # what is done once is not counted
        start = time.perf_counter()
        part = examine(loaded, chosen, **options)
        seconds = time.perf_counter() - start
    if not part.texts:
        raise BadInput(
            what=f"None of the first texts of {texts.name!r} could be examined.",
            why=part.failures[0].why if part.failures else "It holds none.",
            todo="Give a corpus with texts in it.",
        )
    tokens, whole = part.tokens / part.texts, part
    with tempfile.TemporaryDirectory() as folder:
        path = part_path(Path(folder), 0)
        path.parent.mkdir()
        part.save(path, chosen)
        start = time.perf_counter()
        Part.load(path)  # once to see whether it is whole, once to add it up
        whole.add(Part.load(path)[0])
        adding = time.perf_counter() - start
        stored = path.stat().st_size
    count = len(chosen)
    return Plan(
        corpus=texts.name,
        count=texts.count,
        texts=count,
        tokens=tokens,
        seconds=seconds / count,
        adding=adding / count,
        stored=stored / count,
        memory=_memory(),
    )


def _memory() -> int:
    status = Path("/proc/self/status")
    if status.exists():  # rusage counts what the parent had as well
        (peak,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
