"""A selection as a link: what may come in, what goes out, and what fits a model."""

from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlencode

import hypothesis.strategies as st
import pytest
from hypothesis import given

from attnviz.detectors import HEAD_MEASURES, SHARES
from attnviz.heads.contributions import MEASURES
from attnviz.models.catalog import CATALOG
from dashboard.session import selection as module
from dashboard.session.selection import (
    Selection,
    default_selection,
    fits_address,
    read_selection,
    settle_selection,
    write_selection,
)


@dataclass
class Token:
    position: int
    special: bool = False


class Shape:
    """A decoder of 3 x 2 and an encoder of 2 x 4, five and four tokens."""

    stacks = ("encoder", "decoder", "cross")

    def layers(self, stack=None):
        return {"encoder": [0, 1], "decoder": [0, 1, 2], "cross": [0, 1, 2]}[stack]

    def heads(self, layer, stack=None):
        return {"encoder": 4, "decoder": 2, "cross": 2}[stack]

    def query_tokens(self, stack=None):
        if stack == "encoder":
            return [Token(0, True), Token(1), Token(2), Token(3, True)]
        return [Token(i) for i in range(5)]

    def key_tokens(self, stack=None):
        return self.query_tokens("encoder" if stack == "cross" else stack)


def parse(query, **options):
    options = {"max_characters": 20_000, "folders": False} | options
    return read_selection(parse_qs(query, keep_blank_values=True), **options)


def names(ignored):
    return [item.name for item in ignored]


def test_no_link_opens_the_default_and_the_default_needs_no_link():
    selection, ignored = parse("")
    assert selection == Selection() and not ignored
    assert write_selection(selection) == {}


def test_the_grid_measures_of_a_link_are_those_there_are():
    for name in SHARES:
        assert parse(urlencode({"grid": name}))[0].grid == name
    assert set(HEAD_MEASURES) < set(module.HEAD_CHOICES), "a new measure is offered by itself"
    assert Selection().by in MEASURES and Selection().grid in SHARES


def test_odd_characters_come_back_as_they_went():
    """streamlit/streamlit#2370, #7961: state in the address loses characters or other keys."""
    text = "日本 😀 a&b=c #d +e%20\r\n\t\u200b ?<b>"
    chosen = Selection(text=text, layer=2, head=1, query=3, stage="dot", weights="fit")
    back, ignored = parse(urlencode(write_selection(chosen)))
    assert back == chosen and not ignored


@given(
    st.builds(
        Selection,
        model=st.sampled_from([*CATALOG, "owner/model-x"]),
        text=st.text(st.characters(codec="utf-8"), max_size=40),
        special=st.booleans(),
        plain=st.booleans(),
        cut=st.booleans(),
        stack=st.sampled_from([None, *module.STACKS]),
        layer=st.none() | st.integers(0, 99),
        head=st.none() | st.integers(0, 99),
        query=st.none() | st.integers(0, 999),
        near=st.none() | st.integers(0, 999),
        stage=st.sampled_from(list(module.STAGES)),
        by=st.sampled_from(list(MEASURES)),
        scores=st.sampled_from(["zero", "row"]),
        weights=st.sampled_from(["unit", "fit", "log"]),
        order=st.sampled_from(["text", "size"]),
        grid=st.sampled_from(SHARES),
        view=st.sampled_from(list(module.VIEWS)),
        measure=st.sampled_from(module.HEAD_CHOICES),
        sort=st.sampled_from(list(module.SORTS)),
        above=st.sampled_from(module.ABOVE),
        layers=st.none() | st.sampled_from(["0-0", "3-29"]),
    )
)
def test_every_selection_survives_its_link(chosen):
    back, ignored = parse(urlencode(write_selection(chosen)))
    assert back == chosen and not ignored


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("layer=-1", "layer"),
        ("layer=abc", "layer"),
        ("layer=", "layer"),
        ("head=1e3", "head"),
        ("head=99999999999999999999", "head"),
        ("query=%D9%A3", "query"),  # a digit, but not one of ours
        ("special=maybe", "special"),
        ("stage=%3Cscript%3E", "stage"),
        ("by=probability", "by"),
        ("model=http%3A%2F%2F169.254.169.254%2Fx", "model"),
        ("model=..%2F..%2Fetc", "model"),
        ("model=%2Fetc%2Fpasswd", "model"),
        ("model=a%2Fb%2Fc", "model"),
        ("model=", "model"),
        (f"model={'m' * 300}", "model"),
        ("layer=1&layer=2", "layer"),
        ("text=" + "x" * 30_000, "text"),
        ("order=" + "x" * 10_000, "order"),
        ("measure=genius", "measure"),
        ("above=3", "above"),
        ("layers=3", "layers"),
        ("layers=9-3", "layers"),
        ("layers=-1-3", "layers"),
    ],
)
def test_a_bad_value_falls_back_to_its_default_and_is_named(query, name):
    """streamlit/streamlit#3685, #302; mudler/LocalAI#9395: values outside what is allowed."""
    selection, ignored = parse(query)
    assert selection == Selection()
    assert names(ignored) == [name]


