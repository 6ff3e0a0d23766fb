"""The key of a chart: the same while its last click is where the reader is."""

from streamlit.testing.v1 import AppTest


def script():
    import streamlit as st

    from dashboard.session.chart_picks import chart_key

    st.text(chart_key("map", "pick", query=st.session_state.get("row", 8)))


def click(app, key, row):
    app.session_state[key] = {"selection": {"pick": [{"query": row}]}}


def test_a_chart_keeps_its_key_until_its_last_click_was_left():
    app = AppTest.from_function(script).run()
    for row in (7, 6):  # steps, before any click
        app.session_state["row"] = row
        assert app.run().text[0].value == "map_0"
    for row in (3, 5):  # clicks, each of which moves the reader
        click(app, "map_0", row)
        app.session_state["row"] = row
        assert app.run().text[0].value == "map_0"
    app.session_state["row"] = 6  # a step away from the click on 5
    assert app.run().text[0].value == "map_1"
    app.session_state["row"] = 7
    assert app.run().text[0].value == "map_1"


def test_an_emptied_selection_is_no_click():
    app = AppTest.from_function(script).run()
    app.session_state["map_0"] = {"selection": {"pick": {}}}
    assert app.run().text[0].value == "map_0"
