"""What the page of what-ifs lets one choose, and how it is written in a link. Pure."""

from dataclasses import dataclass

from dashboard.session.link_fields import decimal, one_of, whole_number, write_fields


@dataclass(frozen=True)
class Change:
    """A kind of intervention that the page offers: its title, and the fields of an `Experiment`
    that it goes by, beside where it acts."""

    title: str
    options: tuple[str, ...]


CHANGES = {
    "hide": Change("Hide a key", ("rows", "key")),
    "temper": Change("Divide scores by a temperature", ("temperature",)),
    "add": Change("Add to a score", ("key", "amount")),
    "set": Change("Give a key another weight", ("key", "weight")),
    "permute": Change("Shuffle weights", ("rows", "deal")),
    "flatten": Change("Make weights even", ("rows",)),
    "zero": Change("Take away a value", ("key",)),
    "ablate": Change("Take away the head", ("rows", "instead")),
}
SCOPES = {
    "head": "This head",
    "layer": "Every head of this layer",
    "stack": "Every head of every layer",
}
ROWS = {"one": "this token", "every": "every token"}
HOWS = {
    "zero": "Nothing",
    "mean": "Its mean over the text",
    "resample": "Its output at other tokens",
}
MEASURES = ("contribution_norm", "weighted_value_norm", "signed_share")
MAPS = {"weights": "Weights", "scores": "Scores"}

COLDEST, HOTTEST = 0.05, 100.0
MOST_ADDED = 1000.0
DIGITS = 4  # after the point, of every number


@dataclass(frozen=True)
class Experiment:
    """What the reader asks for.

    Attributes:
        change: one of CHANGES. on: one of SCOPES. rows: one of ROWS.
        key: a position, from 0; None is the key with the largest weight of the row.
        temperature, amount, weight, deal, instead: by how much, or what instead (one of HOWS).
        contribution, maps: what the pictures below show.
        sweep: what is put in the place of each head (one of HOWS).
    """

    change: str = "hide"
    on: str = "head"
    rows: str = "one"
    key: int | None = None
    temperature: float = 2.0
    amount: float = -4.0
    weight: float = 0.0
    deal: int = 0
    instead: str = "zero"
    contribution: str = MEASURES[0]
    maps: str = "weights"
    sweep: str = "zero"


FIELDS = {
    "change": one_of(CHANGES),
    "on": one_of(SCOPES),
    "rows": one_of(ROWS),
    "key": whole_number("token's position"),
    "temperature": decimal(COLDEST, HOTTEST, DIGITS),
    "amount": decimal(-MOST_ADDED, MOST_ADDED, DIGITS),
    "weight": decimal(0.0, 1.0, DIGITS),
    "deal": whole_number(),
    "instead": one_of(HOWS),
    "contribution": one_of(MEASURES),
    "maps": one_of(MAPS),
    "sweep": one_of(HOWS),
}


def write_experiment(experiment: Experiment) -> dict[str, str]:
    """The experiment as names and values of an address: nothing where all is at its default; else
    the change with all that it goes by, so that a link keeps its meaning if a default changes, and
    the rest where it differs."""
    default = Experiment()
    if experiment == default:
        return {}
    used = ("change", "on", *CHANGES[experiment.change].options)
    shown = (*used, "contribution", "maps", "sweep")
    fields = {name: field for name, field in FIELDS.items() if name in shown}
    return write_fields(experiment, default, fields, always=used)
