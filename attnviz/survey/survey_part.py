"""Part: what was found on a few texts of a corpus, kept as one file that is whole or not there."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile
from zlib import error

import numpy as np

from attnviz.survey.best_examples import Examples
from attnviz.survey.corpus import Text
from attnviz.survey.head_statistics import Statistics

if TYPE_CHECKING:
    from attnviz.detectors import HeadProfile

SIZE = 16
"""Texts of a part: what is lost when a run is killed, and what one worker is given at a time."""


@dataclass(frozen=True)
class Failure:
    """A text that was left out, and why."""

    text: int
    name: str
    why: str


@dataclass(frozen=True, eq=False)
class TextResult:
    """What was found on one text, without any of its matrices.

    Attributes:
        profiles: {stack: HeadProfile}.
        examples: {stack: Examples}, the one cell of each head that adds most.
        tokens: how many were read.
        cut: whether the text was cut to its beginning.
    """

    profiles: dict[str, "HeadProfile"]
    examples: dict[str, Examples]
    tokens: int
    cut: bool


@dataclass(eq=False)
class Part:
    """What was found on some texts.

    Attributes:
        statistics: {stack: Tally}.
        examples: {stack: Examples}.
        failures: texts that were left out.
        texts, cut, tokens: how many texts counted, how many of them were cut to their beginning,
            and how many tokens were read.
    """

    statistics: dict[str, Statistics] = field(default_factory=dict)
    examples: dict[str, Examples] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    texts: int = 0
    cut: int = 0
    tokens: int = 0

    def take(self, found: "TextResult") -> None:
        """Count one text in."""
        for stack, profile in found.profiles.items():
            if stack not in self.statistics:
                self.statistics[stack] = Statistics.empty(
                    *next(iter(profile.values.values())).shape
                )
            self.statistics[stack].take(profile)
        self._add_examples(found.examples)
        self.texts += 1
        self.cut += found.cut
        self.tokens += found.tokens

    def add(self, other: "Part") -> None:
        """Take over what was found on other texts."""
        for stack, statistics in other.statistics.items():
            if stack in self.statistics:
                self.statistics[stack].add(statistics)
            else:
                self.statistics[stack] = statistics
        self._add_examples(other.examples)
        self.failures += other.failures
        for name in ("texts", "cut", "tokens"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def _add_examples(self, others: Mapping[str, Examples]) -> None:
        for stack, examples in others.items():
            self.examples.setdefault(stack, Examples(examples.most)).add(examples)

    def save(self, path: Path, texts: Sequence[Text]) -> None:
        """Write the part; a run that is killed meanwhile leaves nothing under this name."""
        words = {
            "of": hash_texts(texts),
            "examples": {s: [e.most, e.to_json()] for s, e in self.examples.items()},
            "failures": [asdict(failure) for failure in self.failures],
            "counts": [self.texts, self.cut, self.tokens],
        }
        arrays: dict[str, Any] = {
            f"{stack}/{name}": array
            for stack, statistics in self.statistics.items()
            for name, array in statistics.arrays().items()
        }
        written = path.with_name(f"{path.name}.{os.getpid()}.part")
        with written.open("wb") as file:
            np.savez_compressed(file, words=json.dumps(words), **arrays)
        written.replace(path)

    @classmethod
    def load(cls, path: Path) -> tuple["Part", str]:
        """(the part, the fingerprint of its texts).

        Raises:
            ValueError: the file is damaged.
        """
        try:
            return cls._load(path)
        except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile, error) as reason:
            raise ValueError(f"{path.name} is damaged") from reason

    @classmethod
    def _load(cls, path: Path) -> tuple["Part", str]:
        with np.load(path, allow_pickle=False) as file:
            words = json.loads(str(file["words"]))
            stacks = list(dict.fromkeys(name.split("/")[0] for name in file.files if "/" in name))
            statistics = {
                stack: Statistics(
                    **{n: file[f"{stack}/{n}"] for n in Statistics.__dataclass_fields__}
                )
                for stack in stacks
            }
        examples = {s: Examples.from_json(*kept) for s, kept in words["examples"].items()}
        failures = [Failure(**failure) for failure in words["failures"]]
        return cls(statistics, examples, failures, *words["counts"]), words["of"]


def split_corpus(corpus: Iterable[Text]) -> Iterator[tuple[int, list[Text]]]:
    """(number, texts): a corpus a few texts at a time, always the same ones."""
    texts: list[Text] = []
    number = 0
    for text in corpus:
        texts.append(text)
        if len(texts) == SIZE:
            yield number, texts
            number, texts = number + 1, []
    if texts:
        yield number, texts


def part_path(folder: Path, number: int) -> Path:
    return folder / "parts" / f"{number:06d}.npz"


def hash_texts(texts: Iterable[Text]) -> str:
    """Of these very texts, under these names."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(json.dumps([text.name, text.text, text.problem]).encode())
    return digest.hexdigest()


def count_words(part: Part) -> dict[str, Any]:
    """The counts of a part, by name."""
    return {
        "texts": part.texts,
        "failed": len(part.failures),
        "cut": part.cut,
        "tokens": part.tokens,
    }
