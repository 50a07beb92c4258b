"""The width of the terminal in which the tests are run is no part of them."""

import pytest


@pytest.fixture(autouse=True)
def _no_columns(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
