"""An experiment as a link: what may come in, and that it comes back as it went."""

from urllib.parse import parse_qs, urlencode

import hypothesis.strategies as st
import pytest
from hypothesis import given

from attnviz.heads.contributions import MEASURES
from dashboard.how_it_works import toy
from dashboard.session import selection
from dashboard.session.link_fields import read_fields
from dashboard.what_if import experiment as module
from dashboard.what_if.experiment import FIELDS, Experiment
from dashboard.what_if.experiment import write_experiment as write


def parse(query):
    found, ignored = read_fields(parse_qs(query, keep_blank_values=True), FIELDS)
    return Experiment(**found), ignored


def decimals(low, high):
    return st.integers(int(low * 10**4), int(high * 10**4)).map(lambda n: n / 10**4)


@given(
    st.builds(
        Experiment,
        change=st.sampled_from(list(module.CHANGES)),
        on=st.sampled_from(list(module.SCOPES)),
        rows=st.sampled_from(list(module.ROWS)),
        key=st.none() | st.integers(0, 99_999),
        temperature=decimals(module.COLDEST, module.HOTTEST),
        amount=decimals(-module.MOST_ADDED, module.MOST_ADDED),
        weight=decimals(0, 1),
        deal=st.integers(0, 99_999),
        instead=st.sampled_from(list(module.HOWS)),
        contribution=st.sampled_from(module.MEASURES),
        maps=st.sampled_from(list(module.MAPS)),
        sweep=st.sampled_from(list(module.HOWS)),
    )
)
def test_every_experiment_comes_back_as_it_went(chosen):
    back, ignored = parse(urlencode(write(chosen)))
    assert not ignored
    for name in (
        "change",
        "on",
        *module.CHANGES[chosen.change].options,
        "contribution",
        "maps",
        "sweep",
    ):
        assert getattr(back, name) == getattr(chosen, name), name


def test_the_default_needs_no_link_and_a_link_names_all_that_its_change_goes_by():
    assert write(Experiment()) == {} and parse("") == (Experiment(), [])
    written = write(Experiment(change="temper", weight=0.5))
    assert written == {"change": "temper", "on": "head", "temperature": "2"}
    options = {name for change in module.CHANGES.values() for name in change.options}
    assert options <= set(vars(Experiment())), "each goes by fields of an experiment"


@pytest.mark.parametrize(
    "bad",
    [
        "change=hid", "on=all", "rows=2", "key=-1", "key=two", "key=1.5", "temperature=0",
        "temperature=nan", "temperature=1e1", "temperature=101", "amount=1001", "amount=inf",
        "weight=1.1", "weight=-0.1", "deal=x", "instead=max", "contribution=weight", "maps=both",
        "sweep=all", "change=hide&change=add", "temperature=2.00001",
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named_and_left_at_its_default(bad):
    found, ignored = parse(bad)
    assert found == Experiment()
    assert [item.name for item in ignored] == [bad.split("=")[0]]


def test_no_name_is_taken_twice():
    """The page of the four steps has a temperature of its own, and an address of its own."""
    assert not set(module.FIELDS) & {*selection.NAMES, "claim"}
    assert set(module.FIELDS) & set(toy.FIELDS) == {"temperature"}
    assert set(module.MEASURES) <= set(MEASURES)
