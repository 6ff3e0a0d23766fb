"""Survey tables: a finished survey as Parquet, with where it comes from in each file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnviz.errors import BadInput
from attnviz.parquet import arrow
from attnviz.survey.best_examples import Example
from attnviz.survey.head_statistics import MEASURES, STATISTICS
from attnviz.survey.survey_part import Failure, Part, count_words

if TYPE_CHECKING:
    import pandas as pd

TABLES = ("heads", "examples", "failures")
_PLACE = ("stack", "measure", "layer", "head")
_KEY = b"attnviz"


@dataclass(frozen=True, eq=False)
class Survey:
    """A finished survey.

    Attributes:
        heads: a row a stack, measure, layer and head, with each statistic of
            `attnviz.survey.head_statistics.Statistics.grids`.
        examples: a row an example: stack, layer, head, rank, then the fields of `Example`.
        failures: a row a text that was left out: text, name, why.
        provenance: the corpus, the model, its revision, dtype, versions, and what was counted.
    """

    heads: "pd.DataFrame"
    examples: "pd.DataFrame"
    failures: "pd.DataFrame"
    provenance: Mapping[str, Any]

    @property
    def texts(self) -> int:
        """How many texts counted."""
        return int(self.provenance["texts"])

    @property
    def stacks(self) -> list[str]:
        return list(dict.fromkeys(self.heads["stack"]))

    @property
    def measures(self) -> list[str]:
        """The measures that it was made with: those of the version that made it."""
        return list(dict.fromkeys(self.heads["measure"]))

    def grid(
        self, measure: str, statistic: str = "mean", stack: str | None = None
    ) -> NDArray[np.float64]:
        """(layer, head): one statistic of one measure; NaN where no text has a number.

        Raises:
            BadInput: no such measure, statistic or stack.
        """
        stack = stack or next(iter(self.stacks), "model")
        rows = self.heads[(self.heads["stack"] == stack) & (self.heads["measure"] == measure)]
        if rows.empty or statistic not in rows:
            raise BadInput(
                what=f"This survey has no {statistic!r} of {measure!r} in the {stack}.",
                why=f"It has {', '.join(STATISTICS)} of {', '.join(self.measures) or 'nothing'} "
                f"in {', '.join(self.stacks) or 'no text that counted'}.",
                todo="Choose one of these, or run the survey again for measures that are new.",
            )
        grid = np.full((rows["layer"].max() + 1, rows["head"].max() + 1), np.nan)
        grid[rows["layer"], rows["head"]] = rows[statistic]
        return grid

    def examples_of(self, layer: int, head: int, stack: str | None = None) -> "pd.DataFrame":
        """The best examples of one head, the best first."""
        found = self.examples
        of = (found["layer"] == layer) & (found["head"] == head)
        return found[of & (found["stack"] == (stack or self.stacks[0]))]


def write_tables(folder: Path, settings: Mapping[str, Any], part: Part) -> Survey:
    """The tables of a whole corpus, written to the folder and returned."""
    provenance = {**settings, **count_words(part)}
    found = Survey(_heads(part), _examples(part), _failures(part), provenance)
    for name in TABLES:
        _write(folder / f"{name}.parquet", getattr(found, name), provenance)
    return found


def open_survey(folder: str | Path) -> Survey:
    """A finished survey, from its folder.

    Raises:
        BadInput: the folder holds none, or one that is not finished.
    """
    _, parquet = arrow()
    folder = Path(folder)
    missing = [name for name in TABLES if not (folder / f"{name}.parquet").is_file()]
    if missing:
        raise BadInput(
            what=f"The folder {folder.name!r} holds no finished survey.",
            why=f"There is no {missing[0]}.parquet.",
            todo="Run python -m attnviz survey into it; a survey that was stopped goes on.",
        )
    try:
        tables = {name: parquet.read_table(folder / f"{name}.parquet") for name in TABLES}
        provenance = json.loads(tables["heads"].schema.metadata[_KEY])
        frames = {name: table.to_pandas() for name, table in tables.items()}
        frames["heads"][[*_PLACE, *STATISTICS]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(
            what=f"The survey in {folder.name!r} cannot be read.",
            why="A file in it is damaged, or was not written by attnviz.",
            todo="Run the survey again.",
        ) from error
    return Survey(**frames, provenance=provenance)


def _heads(part: Part) -> "pd.DataFrame":
    columns: dict[str, list[Any]] = {name: [] for name in (*_PLACE, *STATISTICS)}
    for stack, statistics in part.statistics.items():
        measured = np.argwhere((statistics.texts > 0).any(axis=0))
        for measure in MEASURES:
            grids = statistics.grids(measure)
            for layer, head in measured.tolist():
                for name, value in zip(_PLACE, (stack, measure, layer, head), strict=True):
                    columns[name].append(value)
                for name, grid in grids.items():
                    columns[name].append(grid[layer, head])
    return pd.DataFrame(columns)


def _examples(part: Part) -> "pd.DataFrame":
    names = ["stack", "layer", "head", "rank", *(field.name for field in fields(Example))]
    rows = [
        (stack, layer, head, rank, *vars(example).values())
        for stack, examples in part.examples.items()
        for (layer, head), kept in sorted(examples.heads.items())
        for rank, example in enumerate(kept)
    ]
    return pd.DataFrame(rows, columns=names)


def _failures(part: Part) -> "pd.DataFrame":
    names = [field.name for field in fields(Failure)]
    return pd.DataFrame([tuple(vars(one).values()) for one in part.failures], columns=names)


def _write(path: Path, frame: "pd.DataFrame", provenance: Mapping[str, Any]) -> None:
    pa, parquet = arrow()
    table = pa.Table.from_pandas(frame, preserve_index=False)
    words = {_KEY: json.dumps(provenance, sort_keys=True).encode()}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **words})
    written = path.with_suffix(".part")
    parquet.write_table(table, written, compression="zstd")
    written.replace(path)
