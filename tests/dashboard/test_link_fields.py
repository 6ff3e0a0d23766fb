"""The fields of a link also say which values may reach the choices of a page."""

import pytest

from dashboard.how_it_works import toy
from dashboard.session import selection
from dashboard.session.link_fields import usable_values
from dashboard.what_if import experiment


@pytest.mark.parametrize(
    ("fields", "name", "value", "is_usable"),
    [
        (selection.FIELDS, "query", 18, True),
        (selection.FIELDS, "query", "18  \u2423brass", False),
        (selection.FIELDS, "query", True, False),
        (selection.FIELDS, "query", -1, False),
        (selection.FIELDS, "query", None, True),
        (selection.FIELDS, "stack", "Decoder to encoder", False),
        (selection.FIELDS, "special", "on", False),
        (selection.FIELDS, "text", "18  \u2423brass", True),
        (experiment.FIELDS, "key", "3 \u2423fox", False),
        (experiment.FIELDS, "temperature", 2.0, True),
        (experiment.FIELDS, "temperature", 200.0, False),
        (toy.FIELDS, "scores", (1.0, 0.5, -2.0), True),
        (toy.FIELDS, "scores", (1.0, 0.5), False),
        (toy.FIELDS, "masked", (), True),
        (toy.FIELDS, "masked", (3,), False),
    ],
)
def test_a_value_that_no_link_could_give_is_left_out(fields, name, value, is_usable):
    kinds = {id(selection.FIELDS): selection.Selection, id(toy.FIELDS): toy.Toy}
    default = kinds.get(id(fields), experiment.Experiment)()
    assert usable_values({name: value}, fields, default) == ({name: value} if is_usable else {})
