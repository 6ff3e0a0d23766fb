"""The page of heads with a survey's numbers in the place of one text's."""

import shutil

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import attnviz
from attnviz.survey import survey
from attnviz.survey.shipped import shipped
from dashboard.session import backend
from tests.pages.test_heads import PAGE, TEXT, said, table

TEXTS = [TEXT, "the cat sat on the mat and the cat ran", "one two three one two three one"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("surveys") / "mine"
    survey("planted-circuit", TEXTS, out)
    return out


@pytest.fixture
def page(open_app, monkeypatch):
    def start(*, folders=True, **link):
        monkeypatch.setattr(backend, "FOLDERS_ALLOWED", folders)
        link = {"model": "planted-circuit", "text": TEXT, "layer": "1", "head": "0"} | link
        app = open_app(None, **link).switch_page(PAGE).run()
        assert not app.exception
        return app

    return start


def test_a_folder_of_a_survey_gives_the_numbers_of_its_texts(page, folder):
    app = page(survey=str(folder), view="measure")
    found = attnviz.survey.open_survey(folder)
    grid = found.grid("induction")
    first = table(app).iloc[0]
    assert (first["Layer"], first["Head"]) == (1, 0)
    assert first["Induction"] == pytest.approx(grid[1, 0])
    assert "of 3 texts count" in said(app)
    assert app.get("popover")
    own = page(view="measure")
    assert own.get("popover")
    alone = table(own).iloc[0]
    assert alone["Induction"] != pytest.approx(grid[1, 0], abs=1e-9)


def test_a_survey_that_lacks_a_measure_still_opens_and_says_so(page, folder, tmp_path):
    """Surveys outlive versions: one that was made before a measure came has no numbers of it."""
    older = tmp_path / "older"
    shutil.copytree(folder, older)
    frame = pd.read_parquet(older / "heads.parquet")
    whole = pq.read_table(older / "heads.parquet")
    kept = pa.Table.from_pandas(frame[frame["measure"] != "induction"], preserve_index=False)
    pq.write_table(kept.replace_schema_metadata(whole.schema.metadata), older / "heads.parquet")
    found = attnviz.survey.open_survey(older)
    assert "induction" not in found.measures and "focus" in found.measures
    with pytest.raises(attnviz.BadInput, match="no 'mean' of 'induction'.*focus, first_token"):
        found.grid("induction")
    for view in ("measure", "maps"):
        app = page(survey=str(older), view=view, measure="induction")
        assert "This survey does not have this measure." in said(app) and not app.error
        assert "made without: Induction." in said(app)
        assert "Induction" not in table(app) and "First token" in table(app)
    app = page(survey=str(older), measure="first_token")
    assert table(app)["First token"].max() == pytest.approx(found.grid("first_token").max())


def test_the_best_examples_of_the_chosen_head_are_there_with_their_texts(page, folder):
    app = page(survey=str(folder))
    shown = app.dataframe[1].value
    kept = attnviz.survey.open_survey(folder).examples_of(1, 0)
    assert shown["To (key)"].tolist() == kept["key_token"].tolist()
    assert shown["Weight"].tolist() == pytest.approx(kept["weight"].tolist())
    other = page(survey=str(folder), head="1").dataframe[1].value
    assert other["From (query)"].tolist() != shown["From (query)"].tolist() or not other.equals(
        shown
    )


def test_a_survey_of_another_model_is_refused_and_the_texts_own_numbers_stay(page, folder):
    app = page(model="planted-circuit", survey="probes")
    assert app.error and "no such survey of this model" in said(app)
    assert len(app.dataframe) == 1 and "rows count" in said(app)


@pytest.mark.parametrize("asked", ["/etc", "../..", "no such folder", "<b>x</b>"])
def test_what_is_no_survey_is_an_error_in_words(page, asked):
    app = page(survey=asked)
    assert app.error and "no finished survey" in said(app)
    assert "rows count" in said(app), "the text's own numbers stay"


def test_a_server_of_strangers_opens_no_folder(page, folder):
    app = page(survey=str(folder), folders=False)
    assert app.error and "cannot be opened here" in said(app)


def test_the_default_model_comes_with_a_survey():
    found = shipped("smollm2-135m")
    assert found.texts == 200 and found.grid("induction").shape == (30, 9)
    assert shipped("minilm-l6") is None
