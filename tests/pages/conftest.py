"""Pages without a browser: the app run by Streamlit's own test harness."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.session import backend

APP = str(Path(__file__).resolve().parents[2] / "dashboard" / "app.py")

Open = Callable[..., AppTest]


@pytest.fixture
def open_app(monkeypatch: pytest.MonkeyPatch) -> Open:
    """open_app(models={...}, layer="3") runs the app as a fresh visitor with that link.

    models: what the backend shall find under these names, in place of loading.
    """

    def start(models: dict[str, Any] | None = None, **link: str | list[str]) -> AppTest:
        backend.store.clear()
        if models is not None:
            monkeypatch.setattr(backend, "load_model", lambda name, tell: models[name])
        app = AppTest.from_file(APP, default_timeout=60)
        for name, value in link.items():
            app.query_params[name] = value
        return app.run()

    return start


@pytest.fixture
def open_page(open_app: Open) -> Open:
    """open_page(page, models={...}, **link) opens a page, named by its path, as a visitor with
    that link, on the planted circuit unless told otherwise; drawn without an exception."""

    def start(page: str, models: dict[str, Any] | None = None, **link: str | list[str]) -> AppTest:
        app = open_app(models, model="nobody/nothing")  # Explore asks before it loads that
        app.query_params.clear()
        for name, value in ({"model": "planted-circuit"} | link).items():
            app.query_params[name] = value
        app = app.switch_page(page).run()
        assert not app.exception
        return app

    return start
