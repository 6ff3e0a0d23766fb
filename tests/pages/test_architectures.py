"""The page of architectures: what it says is what was measured."""

from attnviz.models import support

PAGE = "../pages/architectures.py"


def page(open_app, **link):
    return open_app(models={}, **link).switch_page(PAGE).run()


def test_the_counts_are_those_of_the_table(open_app):
    app = page(open_app)
    assert not app.exception
    rows = support.read_record()["architectures"]
    exact = sum(row["verdict"] == "exact" for row in rows)
    assert exact >= 200
    assert f"{exact} are shown exactly" in app.markdown[0].value
    assert len(app.dataframe[0].value) == len(rows)


def test_a_verdict_can_be_picked_and_each_refusal_has_a_reason(open_app):
    app = page(open_app)
    app.selectbox(key="verdict").select("refused").run()
    table = app.dataframe[0].value
    assert set(table["verdict"]) == {"refused"}
    assert (table["why"].str.len() > 10).all()


def test_nothing_wrong_is_in_the_table():
    assert {row["verdict"] for row in support.read_record()["architectures"]} == set(
        support.VERDICTS
    )
