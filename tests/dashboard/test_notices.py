"""Errors as messages, and signals that are none."""

import logging

import pytest
from streamlit.runtime.scriptrunner_utils.exceptions import RerunException, StopException
from streamlit.testing.v1 import AppTest

from attnviz.errors import TooLarge
from dashboard.session import notices


def test_streamlits_own_signals_pass_through():
    for signal in (StopException(), RerunException(None)):
        with pytest.raises(type(signal)), notices.guard():
            raise signal


def test_an_error_of_ours_is_shown_in_its_three_parts():
    def script():
        from attnviz.errors import TooLarge
        from dashboard.session import notices

        with notices.guard():
            raise TooLarge("*What* happened.", "Why.", "$Do$ this.")

    app = AppTest.from_function(script).run()
    assert app.error[0].value == "This is too large to show"
    assert [line.value for line in app.text] == ["*What* happened.", "Why.", "$Do$ this."]


def test_each_code_is_new_and_leads_to_its_own_entry_in_the_log(caplog):
    def script():
        from dashboard.session import notices

        with notices.guard():
            raise RuntimeError("inside")

    codes = set()
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            app = AppTest.from_function(script).run()
            assert "inside" not in "".join(line.value for line in app.text)
            codes.add(app.text[-1].value.rsplit(": ", 1)[-1])
    assert len(codes) == 2
    for code in codes:
        assert any(code in record.getMessage() and record.exc_info for record in caplog.records)


def test_a_child_of_an_error_has_its_parents_headline():
    class Special(TooLarge):
        pass

    headlines = [h for kind, h in notices._HEADLINES.items() if isinstance(Special("x"), kind)]
    assert headlines == ["This is too large to show"]
