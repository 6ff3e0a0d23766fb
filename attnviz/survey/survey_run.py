"""Survey: every head of a model over a corpus, in parts, so that a killed run goes on."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnviz.errors import BadInput
from attnviz.models import load
from attnviz.parquet import arrow
from attnviz.survey.corpus import Corpus, Text, read_corpus
from attnviz.survey.defaults import ENGINES, EXAMPLES, MAX_TOKENS
from attnviz.survey.head_statistics import MEASURES
from attnviz.survey.local_engine import examine_parts
from attnviz.survey.model_facts import model_facts
from attnviz.survey.ray_engine import Staff, run_on_ray
from attnviz.survey.survey_part import Part, hash_texts, part_path, split_corpus
from attnviz.survey.survey_tables import Survey, write_tables

if TYPE_CHECKING:
    from attnviz.models import LoadedModel
    from attnviz.models.loading import DeviceMap

SETTINGS = "survey.json"


@dataclass(frozen=True)
class Progress:
    """How far a survey is.

    Attributes:
        done: texts that are through, those of an earlier run included.
        total: of the corpus; None where it is not known before its end.
        rate: texts a second in this run; 0 before the first.
    """

    done: int
    total: int | None
    rate: float

    @property
    def seconds_left(self) -> float | None:
        if self.total is None or not self.rate:
            return None
        return (self.total - self.done) / self.rate


Tell = Callable[[Progress], None]


def survey(
    model: "str | Path | LoadedModel",
    corpus: Any,
    out: str | Path,
    *,
    column: str = "text",
    max_tokens: int = MAX_TOKENS,
    examples: int = EXAMPLES,
    dtype: str | None = None,
    device_map: "DeviceMap" = None,
    engine: str = "local",
    workers: int = 1,
    gpus: float = 0,
    address: str | None = None,
    progress: Tell | None = None,
) -> Survey:
    """What every head does on average over a corpus, and the texts that show it best.

    Texts are taken a few at a time; each such part is kept in `out` once it is through. A run that
    was killed goes on after its last part when it is called again, and comes to the same numbers,
    whatever the engine. A text that fails is recorded and left out. No attention matrix is kept,
    in memory or on disk; what is held does not grow with the corpus.

    Args:
        model: a name as for `attnviz.load`, or a loaded model (the local engine only).
        corpus: as for `attnviz.survey.read_corpus`.
        out: a folder for the results, made where it is missing.
        column: of a .jsonl, .csv or .parquet file.
        max_tokens: longer texts are cut to their beginning, and counted.
        examples: cells kept for each head.
        dtype, device_map: as for `attnviz.load`, where the model is a name. Ray's workers load it
            so; this process, which reads no more than facts of it then, loads it on the CPU.
        engine: "local", in this process, as many texts at once as torch has threads; or "ray", on
            workers of a Ray cluster.
        workers: of Ray, each with the model in its memory.
        gpus: that each of Ray's workers takes, where there are some; the model is put on them
            unless `device_map` says otherwise.
        address: of a running Ray cluster; by default one is started on this machine.
        progress: called after each text, or, with Ray, after each part.

    Raises:
        BadInput: no such corpus or engine, or `out` holds a survey of something else.
        ModelNotFound, ModelRefused, UnsupportedModel: as `attnviz.load`.
    """
    loading = {"dtype": dtype, "device_map": device_map or ("auto" if gpus else None)}
    model = str(model.resolve()) if isinstance(model, Path) else model
    _check(engine, model, max_tokens, examples, workers, gpus)
    arrow()  # said before anything is worked out
    texts, folder = read_corpus(corpus, column=column), Path(out)
    loaded = load_named(model, **loading) if engine == "local" else None
    facts = model_facts(loaded or load_named(model, dtype=dtype))
    settings = {
        "corpus": texts.name,
        "max_tokens": max_tokens,
        "examples": examples,
        "measures": list(MEASURES),
        **facts,
    }
    _claim_folder(folder, settings)
    watch = _Watch(texts.count, progress)
    waiting = _unfinished_parts(folder, texts, watch)
    options = {"max_tokens": max_tokens, "most": examples}
    if loaded is not None:
        with closing(examine_parts(loaded, waiting, **options, done=watch.one)) as parts:
            for number, chosen, found in parts:
                found.save(part_path(folder, number), chosen)
    else:
        staff = Staff(workers, gpus, loading, address)
        for size in run_on_ray(str(model), facts, waiting, folder, options, staff):
            watch.more(size)
    whole = write_tables(folder, settings, _merge_parts(folder, texts))
    if not whole.texts:
        raise BadInput(
            what=f"No text of {texts.name!r} could be examined.",
            why=next(iter(whole.failures["why"]), "It holds none."),
            todo="See failures.parquet in the folder of the survey.",
        )
    return whole


def _check(
    engine: str, model: Any, max_tokens: int, examples: int, workers: int, gpus: float
) -> None:
    if engine not in ENGINES:
        raise BadInput(
            what=f"There is no engine {engine!r}.", todo=f"Choose one of {', '.join(ENGINES)}."
        )
    if engine == "ray" and not isinstance(model, str):
        raise BadInput(
            what="Ray's workers load the model themselves.",
            why="An object in this process is not theirs.",
            todo="Give the model's name or folder.",
        )
    if min(max_tokens, examples, workers) < 1:
        raise BadInput(
            what=f"max_tokens {max_tokens}, examples {examples} and workers {workers} cannot be "
            "used together.",
            todo="Give whole numbers from 1.",
        )
    if gpus < 0 or (gpus > 1 and gpus % 1):
        raise BadInput(
            what=f"{gpus:g} GPUs a worker cannot be used.",
            why="A worker takes whole GPUs, or a part of one.",
            todo="Give 0, a part of 1, or a whole number.",
        )
    if gpus and engine != "ray":
        raise BadInput(
            what="GPUs are handed out by Ray.",
            why=f"This is the {engine} engine.",
            todo='Give engine="ray", or a device_map.',
        )


def load_named(model: "str | Path | LoadedModel", **loading: Any) -> "LoadedModel":
    """The model of a name; one that is loaded already is given back as it is.

    Raises:
        BadInput: it is loaded, and something is said about how to load it.
    """
    if isinstance(model, str | Path):
        return load(model, **loading)
    if any(value is not None for value in loading.values()):
        raise BadInput(
            what="The model is loaded already.",
            why="dtype and device_map say how a model is loaded.",
            todo="Leave them out, or give the model's name or folder.",
        )
    return model


def _claim_folder(folder: Path, settings: dict[str, Any]) -> None:
    """Make the folder one of this survey, or see that it is."""
    try:
        (folder / "parts").mkdir(parents=True, exist_ok=True)
        before = _begin_settings(folder / SETTINGS, settings)
    except OSError as error:
        raise BadInput(
            what=f"The folder {folder.name!r} cannot be used.",
            why=error.strerror or type(error).__name__,
            todo="Give a folder that can be written to.",
        ) from error
    differ = [name for name in settings if before.get(name) != settings[name]]
    if differ:
        raise BadInput(
            what=f"The folder {folder.name!r} holds a survey of something else.",
            why=f"It differs in: {', '.join(differ)}.",
            todo="Give another folder, or run the survey as it was begun.",
        )


def _begin_settings(file: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that the survey in this folder was begun with: these, if it is new."""
    if not file.exists():
        written = file.with_suffix(".part")
        written.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
        written.replace(file)
    try:
        before = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        before = None
    return before if isinstance(before, dict) else {}