def test_good_values_beside_bad_ones_are_kept():
    selection, ignored = parse("layer=99&head=-1&temp=abc&text=%3Cscript%3E&by=weight")
    assert selection == Selection(layer=99, text="<script>", by="weight")
    assert names(ignored) == ["head"]  # whether layer 99 exists, only the model can say


def test_a_folder_is_a_model_name_only_where_the_owner_allows_folders(tmp_path):
    query = urlencode({"model": str(tmp_path)})
    assert names(parse(query)[1]) == ["model"]
    assert parse(query, folders=True)[0].model == str(tmp_path)


def test_spaces_around_a_model_name_are_dropped():
    assert parse("model=++planted-circuit+")[0].model == "planted-circuit"


def test_a_link_names_its_place_even_where_that_is_the_default():
    chosen = default_selection("planted-circuit")
    fitted = replace(chosen, stack="decoder", layer=1, head=0, query=8)
    assert write_selection(chosen, fitted) == {
        "model": "planted-circuit",
        "text": chosen.text,
        "layer": "1",
        "head": "0",
        "query": "8",
    }


def test_a_text_too_long_for_an_address_stays_out_of_it():
    short, long = Selection(text="語" * 600), Selection(text="語" * 700)
    assert fits_address(short) and "text" in write_selection(short)
    assert (
        not fits_address(long)
        and "text" not in write_selection(long)
        and "model" in write_selection(long)
    )


def test_open_choices_are_settled_by_the_models_own_defaults():
    fitted, ignored = settle_selection(default_selection("planted-circuit"), Shape())
    assert (fitted.stack, fitted.layer, fitted.head, fitted.query) == ("decoder", 1, 0, 4)
    assert not ignored
    fitted, _ = settle_selection(Selection(model="owner/other"), Shape())
    assert (fitted.layer, fitted.head) == (1, 0)


def test_the_row_that_opens_is_the_last_token_of_the_text_itself():
    fitted, _ = settle_selection(Selection(model="owner/other", stack="encoder"), Shape())
    assert fitted.query == 2  # position 3 is the tokenizer's own mark


def test_stacks_of_different_size_settle_each_choice_by_itself():
    """huggingface/transformers#16232, jessevig/bertviz#67: two stacks need not be alike."""
    chosen = Selection(model="owner/other", stack="encoder", layer=1, head=3)
    assert settle_selection(chosen, Shape())[0].head == 3
    fitted, ignored = settle_selection(replace(chosen, stack="decoder"), Shape())
    assert (fitted.layer, fitted.head) == (1, 0)
    assert names(ignored) == ["head"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("layer", 3),
        ("head", 2),
        ("query", 5),
        ("near", 5),
        ("stack", "sideways"),
        ("layers", "3-9"),
    ],
)
def test_what_the_capture_does_not_have_falls_back_and_is_named(field, value):
    fitted, ignored = settle_selection(
        replace(Selection(model="owner/other"), **{field: value}), Shape()
    )
    assert names(ignored) == [field]
    assert getattr(fitted, field) != value


def test_the_last_layer_of_twelve_is_eleven():
    """EleutherAI/sparsify#16: is layer 24 the 24th or the 25th."""

    class Twelve(Shape):
        stacks = ("decoder",)

        def layers(self, stack=None):
            return list(range(12))

    assert settle_selection(parse("layer=11")[0], Twelve())[0].layer == 11
    _, ignored = settle_selection(parse("layer=12")[0], Twelve())
    assert "layers 0 to 11" in ignored[0].why
