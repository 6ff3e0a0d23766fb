"""What a link says of the second side of a comparison, and what becomes of it."""

import pytest

from dashboard.compare.other_side import Other, fields_of_side, opposite
from dashboard.session.link_fields import read_fields, write_fields
from dashboard.session.selection import Selection

FIELDS = fields_of_side(max_characters=100, folders=False)


def read(params, fields=FIELDS):
    found, ignored = read_fields(params, fields)
    return Other(**found), ignored


def write(other):
    return write_fields(other, Other(), FIELDS)


def link(other):
    return {name: [value] for name, value in write(other).items()}


@pytest.mark.parametrize(
    "other",
    [
        Other(),
        Other(b_model="planted-circuit"),
        Other(b_text="a  b\n<c> & 'd'"),
        Other(b_stack="cross", b_layer=0, b_head=11, b_query=3),
        Other(b_text="", compare="relative"),
        Other(compare="scores"),
    ],
)
def test_a_link_gives_back_what_it_was_made_of(other):
    assert read(link(other)) == (other, [])


def test_nothing_is_written_where_nothing_is_chosen():
    assert write(Other()) == {}


@pytest.mark.parametrize(
    "name, value",
    [
        ("b_model", "/etc/passwd"),
        ("b_model", "../up"),
        ("b_model", "a b"),
        ("b_text", "x" * 101),
        ("b_stack", "both"),
        ("b_layer", "-1"),
        ("b_head", "1.5"),
        ("b_query", "last"),
        ("compare", "logits"),
    ],
)
def test_what_cannot_be_used_is_left_at_its_default_and_named(name, value):
    other, ignored = read({name: [value], "compare": ["scores"]} | {name: [value]})
    assert getattr(other, name) == getattr(Other(), name)
    assert [item.name for item in ignored] == [name]
    assert value not in ignored[0].why
    assert name == "compare" or other.compare == "scores", "the rest still counts"


def test_a_name_given_twice_is_not_guessed_at():
    other, ignored = read({"b_head": ["1", "2"]})
    assert other.b_head is None and ignored[0].why == "it is given more than once"


def test_what_is_not_chosen_is_as_a_has_it():
    a = Selection(
        model="planted-circuit", text="a b", stack="decoder", layer=1, head=2, query=3, near=4
    )
    b = Other(b_head=0).side(a)
    assert (b.model, b.text, b.stack, b.layer, b.head) == (
        "planted-circuit",
        "a b",
        "decoder",
        1,
        0,
    )
    assert b.query is None and b.near is None
    assert Other(b_text="", b_query=1).side(a).text == "" and Other(b_query=1).side(a).query == 1
    assert Other(b_layer=0).chosen and not Other(b_query=1, compare="scores").chosen


def test_the_sides_change_places_and_back():
    a = Selection(model="planted-circuit", text="a", stack="decoder", layer=1, head=2, query=1)
    b = Selection(model="minilm-l6", text="a", stack="encoder", layer=4, head=5, query=2)
    there = Other(**opposite(a, b))
    assert there == Other("planted-circuit", None, "decoder", 1, 2, 1)
    swapped = there.side(b)
    assert [getattr(swapped, n) for n in ("model", "text", "stack", "layer", "head", "query")] == [
        getattr(a, n) for n in ("model", "text", "stack", "layer", "head", "query")
    ]