def _unfinished_parts(
    folder: Path, texts: Corpus, watch: "_Watch"
) -> Iterator[tuple[int, list[Text]]]:
    """The parts that no earlier run has finished; one that is damaged is made again."""
    for number, chosen in split_corpus(texts):
        if _load_part(folder, number, chosen) is not None:
            watch.known(len(chosen))
        else:
            yield number, chosen


def _load_part(folder: Path, number: int, chosen: list[Text]) -> Part | None:
    """A part that is there and whole.

    Raises:
        BadInput: it is of other texts.
    """
    try:
        part, of = Part.load(part_path(folder, number))
    except ValueError:
        return None
    if of != hash_texts(chosen):
        raise BadInput(
            what=f"The corpus is not the one that the survey in {folder.name!r} was begun on.",
            why=f"Texts {chosen[0].number} to {chosen[-1].number} are others.",
            todo="Give the corpus as it was, or another folder.",
        )
    return part


def _merge_parts(folder: Path, texts: Iterable[Text]) -> Part:
    """All parts added up, in the order of the corpus, whoever made them and when."""
    whole = Part()
    for number, chosen in split_corpus(texts):
        part = _load_part(folder, number, chosen)
        if part is None:
            raise BadInput(
                what=f"A part of the survey in {folder.name!r} is gone.",
                why=f"{part_path(folder, number).name} was there a moment ago.",
                todo="Run the survey again; it goes on where it was.",
            )
        whole.add(part)
    return whole


class _Watch:
    """Counts texts and tells how far it is."""

    def __init__(self, total: int | None, tell: Tell | None) -> None:
        self._total, self._tell = total, tell
        self._before = self._now = 0
        self._start = time.monotonic()

    def known(self, texts: int) -> None:
        self._before += texts

    def one(self) -> None:
        self.more(1)

    def more(self, texts: int) -> None:
        self._now += texts
        if self._tell is not None:
            rate = self._now / max(time.monotonic() - self._start, 1e-9)
            self._tell(Progress(self._before + self._now, self._total, rate))
